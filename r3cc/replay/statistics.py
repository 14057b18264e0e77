"""Medians with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

from r3cc.replay.model import Interval

CONFIDENCE = 0.95


def interval(samples: Sequence[float]) -> Interval:
    """Median with the order statistics that bound it with 95 % confidence, whatever the distribution.

    Fewer than 6 samples cannot bound a median that surely: the bounds are then the extremes.
    """
    ordered = sorted(samples)
    rank = _rank(len(ordered))
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return Interval(median, ordered[rank], ordered[-1 - rank], len(ordered))


def _rank(count: int) -> int:
    """How many samples may be left out at each end: the median lies beyond with at most 5 % probability."""
    tail, rank = 0.0, 0
    while rank < (count - 1) // 2:
        tail += math.comb(count, rank) / 2**count
        if 2 * tail > 1 - CONFIDENCE:
            return max(rank - 1, 0)
        rank += 1
    return max(rank - 1, 0)
