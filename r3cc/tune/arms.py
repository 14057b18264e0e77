"""The arms of R3's optimizer: one for each part of a genotype, each varied with the others' best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from r3cc.tune.block_optimizer import BlockOptimizer
from r3cc.tune.blocks import dimensions
from r3cc.tune.genotype import Genotype, Knobs
from r3cc.tune.knobs import BLOCK, Knob
from r3cc.tune.mutation import EditSampler
from r3cc.tune.space import Space

if TYPE_CHECKING:
    from r3cc.tune.nevergrad_optimizers import Told

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

    def adopt(self, genotype: Genotype, loss: float) -> None:
        """Learn from a genotype that this arm did not ask for; ``loss`` is its own part of it."""
        ...


class PipelineArm:
    """Edits to the pipeline, by an evolution strategy."""

    name = "pipeline"

    def __init__(self, space: Space, seed: int, width: int) -> None:
        from r3cc.tune.nevergrad_optimizers import PipelineOptimizer  # seconds: only where it searches

        self._optimizer = PipelineOptimizer(EditSampler(space.base, space.vocabulary), seed, width)

    def ask(self, best: Genotype) -> Asked:
        """Other edits."""
        told, edits = self._optimizer.ask()
        return told, Genotype(edits, best.knobs)

    def part(self, genotype: Genotype) -> object:
        """The edits."""
        return genotype.edits

    def adopt(self, genotype: Genotype, loss: float) -> None:
        """The edits may become a parent."""
        self._optimizer.adopt(genotype.edits, loss)


class KnobArm:
    """All knobs but the block shape, by a discrete optimizer."""

    name = "knobs"

    def __init__(self, knobs: Sequence[Knob], seed: int, width: int) -> None:
        from r3cc.tune.nevergrad_optimizers import KnobOptimizer

        self._optimizer = KnobOptimizer(knobs, seed, width)

    def ask(self, best: Genotype) -> Asked:
        """Other values, the block as it is."""
        told, knobs = self._optimizer.ask()
        return told, Genotype(best.edits, tuple(sorted((*knobs, *_block(best.knobs)))))

    def part(self, genotype: Genotype) -> Knobs:
        """All knobs but the block."""
        return tuple(pair for pair in genotype.knobs if pair[0] != BLOCK)

    def adopt(self, genotype: Genotype, loss: float) -> None:
        """Go on from there, if it is the best."""
        self._optimizer.adopt(self.part(genotype), loss)


class BlockArm:
    """The block shape, by a model of what shapes do."""

    name = "block"

    def __init__(self, knob: Knob) -> None:
        self._texts = {dimensions(text): text for text in knob.values}
        self._recorded = dimensions(knob.recorded)
        self._optimizer = BlockOptimizer(self._recorded, tuple(self._texts))
        self._beside = Genotype()

    def ask(self, best: Genotype) -> Asked | None:
        """Another block, the rest as it is. Beside another rest than before, any block may do better than it did."""
        rest = Genotype(best.edits, tuple(pair for pair in best.knobs if pair[0] != BLOCK))
        if rest != self._beside:
            self._beside = rest
            own = _block(best.knobs)
            self._optimizer.renew(dimensions(own[0][1]) if own else self._recorded)
        shape = self._optimizer.ask()
        if shape is None:
            return None
        knobs = (*rest.knobs, (BLOCK, self._texts[shape]))
        return (lambda loss: self._optimizer.tell(shape, loss)), Genotype(best.edits, tuple(sorted(knobs)))

    def part(self, genotype: Genotype) -> Knobs:
        """The block."""
        return _block(genotype.knobs)

    def adopt(self, genotype: Genotype, loss: float) -> None:
        """One more measured shape."""
        for _, text in self.part(genotype):
            self._optimizer.tell(dimensions(text), loss)


def arms_of(knobs: Sequence[Knob], seed: int, width: int) -> tuple[Arm, ...]:
    """The arms that these knobs need: the block shape is no knob like others where its recorded value is known."""
    blocks = [knob for knob in knobs if knob.key == BLOCK and knob.recorded]
    others = [knob for knob in knobs if knob not in blocks]
    arms: list[Arm] = [KnobArm(others, seed, width)] if others else []
    return (*arms, *map(BlockArm, blocks))


def _block(knobs: Knobs) -> Knobs:
    return tuple(pair for pair in knobs if pair[0] == BLOCK)
