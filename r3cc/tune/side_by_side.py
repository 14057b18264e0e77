"""Candidates measured beside one another: what one is worth against another, with an interval.

A search sees each candidate once and keeps the luckiest, so its numbers cannot tell whether something less is as good.
Here both are measured again in *rounds*: in a round all come one after another, each beside the baseline, in the
reverse order of the round before. A round's quotients are its own, so what drifts from round to round cancels, and what
they differ by is the noise.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future

import msgspec

from r3cc.farm.evaluator import Evaluator
from r3cc.replay.model import Candidate, Evaluation, Interval, L2State, Status, TimingPlan
from r3cc.replay.statistics import across

WARMUPS, SAMPLES = 1, 5
"""Of each candidate in each round."""
FEWEST, MOST, MORE = 4, 8, 2
"""Rounds at first, at most, and at a time in between."""
SMALLEST = 0.002
"""Relative differences below this are none, however sure."""
T_QUANTILES = (318.31, 22.327, 10.215, 7.173, 5.893, 5.208, 4.785, 4.501, 4.297)
"""Student's t at 99.9 % for 1 to 9 degrees of freedom."""
NORMAL_QUANTILE = 3.090
UNUSUAL = 10
"""Times the variance of earlier comparisons above which one was disturbed, and says nothing of the usual noise."""


class Rounds:
    """Measures candidates in rounds on one evaluator."""

    def __init__(self, evaluator: Evaluator, numbers: Iterator[int], l2: L2State | None = None) -> None:
        """``numbers`` tell rounds apart: none may come twice on one evaluator. ``l2``: the cache state to time in."""
        self._evaluator = evaluator
        self._numbers = numbers
        self._l2 = l2

    def measure(self, candidates: Sequence[Candidate], count: int) -> list[list[Evaluation]]:
        """Evaluations of the candidates in each of so many rounds, all queued at once."""
        rounds = [self._start(candidates, next(self._numbers)) for _ in range(count)]
        return [[future.result() for future in started] for started in rounds]

    def _start(self, candidates: Sequence[Candidate], number: int) -> list[Future[Evaluation]]:
        plan = TimingPlan(WARMUPS, SAMPLES, repetition=number, l2=self._l2)
        order = range(len(candidates)) if number % 2 else reversed(range(len(candidates)))
        started = {at: self._evaluator.submit(candidates[at], plan) for at in order}
        return [started[at] for at in range(len(candidates))]


class Comparison(msgspec.Struct, frozen=True):
    """What one candidate is against another."""

    ratio: Interval | None
    """Its time over the other's, with 99.8 % confidence; None where it is not valid."""
    slower: bool
    """By more than noise."""


class Comparer:
    """Compares candidates of one kernel two at a time; what it learns of the noise serves the next two."""

    def __init__(self, rounds: Rounds, noise: float, is_late: Callable[[], bool]) -> None:
        """``noise``: relative difference within which candidates count as equally fast."""
        self._rounds = rounds
        self._noise = noise
        self._is_late = is_late
        self._spread = 0.0
        """Squared deviations from the means of earlier comparisons."""
        self._freedom = 0
        """Degrees of freedom of these."""

    def fastest(self, candidates: Sequence[Candidate]) -> int | None:
        """Which of several takes the least time; None when it is late, or nothing could be measured."""
        if self._is_late():
            return None
        measured = zip(*self._rounds.measure(candidates, FEWEST), strict=True)
        times = [[math.log(each.ratio.median) for each in one if each.ratio is not None] for one in measured]
        means = {at: statistics.fmean(logs) for at, logs in enumerate(times) if logs}
        return min(means, key=means.__getitem__, default=None)

    def compare(self, other: Candidate, candidate: Candidate) -> Comparison | None:
        """Measure two until it is clear whether ``candidate`` is slower; None when it is late before that.

        It is slower once the interval lies above 1, and not slower once that lies below 1 + noise. What is still open
        after the last round is inside the noise.
        """
        pairs: list[list[Evaluation]] = []
        while not self._is_late():
            pairs += self._rounds.measure((other, candidate), MORE if pairs else FEWEST)
            if any(second.status not in (Status.OK, Status.WORKER_LOST) for _, second in pairs):
                return Comparison(None, True)
            logs = [math.log(each) for each in quotients(pairs)]
            if len(logs) < 2:
                return None
            ratio = self._interval(logs)
            slower = ratio.low > 1 and ratio.median > 1 + SMALLEST
            if slower or ratio.high < 1 + self._noise or len(pairs) >= MOST:
                self._learn(logs)
                return Comparison(ratio, slower)
        return None

    def _interval(self, logs: Sequence[float]) -> Interval:
        mean = statistics.fmean(logs)
        freedom = self._freedom + len(logs) - 1
        deviation = math.sqrt((self._spread + _spread(logs)) / freedom)
        half = _quantile(freedom) * deviation / math.sqrt(len(logs))
        return Interval(math.exp(mean), math.exp(mean - half), math.exp(mean + half), SAMPLES * len(logs))

    def _learn(self, logs: Sequence[float]) -> None:
        spread, freedom = _spread(logs), len(logs) - 1
        if self._freedom and spread * self._freedom > UNUSUAL * self._spread * freedom:
            return
        self._spread += spread
        self._freedom += freedom


def quotients(pairs: Sequence[Sequence[Evaluation]]) -> list[float]:
    """The second's time over the first's, round by round; rounds in which either was lost say nothing."""
    return [
        second.ratio.median / first.ratio.median
        for first, second in pairs
        if first.ratio is not None and second.ratio is not None
    ]


def together(quotients: Sequence[float]) -> Interval | None:
    """What up to ten rounds' quotients say together, with 95 % confidence; None of fewer than two."""
    if len(quotients) < 2:
        return None
    return across([Interval(quotient, quotient, quotient, SAMPLES) for quotient in quotients])


def _spread(values: Sequence[float]) -> float:
    mean = statistics.fmean(values)
    return sum((value - mean) ** 2 for value in values)


def _quantile(freedom: int) -> float:
    """Student's t at 99.9 %; beyond the table by the first terms of its expansion."""
    if freedom <= len(T_QUANTILES):
        return T_QUANTILES[freedom - 1]
    z = NORMAL_QUANTILE
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
