import random

from r3cc.replay.statistics import interval


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
