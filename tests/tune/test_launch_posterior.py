"""What is expected of a pool does not depend on how it came about: as if all were known at once, solved directly."""

from __future__ import annotations

import numpy as np
import pytest

from r3cc.tune.covariance import Numbers
from r3cc.tune.launch_model import NOISE, LaunchModel
from r3cc.tune.launch_posterior import DOUBT, FIRST_ROWS, LEAST_SCALE, Posterior

SHAPES = [(128, 1, 1), *((x, y, 1) for x in (8, 32, 48, 64, 256) for y in (1, 2, 4))]
VALUES = [["launched"], ["1", "2", "4", "8"], ["32", "64", "128"]]
SIZES = (len(SHAPES), 2, 5, 4)


def drawn(rng: np.random.RandomState, count: int) -> Numbers:
    found: Numbers = rng.randint(SIZES, size=(count, len(SIZES)))
    return found


def direct(model: LaunchModel, asked: Numbers, losses: np.ndarray, pool: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Mean of what was told, variance of all that was asked for."""
    known = model.covariance(asked, asked) + NOISE**2 * np.eye(len(asked))
    beside = model.covariance(asked, pool)
    variance = model.variance(pool) - (np.linalg.solve(known, beside) * beside).sum(axis=0)
    told = ~np.isnan(losses)
    if not told.any():
        return model.mean(pool), variance
    surprise = losses[told] - model.mean(asked[told])
    solved = np.linalg.solve(known[np.ix_(told, told)], surprise)
    scale = max(LEAST_SCALE, (DOUBT + surprise @ solved) / (DOUBT + told.sum()))
    return model.mean(pool) + solved @ beside[told], scale * variance


@pytest.mark.parametrize("late", [0, 5])
def test_step_by_step_is_the_same_as_at_once(late: int) -> None:
    rng = np.random.RandomState(3)
    model = LaunchModel(SHAPES, VALUES)
    posterior = Posterior(model, len(SIZES), 40)
    posterior.put(np.arange(40), drawn(rng, 40))
    asked = np.unique(drawn(rng, FIRST_ROWS + 30), axis=0)
    losses = np.full(len(asked), np.nan)
    for number, setting in enumerate(asked):
        assert posterior.ask(tuple(map(int, setting))) == number
        if number >= late:
            losses[number - late] = rng.normal(0, 0.1)
            posterior.tell(number - late, losses[number - late])
        posterior.put(rng.choice(40, 3, replace=False), drawn(rng, 3))
        if number % 10 == 0 or number + 1 == len(asked):
            mean, variance = posterior.of_pool()
            expected = direct(model, asked[: number + 1], losses[: number + 1], posterior.pool)
            assert np.allclose(mean, expected[0], atol=1e-8)
            assert np.allclose(variance, expected[1], atol=1e-8)
    assert len(asked) > FIRST_ROWS


def test_what_was_measured_again_counts_once() -> None:
    model = LaunchModel(SHAPES, VALUES)
    once, twice = Posterior(model, len(SIZES), 1), Posterior(model, len(SIZES), 1)
    for posterior in (once, twice):
        posterior.put(np.arange(1), np.array([(3, 0, 1, 0)]))
        posterior.ask((3, 0, 0, 0))
    twice.tell(0, 0.3)
    for posterior in (once, twice):
        posterior.tell(0, -0.2)
    assert once.of_pool() == twice.of_pool()
