"""How much of a search one kernel gets."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from r3cc.replay.events import KernelPlan
from r3cc.tune.journal import Journal
from r3cc.tune.unit import Unit

UNIT_PART = 0.25
"""Part of its kernels' budget that goes to what a unit's kernels share."""
MOST_KEPT_BACK = 16
"""Most evaluations kept back for simplifying the winner."""


class Allowance(msgspec.Struct, frozen=True):
    """Limits of one kernel's search; None for none."""

    evaluations: int | None
    deadline: float | None
    """time.monotonic() at which it stops asking."""

    def spent(self, evaluations: int) -> str | None:
        """Which limit of the search is reached after so many evaluations, budget or time; a tenth is kept back."""
        if self.evaluations is not None and evaluations >= self.evaluations - self._kept_back:
            return "budget"
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return "time"
        return None

    def exhausted(self, evaluations: int) -> bool:
        """Whether nothing is left, not even of what is kept back for simplifying the winner."""
        return self.evaluations is not None and evaluations >= self.evaluations

    @property
    def _kept_back(self) -> int:
        return min((self.evaluations or 0) // 10, MOST_KEPT_BACK)


class Limits(msgspec.Struct, frozen=True):
    """Where a session stops; None for no limit."""

    budget: int | None = None
    """Evaluations over all kernels and sessions."""
    time_s: float | None = None
    """Wall time of this session."""


class _Part(msgspec.Struct, frozen=True):
    """Somebody who spends: a unit or a kernel."""

    id: str
    weight: float
    cost: int
    """Evaluations that one of its proposals takes: a unit's is judged on every kernel."""


class Budget:
    """Splits a session's limits among units and kernels by share of device time; what one leaves passes on."""

    def __init__(self, limits: Limits, journal: Journal, kernels: Sequence[KernelPlan], units: Sequence[Unit]) -> None:
        self.limits = limits
        self._journal = journal
        self._start = time.monotonic()
        inside = {kernel for unit in units for kernel in unit.kernels}
        parts = [_Part(unit.plan.kernel, unit.plan.share * UNIT_PART, len(unit.kernels)) for unit in units]
        for plan in kernels:
            weight = plan.share * (1 - UNIT_PART) if plan.kernel in inside else plan.share
            parts.append(_Part(plan.kernel, weight, 1))
        self._parts = parts

    def pause(self, seconds: float) -> None:
        """Time that does not count: finals come on top."""
        self._start += seconds

    def allowance(self, plan: KernelPlan) -> Allowance:
        """What a unit or kernel may spend of what those before it left."""
        at = next(number for number, part in enumerate(self._parts) if part.id == plan.kernel)
        share = share_of([part.weight for part in self._parts[at:] if not self._journal.result(part.id)])
        spent = sum(self._journal.spent(part.id) * part.cost for part in self._parts[:at])
        budget, time_s = self.limits.budget, self.limits.time_s
        evaluations = None if budget is None else max(1, round((budget - spent) * share / self._parts[at].cost))
        now = time.monotonic()
        deadline = None if time_s is None else now + max(0.0, self._start + time_s - now) * share
        return Allowance(evaluations, deadline)


def share_of(shares: Sequence[float]) -> float:
    """The first kernel's part of what is left for all of ``shares``; the last one gets everything."""
    total = sum(shares)
    return shares[0] / total if total > 0 else 1 / len(shares)
