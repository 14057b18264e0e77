"""Racing: few samples first, more only for a candidate that seems to be the best one. The interval decides."""

from __future__ import annotations

from collections.abc import Sequence

from r3cc.replay.model import Race
from r3cc.replay.statistics import interval

FAR = 1.5
"""Times the best ratio above which a single block's ratio is enough."""
HOPELESS = 3
"""Times the noise above the best ratio beyond which a candidate is given up."""


def is_lost(ratios: Sequence[float], race: Race) -> bool:
    """Whether a candidate with these ratios, one a block, is slower than the best beyond noise."""
    worst = race.best * (1 + HOPELESS * race.noise)
    return ratios[0] > FAR * worst if len(ratios) == 1 else interval(ratios).low > worst


def blocks_in_all(ratios: Sequence[float], race: Race) -> int:
    """Blocks to take: twice as many as there are while the candidate seems to be the best, at most ``race.most``."""
    if interval(ratios).median >= race.best * (1 - race.noise):
        return len(ratios)
    return min(2 * len(ratios), max(race.most, len(ratios)))
