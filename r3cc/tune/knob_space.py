"""A space without a pipeline: knobs alone. What a unit shares, and kernels that carry no IR."""

from __future__ import annotations

from collections.abc import Sequence

from r3cc.replay.model import Candidate, LaunchConfiguration
from r3cc.tune.blocks import dimensions
from r3cc.tune.genotype import Genotype
from r3cc.tune.knobs import BLOCK, Knob


class KnobSpace:
    """Knobs, of which ``block`` is the launch's and every other one code generation's."""

    def __init__(self, knobs: Sequence[Knob], fixed_block: str | None = None) -> None:
        self.knobs = tuple(knobs)
        self.fixed_block = fixed_block
        """Why the block shape does not vary; None when it does, or when there is none."""

    @property
    def single_values(self) -> tuple[Genotype, ...]:
        """Every value of code generation by itself."""
        own = [knob for knob in self.knobs if knob.key != BLOCK]
        return tuple(Genotype(knobs=((knob.key, value),)) for knob in own for value in knob.values)

    def candidate(self, genotype: Genotype) -> Candidate:
        """The candidate of a genotype: the recorded build with these values."""
        knobs = dict(genotype.knobs)
        block = knobs.pop(BLOCK, None)
        launch = LaunchConfiguration(block=dimensions(block) if block is not None else None)
        return Candidate(codegen=tuple(sorted(knobs.items())), launch=launch)

    def changes(self, genotype: Genotype) -> tuple[str, ...]:
        """What a genotype changes, as people read it."""
        return tuple(f"{key}={value}" for key, value in genotype.knobs)
