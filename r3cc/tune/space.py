"""The search space of one kernel: edits to the pipeline, knobs, block shapes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from r3cc.errors import R3Error
from r3cc.llvm import KernelDescription
from r3cc.replay.codegen import Options
from r3cc.replay.geometry import dimensions_text
from r3cc.replay.model import Candidate, LaunchConfiguration, LaunchShape
from r3cc.store.model import Dim3
from r3cc.tune.blocks import Shape, block_is_fixed, block_knob, by_shape_of, dimensions, shapes_of, volume
from r3cc.tune.edits import DEFAULT, EXPANDED_OPTIONS, PRESETS, BasePipeline, Edit, Insert, Preset
from r3cc.tune.genotype import Genotype
from r3cc.tune.knobs import BLOCK, BLOCK_BY_SHAPE, BLOCK_FOR, Knob
from r3cc.tune.passes import Vocabulary
from r3cc.tune.specialisation import PREFIX, Constants

NAMED_SHAPES = 2
"""Launch shapes with a block of their own that are named; more are counted."""


class Space:
    """What may vary for one kernel, and what a genotype means as a candidate."""

    def __init__(
        self,
        base: BasePipeline,
        vocabulary: Vocabulary,
        knobs: Sequence[Knob],
        facts: KernelDescription,
        shapes: Sequence[Shape],
        recorded_pipeline: str = DEFAULT,
        unit_values: Options = (),
        constants: Constants = Constants(),  # noqa: B008
    ) -> None:
        self.constants = constants
        """What the kernel's code may take for granted."""
        self.unit_values = unit_values
        """Module-scope values that the kernel's unit is built with."""
        self.base = base
        self.vocabulary = vocabulary
        self.facts = facts
        self.shapes = tuple(shapes)
        self.recorded_pipeline = recorded_pipeline
        self._own_knobs = tuple(knobs)
        self.knobs = (*knobs, *block_knob(facts, shapes), *constants.knobs())

    def under(self, values: Options) -> Space:
        """The same space in a unit that is built with these module-scope values."""
        return Space(
            self.base,
            self.vocabulary,
            self._own_knobs,
            self.facts,
            self.shapes,
            self.recorded_pipeline,
            values,
            self.constants,
        )

    @property
    def fixed_block(self) -> str | None:
        """Why the block shape does not vary; None when it does."""
        return block_is_fixed(self.facts, self.shapes)

    def candidate(self, genotype: Genotype) -> Candidate:
        """The candidate of a genotype; the empty one is the recorded build at ``default<O3>``, in its unit as tuned."""
        pipeline = self.base.apply(genotype.edits)
        knobs = dict((*self.unit_values, *genotype.knobs))
        block = dimensions(knobs.pop(BLOCK)) if BLOCK in knobs else None
        only = shapes_of(knobs.pop(BLOCK_FOR, ""))
        own = by_shape_of(knobs.pop(BLOCK_BY_SHAPE, ""))
        special = [key for key in knobs if key.startswith(PREFIX)]
        for key in special:
            del knobs[key]
        if "maxntid" in knobs or "minctasm" in knobs:  # ptxas ignores minctasm without maxntid
            blocks: list[Dim3] = [each for _, each in own] + ([block] if block else [])
            blocks += [each.block for each in self.shapes if only or not block]
            largest = max(blocks, key=volume)  # bounds are on the threads of a block, whatever its extents
            knobs["maxntid"] = dimensions_text(largest)
        return Candidate(
            pipeline=None if pipeline == self.recorded_pipeline else pipeline,
            codegen=tuple(sorted((*knobs.items(), *(EXPANDED_OPTIONS if _expanded(pipeline) else ())))),
            launch=LaunchConfiguration(block=block, shapes=only if block else (), by_shape=own if block else ()),
            specialisation=self.constants.chosen(special, self.shapes, block),
        )

    def takes(self, edit: Edit) -> bool:
        """Whether this base pipeline and this LLVM know what an edit names, and it can stand there."""
        if isinstance(edit, Preset):
            return edit.name in PRESETS
        try:
            self.base.apply((edit,))
        except R3Error:
            return False
        return not isinstance(edit, Insert) or edit.name in self.vocabulary

    def changes(self, genotype: Genotype) -> tuple[str, ...]:
        """What a genotype changes, as people read it."""
        pipeline = self.base.apply(genotype.edits)
        edits = map(str, genotype.edits) if pipeline != DEFAULT else ()
        o3 = (DEFAULT,) if pipeline == DEFAULT != self.recorded_pipeline else ()
        unit = (f"{key}={value} for its whole unit" for key, value in self.unit_values)
        return (*o3, *edits, *map(self._knob_text, genotype.knobs), *unit)

    def _knob_text(self, knob: tuple[str, str]) -> str:
        key, value = knob
        if key == BLOCK_FOR:
            return f"the block for {len(shapes_of(value))} of {len(self.shapes)} launch shapes alone"
        if key == BLOCK_BY_SHAPE:
            served: dict[Dim3, list[LaunchShape]] = {}
            for shape, block in by_shape_of(value):
                served.setdefault(block, []).append(shape)
            return ", ".join(
                f"block={dimensions_text(block)} for {self._shapes_text(shapes)}" for block, shapes in served.items()
            )
        if not key.startswith(PREFIX):
            return f"{key}={value}"
        return f"specialised: {self.constants.text(key)}"

    def _shapes_text(self, shapes: Sequence[LaunchShape]) -> str:
        """Launch shapes by their grids, or how many they are."""
        if len(shapes) > NAMED_SHAPES:
            return f"{len(shapes)} of {len(self.shapes)} launch shapes"
        return " and ".join(f"a grid of {dimensions_text(grid)}" for grid, _, _ in shapes)


class SpaceSummary(msgspec.Struct, frozen=True):
    """A search space as ``r3 tune --show-space`` prints it."""

    kernel: str
    name: str
    device: str
    recorded_pipeline: str
    base: str
    """Text of ``default<O3>`` that edits start from; empty for a kernel without IR, which has no pipeline."""
    places: int
    """Passes of the base that an edit can name."""
    passes: tuple[str, ...]
    """What may be inserted."""
    knobs: tuple[Knob, ...]
    fixed_block: str | None
    unit_knobs: tuple[Knob, ...] = ()
    """Module-scope knobs, searched before the kernel's own and for all kernels of its unit together."""
    left_out: tuple[str, ...] = ()
    """Knobs that are not searched, each with the reason."""


def _expanded(pipeline: str) -> bool:
    """Whether a pipeline is a text of passes, and no ``default<…>`` that LLVM expands itself."""
    return pipeline not in {DEFAULT, *(str(Preset(name)) for name in PRESETS)}
