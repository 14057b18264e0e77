"""How much of a search one kernel gets."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

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


def share_of(shares: Sequence[float]) -> float:
    """The first kernel's part of what is left for all of ``shares``; the last one gets everything."""
    total = sum(shares)
    return shares[0] / total if total > 0 else 1 / len(shares)
