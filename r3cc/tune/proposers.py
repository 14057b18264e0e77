"""Who proposes genotypes: Nevergrad's optimizers as R3 uses them, and the controls.

A proposer is asked and told in any order; given a seed and the same order of both it asks for the same genotypes, which
is how a search continues after an interruption.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

import msgspec
import numpy as np

from r3cc.tune.arms import Arm, Asked, PipelineArm, arms_of
from r3cc.tune.genotype import Genotype, Knobs
from r3cc.tune.knobs import Knob
from r3cc.tune.mutation import EditSampler
from r3cc.tune.space import Space

if TYPE_CHECKING:
    from r3cc.tune.nevergrad_optimizers import Told

OPENING = {"launch": 20}
"""Turns that an arm has before the others have theirs: the launch's settings are the likeliest to matter."""
TURNS = {"launch": 6, "pipeline": 6, "knobs": 4}
"""How often each arm has its turn beside the others."""
WORTH = 0.003
"""Gain for which a part that was measured beside others is measured beside the best."""
STUBBORN = 6
"""Repeated candidates in a row after which another arm gets the turn."""


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


class _Context(msgspec.Struct, frozen=True):
    """What a ticket was asked with: its arm, and the other arms' parts of the loss."""

    arm: str
    told: Told
    genotype: Genotype
    parts: dict[str, float]

    @property
    def others(self) -> float:
        """The other arms' part of the loss."""
        return sum(part for name, part in self.parts.items() if name != self.arm)


class ArmProposer:
    """Several arms on one budget: each varies its part of the genotype with the others' best.

    A loss is split as if the parts added up: an arm is told the loss less the others' parts, so that what it learnt
    stays comparable when another one improves.
    """

    def __init__(self, arms: Sequence[Arm]) -> None:
        self._arms = {arm.name: arm for arm in arms}
        self._best = Genotype()
        self._best_loss = 0.0
        self._parts = dict.fromkeys(self._arms, 0.0)
        self._open: dict[int, _Context] = {}
        self._asked = dict.fromkeys(self._arms, 0)
        self._stubborn = 0
        self._tried = {self._best}
        self._found: dict[str, dict[object, tuple[float, Genotype]]] = {name: {} for name in self._arms}
        """Of each arm: its parts, as they were measured last, and where."""

    def ask(self) -> Suggestion | None:
        """The next genotype, of the arm whose turn it is or, where that expects nothing, of the next."""
        for name in self._turns():
            asked = self._again(name) or self._arms[name].ask(self._best)
            if asked is not None:
                told, genotype = asked
                ticket = sum(self._asked.values())
                self._asked[name] += 1
                self._open[ticket] = _Context(name, told, genotype, dict(self._parts))
                self._tried.add(genotype)
                return Suggestion(genotype, name, ticket)
        return None

    def _again(self, name: str) -> Asked | None:
        """An arm's part that was better than the best's, beside other parts, now beside the best's."""
        arm = self._arms[name]
        better = [pair for pair in self._found[name].values() if pair[0] < self._parts[name] - WORTH]
        ranked = (arm.graft(self._best, donor) for _, donor in sorted(better, key=lambda pair: pair[0]))
        genotype = next((each for each in ranked if each not in self._tried), None)
        return None if genotype is None else (partial(arm.adopt, genotype), genotype)

    def tell(self, ticket: int, loss: float, repeated: bool = False) -> None:
        """Tell the arm that asked, and keep the best."""
        context = self._open.pop(ticket)
        self._stubborn = self._stubborn + 1 if repeated else 0
        part = loss - context.others
        context.told(part)
        arm = self._arms[context.arm]
        self._found[context.arm][arm.part(context.genotype)] = part, context.genotype
        if loss < self._best_loss:
            self._best, self._best_loss = context.genotype, loss
            self._parts = {**context.parts, context.arm: part}

    def adopt(self, genotype: Genotype, loss: float) -> None:
        """Learn from a genotype that was not asked for, which may become the best.

        The arms whose parts differ from the best's share what its loss differs by.
        """
        self._tried.add(genotype)
        changed = [name for name, arm in self._arms.items() if arm.part(genotype) != arm.part(self._best)]
        share = (loss - self._best_loss) / max(len(changed), 1)
        parts = {name: part + share * (name in changed) for name, part in self._parts.items()}
        for name in changed:
            self._arms[name].adopt(genotype, parts[name])
        if loss < self._best_loss:
            self._best, self._best_loss, self._parts = genotype, loss, parts

    def _turns(self) -> list[str]:
        """Arms by turn: openings, then who is furthest behind its share; after stubborn repeats, the next one."""
        later = {name: max(0, count - OPENING.get(name, 0)) for name, count in self._asked.items()}
        shares = {name: TURNS[name] for name in self._arms}
        step = (sum(later.values()) + 1) / sum(shares.values())
        order = sorted(
            self._arms,
            key=lambda name: (self._asked[name] >= OPENING.get(name, 0), later[name] - step * shares[name]),
        )
        skip = self._stubborn // STUBBORN % len(order)
        return order[skip:] + order[:skip]


def r3_proposer(space: Space, seed: int, width: int, registers: int | None = None) -> ArmProposer:
    """R3's optimizer over a kernel's whole space; ``registers`` a thread, of the baseline, where they are known."""
    arms = arms_of(space.knobs, seed + 1, width, registers, space.facts.accesses)
    return ArmProposer((PipelineArm(space, seed, width), *arms))


def knob_proposer(knobs: Sequence[Knob], seed: int, width: int) -> ArmProposer:
    """The same without a pipeline: for a unit's module-scope values, and kernels that have no IR."""
    return ArmProposer(arms_of(knobs, seed, width))


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
