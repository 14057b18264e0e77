"""How much of a search one kernel gets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from r3cc.replay.events import KernelPlan
from r3cc.tune.journal import Journal
from r3cc.tune.unit import Unit

EXPLORED = 0.5
"""Part of its kernels' limits that a search spends by share alone; the rest goes where it is worth most."""
FIRST_LOOK = 0.1
"""Part of what is left, finals' time too, of which a kernel gets its share at least, however late others ran."""
UNIT_PART = 0.25
"""Part of its kernels' budget that goes to what a unit's kernels share."""
KEPT_BACK = 0.1
"""Part of what a kernel gets that is kept back for simplifying the winner."""
MOST_KEPT_BACK = 16
"""Most evaluations kept back for simplifying the winner."""


MOST_FOR_FINALS = 0.5
"""Largest part of a session's time that is reserved for finals: a search that may not search finds nothing."""
Clock = Callable[[], float]
"""Seconds since some moment."""


class Allowance(msgspec.Struct, frozen=True):
    """Limits of one kernel's search; None for none."""

    evaluations: int | None
    deadline: float | None
    """Of the clock: when it stops asking."""
    kept_back: int = 0
    """Evaluations for simplifying the winner: the search itself does not get them."""
    kept_back_s: float = 0.0
    """Seconds after the deadline for the same."""
    clock: Clock = time.monotonic

    def keeping_back(self) -> Allowance:
        """The same limits, some of what is left kept back."""
        kept_s = 0.0 if self.deadline is None else max(0.0, self.deadline - self.clock()) * KEPT_BACK
        return msgspec.structs.replace(
            self,
            deadline=None if self.deadline is None else self.deadline - kept_s,
            kept_back_s=kept_s,
        ).granting(self.evaluations)

    def granting(self, evaluations: int | None) -> Allowance:
        """So many evaluations instead, some of them kept back."""
        kept_back = min(int((evaluations or 0) * KEPT_BACK), MOST_KEPT_BACK)
        return msgspec.structs.replace(self, evaluations=evaluations, kept_back=kept_back)

    def spent(self, evaluations: int, under_way_s: float = 0.0) -> str | None:
        """Which limit is reached, budget or time, after so many evaluations and with seconds of work under way."""
        if self.evaluations is not None and evaluations >= self.evaluations - self.kept_back:
            return "budget"
        if self.deadline is not None and self.clock() + under_way_s >= self.deadline:
            return "time"
        return None

    def exhausted(self, evaluations: int) -> bool:
        """Whether nothing is left, not even of what is kept back for simplifying the winner."""
        return self.is_late or (self.evaluations is not None and evaluations >= self.evaluations)

    @property
    def is_late(self) -> bool:
        """Whether the time is over, that for simplifying the winner, too."""
        return self.deadline is not None and self.clock() >= self.deadline + self.kept_back_s


class Limits(msgspec.Struct, frozen=True):
    """Where a session stops; None for no limit."""

    budget: int | None = None
    """Evaluations over all kernels and sessions."""
    time_s: float | None = None
    """Wall time of this session, finals among it."""


class Cost(msgspec.Struct, frozen=True):
    """What a unit or kernel takes beside its search."""

    opening_s: float
    """Opening it, with the baseline."""
    finals_s: float
    is_open: bool = False
    """It is, and stays open: what opening it took is past."""


class _Part(msgspec.Struct, frozen=True):
    """Somebody who spends: a unit or a kernel."""

    id: str
    weight: float
    cost: int
    """Evaluations that one of its proposals takes: a unit's is judged on every kernel."""


class Budget:
    """Splits a session's limits among units and kernels; what one leaves passes on.

    Of the time, what opening the kernels and their finals will take is set aside first. It is known of those that were
    opened, and assumed of the others.

    Units come first. Of what kernels have, a part is spent by share of device time, each kernel in turn; the rest goes,
    in a second round, by share times the gain that is expected of more.
    """

    def __init__(
        self,
        limits: Limits,
        journal: Journal,
        kernels: Sequence[KernelPlan],
        units: Sequence[Unit],
        clock: Clock = time.monotonic,
    ) -> None:
        self.limits = limits
        self._journal = journal
        self._clock = clock
        self._start = clock()
        self._explored_s = 0.0
        """Seconds that the first round has searched."""
        self._costs: dict[str, Cost] = {}
        self._most_s: float | None = None
        subjects = (*(unit.plan.kernel for unit in units), *(plan.kernel for plan in kernels))
        self._over = {each for each in subjects if journal.result(each)}
        inside = {kernel for unit in units for kernel in unit.kernels}
        self._units = [_Part(unit.plan.kernel, unit.plan.share * UNIT_PART, len(unit.kernels)) for unit in units]
        self._kernels = [
            _Part(plan.kernel, plan.share * (1 - UNIT_PART) if plan.kernel in inside else plan.share, 1)
            for plan in kernels
        ]

    def costs(self, id_: str, cost: Cost) -> None:
        """What was found out about a unit or kernel when it was opened."""
        self._costs[id_] = cost

    def cost(self, id_: str) -> Cost | None:
        """The same; None before it was opened."""
        return self._costs.get(id_)

    def over(self, id_: str) -> None:
        """A unit or kernel has its result."""
        self._over.add(id_)

    def explored(self, seconds: float) -> None:
        """A kernel's first round took so long."""
        self._explored_s += seconds

    @property
    def finals_s(self) -> float:
        """What the finals of all that has no result yet will take, by what is known of them."""
        return sum(cost.finals_s for _, cost in self._ahead())

    @property
    def late_s(self) -> float:
        """How long after the session's time the finals will end of what was opened so far."""
        known_s = sum(cost.finals_s for id_, cost in self._costs.items() if id_ not in self._over)
        return 0.0 if self.limits.time_s is None else max(0.0, known_s - self._most_for_finals_s())

    def _ahead(self) -> list[tuple[_Part, Cost]]:
        """What has no result yet, and its cost. Units are not assumed to be as costly as kernels, nor the other way."""
        found = []
        for parts in (self._units, self._kernels):
            known = [cost for part in parts if (cost := self._costs.get(part.id))]
            usual = Cost(
                sum(cost.opening_s for cost in known) / max(len(known), 1),
                sum(cost.finals_s for cost in known) / max(len(known), 1),
            )
            left = [part for part in parts if part.id not in self._over]
            found += [(part, self._costs.get(part.id, usual)) for part in left]
        return found

    def _left_s(self) -> float:
        """Seconds of the session's time that are left for searching."""
        assert self.limits.time_s is not None
        return max(0.0, self._unopened_s() - min(self.finals_s, self._most_for_finals_s()))

    def _unopened_s(self) -> float:
        """Seconds of the session's time that are left once all is open."""
        assert self.limits.time_s is not None
        openings = sum(cost.opening_s for _, cost in self._ahead() if not cost.is_open)
        return max(0.0, self._start + self.limits.time_s - self._clock() - openings)

    def _most_for_finals_s(self) -> float:
        """A part of what is left when the units are done, and stays so."""
        if any(unit.id not in self._over for unit in self._units):
            return self._unopened_s() * MOST_FOR_FINALS
        if self._most_s is None:
            self._most_s = self._unopened_s() * MOST_FOR_FINALS
        return self._most_s

    @property
    def explores(self) -> bool:
        """Whether there is something to split in two rounds."""
        return len(self._kernels) > 1 and (self.limits.budget is not None or self.limits.time_s is not None)

    def allowance(self, plan: KernelPlan) -> Allowance:
        """What a unit or kernel may spend of what those before it left, by share."""
        parts = [*self._units, *self._kernels]
        at = next(number for number, part in enumerate(parts) if part.id == plan.kernel)
        share = share_of([part.weight for part in parts[at:] if not self._journal.result(part.id)])
        return self._allowance(share, 0, self._spent(parts[:at]), parts[at].cost)

    def exploration(self, plan: KernelPlan) -> Allowance:
        """What a kernel may spend in the first round, by share."""
        at = self._place(plan)
        share = share_of([part.weight for part in self._kernels[at:] if not self._journal.result(part.id)])
        least = FIRST_LOOK * share_of([part.weight for part in (*self._kernels[at:], *self._kernels[:at])])
        before, shared = self._spent(self._kernels[:at]), self._spent(self._units)
        evaluations = seconds = None
        if self.limits.budget is not None:
            own = max(0, self.limits.budget - shared)
            evaluations = max(1, round(max((own * EXPLORED - before) * share, (own - before) * least)))
        if self.limits.time_s is not None:
            whole_s = self._explored_s + self._left_s()
            seconds = max((whole_s * EXPLORED - self._explored_s) * share, self._unopened_s() * least)
        return self._until(evaluations, seconds)

    def rest(self, plan: KernelPlan, expected: Mapping[str, float]) -> Allowance:
        """What a kernel may spend in all, given the relative gain expected of more for it and for those after it."""
        share = share_of([part.weight * expected.get(part.id, 0.0) for part in self._kernels[self._place(plan) :]])
        spent = self._spent((*self._units, *self._kernels))
        return self._allowance(share, self._journal.spent(plan.kernel), spent, 1)

    def _place(self, plan: KernelPlan) -> int:
        return next(number for number, part in enumerate(self._kernels) if part.id == plan.kernel)

    def _spent(self, parts: Iterable[_Part]) -> int:
        return sum(self._journal.spent(part.id) * part.cost for part in parts)

    def _allowance(self, share: float, own: int, spent: int, cost: int) -> Allowance:
        """``own`` evaluations and a share of what is left of the limits."""
        budget, time_s = self.limits.budget, self.limits.time_s
        evaluations = None if budget is None else max(1, own + round(max(0, budget - spent) * share / cost))
        return self._until(evaluations, None if time_s is None else self._left_s() * share).keeping_back()

    def _until(self, evaluations: int | None, seconds: float | None) -> Allowance:
        return Allowance(evaluations, None if seconds is None else self._clock() + seconds, clock=self._clock)


def share_of(shares: Sequence[float]) -> float:
    """The first kernel's part of what is left for all of ``shares``; the last one gets everything."""
    total = sum(shares)
    return shares[0] / total if total > 0 else 1 / len(shares)
