"""The baseline's own look: what it takes, and how far looks at the same code differ, which is the search's noise."""

from __future__ import annotations

import msgspec

from r3cc.farm.evaluator import Evaluator
from r3cc.farm.local import BASELINE_PLAN
from r3cc.replay.model import Candidate, Evaluation, Status

RETRIES = 2
"""Times that an evaluation whose worker was lost is done again."""
MIN_NOISE = 0.002
"""Relative changes below this count as noise even where the measured one is smaller."""
LOUD = 0.05
"""Noise from which on the look itself may have been disturbed."""
LOOKS = 3
"""At the baseline, at most."""


def judge_baseline(evaluator: Evaluator) -> Evaluation:
    """The recorded build's own code beside itself; the calmest of a few looks where the first may have been disturbed.

    All of a search goes by this noise: what is no gain, who is given up, what counts as equally fast.
    """
    judged = evaluator.baseline()
    for _ in range(RETRIES):
        if judged.status is Status.WORKER_LOST:
            judged = evaluator.baseline()
    looks = [judged]
    while judged.status is Status.OK and noise_of(looks[-1]) > LOUD and len(looks) < LOOKS:
        again = msgspec.structs.replace(BASELINE_PLAN, repetition=len(looks), l2=judged.l2)
        looks.append(evaluator.submit(Candidate(), again).result())
    return min((look for look in looks if look.status is Status.OK), key=noise_of, default=judged)


def noise_of(baseline: Evaluation) -> float:
    """Relative half-width of the baseline's interval, at least MIN_NOISE."""
    interval = baseline.ratio or baseline.time_ns
    if interval is None or interval.median <= 0:
        return MIN_NOISE
    return max(MIN_NOISE, (interval.high - interval.low) / 2 / interval.median)
