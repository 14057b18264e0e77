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


def judge_baseline(evaluator: Evaluator) -> Evaluation:
    """The recorded build's own code beside itself; the calmer of two looks where the first may have been disturbed.

    All of a search goes by this noise: what is no gain, who is given up, what counts as equally fast.
    """
    judged = evaluator.baseline()
    for _ in range(RETRIES):
        if judged.status is Status.WORKER_LOST:
            judged = evaluator.baseline()
    if judged.status is not Status.OK or noise_of(judged) <= LOUD:
        return judged
    plan = msgspec.structs.replace(BASELINE_PLAN, repetition=1, l2=judged.l2)
    again = evaluator.submit(Candidate(), plan).result()
    return min(judged, again, key=noise_of) if again.status is Status.OK else judged


def noise_of(baseline: Evaluation) -> float:
    """Relative half-width of the baseline's interval, at least MIN_NOISE."""
    interval = baseline.ratio or baseline.time_ns
    if interval is None or interval.median <= 0:
        return MIN_NOISE
    return max(MIN_NOISE, (interval.high - interval.low) / 2 / interval.median)
