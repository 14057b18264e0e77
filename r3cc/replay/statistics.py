"""Medians with confidence intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from r3cc.replay.model import Interval

CONFIDENCE = 0.95
T_QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t at 97.5 % for 2 to 10 values."""
TINY = 1e-9


def interval(samples: Sequence[float]) -> Interval:
    """Median with the order statistics that bound it with 95 % confidence, whatever the distribution.

    Fewer than 6 samples cannot bound a median that surely: the bounds are then the extremes.
    """
    ordered = sorted(samples)
    rank = _rank(len(ordered))
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return Interval(median, ordered[rank], ordered[-1 - rank], len(ordered))


def across(processes: Sequence[Interval]) -> Interval:
    """What several processes say together: mean of the logarithms of their medians, with Student's interval of 95 %.

    Where code and memory lie differs from process to process and stays for a process's life, so samples of one process
    are no independent ones: the process is the unit. ``samples`` counts all of theirs. A single process keeps its own
    interval.
    """
    if len(processes) == 1:
        return processes[0]
    logs = [math.log(max(each.median, TINY)) for each in processes]
    mean = statistics.fmean(logs)
    half = T_QUANTILES[len(logs) - 2] * statistics.stdev(logs) / math.sqrt(len(logs))
    samples = sum(each.samples for each in processes)
    return Interval(math.exp(mean), math.exp(mean - half), math.exp(mean + half), samples)


def _rank(count: int) -> int:
    """How many samples may be left out at each end: the median lies beyond with at most 5 % probability."""
    tail, rank = 0.0, 0
    while rank < (count - 1) // 2:
        tail += math.comb(count, rank) / 2**count
        if 2 * tail > 1 - CONFIDENCE:
            return max(rank - 1, 0)
        rank += 1
    return max(rank - 1, 0)
