"""Who proposes genotypes: Nevergrad's optimizers as R3 uses them, and the controls.

A proposer is asked and told in any order; given a seed and the same order of both it asks for the same genotypes, which
is how a search continues after an interruption.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec
import numpy as np

from r3cc.tune.genotype import Genotype, Knobs
from r3cc.tune.knobs import Knob
from r3cc.tune.mutation import EditSampler
from r3cc.tune.space import Space

if TYPE_CHECKING:
    from r3cc.tune.nevergrad_optimizers import Told

KNOB_TURNS = 0.4
"""Part of the proposals that vary knobs, where there are both knobs and a pipeline."""
STUBBORN = 6
"""Repeated candidates in a row after which the other half of the space gets the turn."""


class Suggestion(msgspec.Struct, frozen=True):
    """A genotype, who asked for it, and a ticket to tell its loss with."""

    genotype: Genotype
    source: str
    ticket: int


class Proposer(Protocol):
    """Proposes genotypes and learns from their losses (log of the ratio to the baseline, lower is better)."""

    def ask(self) -> Suggestion | None:
        """The next genotype; None when there is nothing left to propose."""
        ...

    def tell(self, ticket: int, loss: float, repeated: bool = False) -> None:
        """The loss of what a ticket was given for."""
        ...

    def adopt(self, genotype: Genotype, loss: float) -> None:
        """Learn from a genotype that this proposer did not ask for."""
        ...


class _Context(msgspec.Struct):
    """What a ticket was asked with: its own half's candidate, and the other half's part of the loss."""

    half: str
    told: Told
    genotype: Genotype
    offset: float


class R3Proposer:
    """An evolution strategy over edits and a discrete optimizer over knobs, on one budget.

    Each half is varied with the other one's best. A loss is split as if the halves added up: a half is told the loss
    less the other one's part, so that what it learnt stays comparable when the other one improves.
    """

    def __init__(self, space: Space, seed: int, width: int) -> None:
        from r3cc.tune.nevergrad_optimizers import KnobOptimizer, PipelineOptimizer  # seconds: only where it searches

        self._pipelines = PipelineOptimizer(EditSampler(space.base, space.vocabulary), seed, width)
        self._knobs = KnobOptimizer(space.knobs, seed + 1, width) if space.knobs else None
        self._best = Genotype()
        self._best_loss = 0.0
        self._parts = {"pipeline": 0.0, "knobs": 0.0}
        self._open: dict[int, _Context] = {}
        self._asked = {"pipeline": 0, "knobs": 0}
        self._stubborn = 0

    def ask(self) -> Suggestion:
        """The next genotype."""
        half = self._turn()
        if half == "knobs" and self._knobs is not None:
            told, knobs = self._knobs.ask()
            genotype = Genotype(self._best.edits, knobs)
            offset = self._parts["pipeline"]
        else:
            told, edits = self._pipelines.ask()
            genotype = Genotype(edits, self._best.knobs)
            offset = self._parts["knobs"]
        ticket = sum(self._asked.values())
        self._asked[half] += 1
        self._open[ticket] = _Context(half, told, genotype, offset)
        return Suggestion(genotype, half, ticket)

    def tell(self, ticket: int, loss: float, repeated: bool = False) -> None:
        """Tell the half that asked, and keep the best."""
        context = self._open.pop(ticket)
        self._stubborn = self._stubborn + 1 if repeated else 0
        part = loss - context.offset
        context.told(part)
        if loss < self._best_loss:
            self._best, self._best_loss = context.genotype, loss
            other = "knobs" if context.half == "pipeline" else "pipeline"
            self._parts = {context.half: part, other: context.offset}

    def adopt(self, genotype: Genotype, loss: float) -> None:
        """Learn from another search's genotype: it becomes the best, or its edits a parent."""
        self._pipelines.adopt(genotype.edits, loss - self._parts["knobs"])
        if loss < self._best_loss:
            self._parts["pipeline"] += loss - self._best_loss
            self._best, self._best_loss = genotype, loss

    def _turn(self) -> str:
        if self._knobs is None:
            return "pipeline"
        due = self._asked["knobs"] < KNOB_TURNS * (sum(self._asked.values()) + 1)
        other = self._stubborn // STUBBORN % 2 == 1
        return "knobs" if due != other else "pipeline"


class KnobProposer:
    """A discrete optimizer over knobs alone: for what has no pipeline, a unit's module-scope values."""

    def __init__(self, knobs: Sequence[Knob], seed: int, width: int) -> None:
        from r3cc.tune.nevergrad_optimizers import KnobOptimizer

        self._knobs = KnobOptimizer(knobs, seed, width)
        self._open: dict[int, Told] = {}
        self._tickets = 0

    def ask(self) -> Suggestion:
        """The next values."""
        told, knobs = self._knobs.ask()
        self._tickets += 1
        self._open[self._tickets] = told
        return Suggestion(Genotype((), knobs), "knobs", self._tickets)

    def tell(self, ticket: int, loss: float, repeated: bool = False) -> None:
        """Tell the optimizer."""
        self._open.pop(ticket)(loss)

    def adopt(self, genotype: Genotype, loss: float) -> None:
        """Nothing: it learns from what it asked for."""


class RandomKnobProposer:
    """Control for units: uniformly random knobs."""

    def __init__(self, knobs: Sequence[Knob], seed: int) -> None:
        self._knobs = tuple(knobs)
        self._rng = np.random.RandomState(seed)
        self._tickets = 0

    def ask(self) -> Suggestion:
        """Random values."""
        self._tickets += 1
        return Suggestion(Genotype((), random_knobs(self._knobs, self._rng)), "random", self._tickets)

    def tell(self, ticket: int, loss: float, repeated: bool = False) -> None:
        """It does not learn."""

    def adopt(self, genotype: Genotype, loss: float) -> None:
        """It does not learn."""


class RandomProposer:
    """Control: uniformly random edits and knobs."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space = space
        self._sampler = EditSampler(space.base, space.vocabulary)
        self._rng = np.random.RandomState(seed)
        self._tickets = 0

    def ask(self) -> Suggestion:
        """A random genotype."""
        edits = self._sampler.sample(self._rng)
        knobs = random_knobs(self._space.knobs, self._rng)
        self._tickets += 1
        return Suggestion(Genotype(edits, knobs), "random", self._tickets)

    def tell(self, ticket: int, loss: float, repeated: bool = False) -> None:
        """It does not learn."""

    def adopt(self, genotype: Genotype, loss: float) -> None:
        """It does not learn."""


class O3Proposer:
    """Control: ``default<O3>`` alone, what a build at -O3 would have had without a search."""

    def __init__(self) -> None:
        self._asked = False

    def ask(self) -> Suggestion | None:
        """The empty genotype, once."""
        if self._asked:
            return None
        self._asked = True
        return Suggestion(Genotype(), "o3", 0)

    def tell(self, ticket: int, loss: float, repeated: bool = False) -> None:
        """It does not learn."""

    def adopt(self, genotype: Genotype, loss: float) -> None:
        """It does not learn."""


def random_knobs(knobs: Sequence[Knob], rng: np.random.RandomState) -> Knobs:
    """Uniformly drawn values, the recorded one as likely as each other."""
    chosen = []
    for knob in knobs:
        at = int(rng.randint(len(knob.values) + 1))
        chosen += [(knob.key, knob.values[at - 1])] if at else []
    return tuple(sorted(chosen))
