"""How much of a search one kernel gets."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from r3cc.replay.events import KernelPlan
from r3cc.tune.journal import Journal
from r3cc.tune.unit import Unit

EXPLORED = 0.5
"""Part of its kernels' limits that a search spends by share alone; the rest goes where it is worth most."""
UNIT_PART = 0.25
"""Part of its kernels' budget that goes to what a unit's kernels share."""
MOST_KEPT_BACK = 16
"""Most evaluations kept back for simplifying the winner."""


class Allowance(msgspec.Struct, frozen=True):
    """Limits of one kernel's search; None for none."""

    evaluations: int | None
    deadline: float | None
    """time.monotonic() at which it stops asking."""
    kept_back: int = 0
    """Evaluations for simplifying the winner: the search itself does not get them."""

    @staticmethod
    def whole(evaluations: int | None, deadline: float | None) -> Allowance:
        """All that a kernel gets, some of it kept back."""
        return Allowance(evaluations, deadline, min((evaluations or 0) // 10, MOST_KEPT_BACK))

    def spent(self, evaluations: int) -> str | None:
        """Which limit of the search is reached after so many evaluations, budget or time."""
        if self.evaluations is not None and evaluations >= self.evaluations - self.kept_back:
            return "budget"
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return "time"
        return None

    def exhausted(self, evaluations: int) -> bool:
        """Whether nothing is left, not even of what is kept back for simplifying the winner."""
        return self.evaluations is not None and evaluations >= self.evaluations


class Limits(msgspec.Struct, frozen=True):
    """Where a session stops; None for no limit."""

    budget: int | None = None
    """Evaluations over all kernels and sessions."""
    time_s: float | None = None
    """Time of this session's searching."""


class _Part(msgspec.Struct, frozen=True):
    """Somebody who spends: a unit or a kernel."""

    id: str
    weight: float
    cost: int
    """Evaluations that one of its proposals takes: a unit's is judged on every kernel."""


class Budget:
    """Splits a session's limits among units and kernels; what one leaves passes on.

    Units come first. Of what kernels have, a part is spent by share of device time, each kernel in turn; the rest goes,
    in a second round, by share times the gain that is expected of more.
    """

    def __init__(self, limits: Limits, journal: Journal, kernels: Sequence[KernelPlan], units: Sequence[Unit]) -> None:
        self.limits = limits
        self._journal = journal
        self._start = time.monotonic()
        self._explored_until: float | None = None
        inside = {kernel for unit in units for kernel in unit.kernels}
        self._units = [_Part(unit.plan.kernel, unit.plan.share * UNIT_PART, len(unit.kernels)) for unit in units]
        self._kernels = [
            _Part(plan.kernel, plan.share * (1 - UNIT_PART) if plan.kernel in inside else plan.share, 1)
            for plan in kernels
        ]

    def pause(self, seconds: float) -> None:
        """Time that does not count: opening a kernel, its baseline and finals come on top."""
        self._start += seconds
        if self._explored_until is not None:
            self._explored_until += seconds

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
        before, shared = self._spent(self._kernels[:at]), self._spent(self._units)
        budget, time_s = self.limits.budget, self.limits.time_s
        pool = None if budget is None else max(0, budget - shared) * EXPLORED - before
        now = time.monotonic()
        if time_s is not None and self._explored_until is None:
            self._explored_until = now + max(0.0, self._start + time_s - now) * EXPLORED
        deadline = None if self._explored_until is None else now + max(0.0, self._explored_until - now) * share
        return Allowance(None if pool is None else max(1, round(pool * share)), deadline)

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
        now = time.monotonic()
        deadline = None if time_s is None else now + max(0.0, self._start + time_s - now) * share
        return Allowance.whole(evaluations, deadline)


def share_of(shares: Sequence[float]) -> float:
    """The first kernel's part of what is left for all of ``shares``; the last one gets everything."""
    total = sum(shares)
    return shares[0] / total if total > 0 else 1 / len(shares)
