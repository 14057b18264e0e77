"""Racing: what it saves, and that it does not lose the best."""

import numpy as np
import pytest

from r3cc.replay.model import Race
from r3cc.replay.racing import blocks_in_all, is_lost

RACE = Race(best=0.8, noise=0.01)
FEW, PLAIN = 2, 4


def race(true_ratio, rng, noise=0.01, few=FEW):
    """Blocks taken of a candidate, and whether it was given up."""
    ratios, wanted = [], few
    while len(ratios) < wanted:
        ratios.append(true_ratio * np.exp(rng.normal(0, noise)))
        if is_lost(ratios, RACE):
            return len(ratios), True
        if len(ratios) == wanted:
            wanted = blocks_in_all(ratios, RACE)
    return len(ratios), False


def test_one_block_is_enough_for_what_is_far_off():
    assert is_lost([1.3], RACE)
    assert not is_lost([1.0], RACE)
    assert is_lost([1.0, 1.01], RACE)


def test_what_is_as_fast_as_the_best_gets_no_more():
    assert blocks_in_all([0.805, 0.81], RACE) == 2
    assert blocks_in_all([0.79, 0.80], RACE) == 2


def test_what_seems_to_be_the_best_gets_twice_as_many_up_to_the_limit():
    assert blocks_in_all([0.77, 0.78], RACE) == 4
    assert blocks_in_all([0.77] * 6, RACE) == 8
    assert blocks_in_all([0.77] * 8, RACE) == 8
    assert blocks_in_all([0.77] * 16, RACE) == 16


@pytest.mark.parametrize("noise", [0.003, 0.01, 0.02])
def test_samples_go_where_they_decide(noise):
    """Losers and what is as fast cost half of the plain plan, and no candidate 5 % better than the best is given up."""
    rng = np.random.default_rng(1)
    losers = [race(0.8 * rng.uniform(1.05, 2.5), rng, noise)[0] for _ in range(500)]
    equals = [race(0.8, rng, noise)[0] for _ in range(500)]
    winners = [race(0.8 * 0.95, rng, noise) for _ in range(500)]
    assert np.mean(losers) <= PLAIN / 2
    assert np.mean(equals) <= PLAIN * 0.75
    assert not any(lost for _, lost in winners)
    assert np.mean([blocks for blocks, _ in winners]) > 1.5 * PLAIN
