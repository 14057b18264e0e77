"""Racing: few samples first, more only for a candidate that may still be the best one. The interval decides."""

from __future__ import annotations

from collections.abc import Sequence

from r3cc.replay.model import Race
from r3cc.replay.statistics import interval

FAR = 1.5
"""Times the best ratio above which a single block's ratio is enough."""


def is_lost(ratios: Sequence[float], race: Race) -> bool:
    """Whether a candidate with these ratios, one a block, is slower than the best beyond noise."""
    if len(ratios) == 1:
        return ratios[0] > FAR * race.best * (1 + race.noise)
    return interval(ratios).low > race.best * (1 + race.noise)


def blocks_in_all(ratios: Sequence[float], race: Race) -> int:
    """Blocks to take: twice as many as there are while the candidate may be the best, at most ``race.most``."""
    if is_lost(ratios, race) or interval(ratios).low > race.best:
        return len(ratios)
    return min(2 * len(ratios), max(race.most, len(ratios)))
