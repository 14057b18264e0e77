"""The arms of R3's optimizer: one for each part of a genotype, each varied with the others' best."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import msgspec

from r3cc.llvm import AccessPattern
from r3cc.tune.activity import MEASURED
from r3cc.tune.blocks import dimensions, volume
from r3cc.tune.genotype import Genotype, Knobs
from r3cc.tune.knobs import BLOCK, Knob, Scope
from r3cc.tune.launch_optimizer import LaunchOptimizer, Setting
from r3cc.tune.library import first_edits
from r3cc.tune.mutation import EditSampler
from r3cc.tune.register_bounds import MAXNREG, MAXNTID, MINCTASM, bound, distinct, place
from r3cc.tune.space import Space
from r3cc.tune.specialisation import PREFIX

if TYPE_CHECKING:
    from r3cc.tune.nevergrad_optimizers import KnobOptimizer, PipelineOptimizer, Told

Asked = tuple["Told", Genotype]
"""How to tell an arm its part of the loss, and the genotype that it asked for."""


class Arm(Protocol):
    """Varies one part of a genotype."""

    name: str

    def ask(self, best: Genotype) -> Asked | None:
        """The best genotype with another value of this arm's part; None when it expects nothing of any."""
        ...

    def part(self, genotype: Genotype) -> object:
        """What this arm varies of a genotype."""
        ...

    def graft(self, best: Genotype, donor: Genotype) -> Genotype:
        """The best genotype with this arm's part of another one."""
        ...

    def adopt(self, genotype: Genotype, loss: float) -> None:
        """Learn from a genotype that this arm did not ask for; ``loss`` is its own part of it."""
        ...


class PipelineArm:
    """Edits to the pipeline: known ones in their order, then an evolution strategy."""

    name = "pipeline"

    def __init__(self, space: Space, seed: int, width: int) -> None:
        self._space = space
        self._seed = seed
        self._width = width

    @cached_property
    def _optimizer(self) -> PipelineOptimizer:
        """Made at first use: its import takes seconds."""
        from r3cc.tune.nevergrad_optimizers import PipelineOptimizer

        sampler = EditSampler(self._space.base, self._space.vocabulary, MEASURED)
        return PipelineOptimizer(sampler, self._seed, self._width, first_edits(self._space))

    def ask(self, best: Genotype) -> Asked:
        """Other edits."""
        told, edits = self._optimizer.ask()
        return told, Genotype(edits, best.knobs)

    def part(self, genotype: Genotype) -> object:
        """The edits."""
        return genotype.edits

    def graft(self, best: Genotype, donor: Genotype) -> Genotype:
        """Its edits beside the best knobs."""
        return Genotype(donor.edits, best.knobs)

    def adopt(self, genotype: Genotype, loss: float) -> None:
        """The edits may become a parent."""
        self._optimizer.adopt(genotype.edits, loss)


class _OfKnobs:
    """The part of an arm that is some of the knobs."""

    _keys: Collection[str]

    def part(self, genotype: Genotype) -> Knobs:
        """Its knobs."""
        return tuple(pair for pair in genotype.knobs if pair[0] in self._keys)

    def graft(self, best: Genotype, donor: Genotype) -> Genotype:
        """Its values beside the best of the rest."""
        return with_knobs(best, self._keys, self.part(donor))


class KnobArm(_OfKnobs):
    """All knobs but those of the launch: all constants at once, then what a discrete optimizer asks for."""

    name = "knobs"

    def __init__(self, knobs: Sequence[Knob], seed: int, width: int) -> None:
        self._keys = {knob.key for knob in knobs}
        self._knobs = knobs
        self._seed = seed
        self._width = width

    @cached_property
    def _optimizer(self) -> KnobOptimizer:
        """Made at first use: its import takes seconds."""
        from r3cc.tune.nevergrad_optimizers import KnobOptimizer

        constants = tuple((knob.key, knob.values[0]) for knob in self._knobs if knob.key.startswith(PREFIX))
        return KnobOptimizer(self._knobs, self._seed, self._width, [constants] if constants else [])

    def ask(self, best: Genotype) -> Asked:
        """Other values, the launch as it is."""
        told, knobs = self._optimizer.ask()
        return told, self.graft(best, Genotype(knobs=knobs))

    def adopt(self, genotype: Genotype, loss: float) -> None:
        """Go on from there, if it is the best."""
        self._optimizer.adopt(self.part(genotype), loss)


class LaunchArm(_OfKnobs):
    """The block shape and the knobs that go with it, by a model of what they do together."""

    name = "launch"

    def __init__(
        self,
        knobs: Sequence[Knob],
        seed: int,
        registers: int | None = None,
        accesses: Sequence[AccessPattern] = (),
    ) -> None:
        """``registers``: of the baseline; with them, those that a bound leaves tell what it does.

        ``accesses`` of the kernel, where they are known.
        """
        block = next((knob for knob in knobs if knob.key == BLOCK), Knob(BLOCK, Scope.KERNEL, (), "", recorded="1,1,1"))
        self._keys = {BLOCK, *(knob.key for knob in knobs)}
        others, counts = bounding([knob for knob in knobs if knob.key != BLOCK], registers)
        self._registers = registers if counts else None
        self._knobs = (block, *others)
        shapes = [dimensions(text) for text in (block.recorded, *block.values)]
        self._optimizer = LaunchOptimizer(shapes, [knob.values for knob in others], seed, counts, accesses)

    def ask(self, best: Genotype) -> Asked | None:
        """Another setting, the rest as it is."""
        setting = self._optimizer.ask()
        if setting is None:
            return None
        chosen = [(knob.key, knob.values[at - 1]) for knob, at in zip(self._knobs, setting, strict=True) if at]
        donor = Genotype(knobs=tuple(chosen))
        return (lambda loss: self._optimizer.tell(setting, loss)), self.graft(best, donor)

    def adopt(self, genotype: Genotype, loss: float) -> None:
        """One more measured setting."""
        self._optimizer.tell(self._setting(genotype), loss)

    def _setting(self, genotype: Genotype) -> Setting:
        given = dict(genotype.knobs)
        return tuple(self._place(knob, given) for knob in self._knobs)

    def _place(self, knob: Knob, given: Mapping[str, str]) -> int:
        """Where a knob's value stands, from 1; 0 for the recorded one."""
        if knob.key == MAXNREG and self._registers:
            threads = volume(dimensions(given.get(BLOCK, self._knobs[0].recorded)))
            return place(bound(given, threads), knob.values, self._registers)
        return knob.values.index(given[knob.key]) + 1 if given.get(knob.key) in knob.values else 0


def bounding(knobs: Sequence[Knob], registers: int | None) -> tuple[list[Knob], list[int]]:
    """What varies of these knobs where the baseline takes so many registers, and a thread's by the first one's values.

    One knob, the first, bounds registers then, instead of three; else the knobs are as they were, and nothing is known.
    """
    most = next((knob for knob in knobs if knob.key == MAXNREG), None)
    if most is None or registers is None:
        return list(knobs), []
    values = distinct(most.values, registers)
    others = [knob for knob in knobs if knob.key not in (MAXNREG, MAXNTID, MINCTASM)]
    return (
        [msgspec.structs.replace(most, values=values), *others],
        [registers, *(min(int(value), registers) for value in values)],
    )


def with_knobs(best: Genotype, keys: Collection[str], values: Knobs) -> Genotype:
    """The best genotype with these values of the knobs of these keys."""
    rest = [pair for pair in best.knobs if pair[0] not in keys]
    return Genotype(best.edits, tuple(sorted((*rest, *values))))


def arms_of(
    knobs: Sequence[Knob],
    seed: int,
    width: int,
    registers: int | None = None,
    accesses: Sequence[AccessPattern] = (),
) -> tuple[Arm, ...]:
    """The arms that these knobs need: the block shape is one of the launch where its recorded value is known."""
    launch = [knob for knob in knobs if knob.with_block or (knob.key == BLOCK and knob.recorded)]
    others = [knob for knob in knobs if knob not in launch]
    arms: list[Arm] = [LaunchArm(launch, seed, registers, accesses)] if launch else []
    return (*arms, *([KnobArm(others, seed, width)] if others else []))
