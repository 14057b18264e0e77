"""How much of a search one kernel gets."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec


class Allowance(msgspec.Struct, frozen=True):
    """Limits of one kernel's search; None for none."""

    evaluations: int | None
    deadline: float | None
    """time.monotonic() at which it stops asking."""

    def spent(self, evaluations: int) -> str | None:
        """Which limit is reached after so many evaluations: budget or time."""
        if self.evaluations is not None and evaluations >= self.evaluations:
            return "budget"
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return "time"
        return None


def share_of(shares: Sequence[float]) -> float:
    """The first kernel's part of what is left for all of ``shares``; the last one gets everything."""
    total = sum(shares)
    return shares[0] / total if total > 0 else 1 / len(shares)


def split(budget: int, shares: Sequence[float]) -> list[int]:
    """Evaluations for each kernel, as tune would spend them if each used its part up."""
    parts: list[int] = []
    for index in range(len(shares)):
        parts.append(max(1, round((budget - sum(parts)) * share_of(shares[index:]))))
    return parts
