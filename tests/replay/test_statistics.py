import random

import pytest

from r3cc.replay.model import Interval
from r3cc.replay.statistics import across, interval


def test_few_samples_are_bounded_by_their_extremes():
    found = interval([3.0, 1.0, 2.0])
    assert (found.low, found.median, found.high, found.samples) == (1.0, 2.0, 3.0, 3)


def test_twenty_samples_leave_out_five_at_each_end():
    found = interval([float(number) for number in range(1, 21)])
    assert (found.low, found.median, found.high) == (6.0, 10.5, 15.0)


def test_an_outlier_moves_neither_median_nor_bounds_of_many_samples():
    samples = [10.0] * 14 + [1e9]
    assert interval(samples).high == 10.0


def test_interval_covers_the_true_median_in_at_least_95_percent_of_draws():
    draw = random.Random(1)
    covered = 0
    for _ in range(2000):
        found = interval([draw.expovariate(1.0) for _ in range(15)])
        covered += found.low <= 0.6931 <= found.high
    assert covered >= 0.95 * 2000


def test_processes_that_agree_bound_tightly_and_those_that_do_not_hold_one():
    def process(median):
        return Interval(median, median - 0.001, median + 0.001, 8)

    agreed = across([process(0.9) for _ in range(5)])
    assert (agreed.low, agreed.high) == (pytest.approx(0.9), pytest.approx(0.9))
    assert agreed.samples == 40
    split = across([process(median) for median in (0.9, 1.04, 0.95, 1.05, 0.97)])
    assert split.low < 0.95 and split.high > 1.0


def test_the_mean_of_processes_lies_within_their_interval_in_95_percent():
    draw = random.Random(3)
    trials = 2000
    held = 0
    for _ in range(trials):
        found = across([Interval(draw.lognormvariate(0.0, 0.03), 0.0, 0.0, 1) for _ in range(5)])
        held += found.low <= 1.0 <= found.high
    assert 0.935 * trials < held < 0.965 * trials
