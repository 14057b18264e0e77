"""Registers: what three knobs come to, and what is expected of having fewer."""

from __future__ import annotations

import numpy as np
import pytest

from r3cc.tune.arms import LaunchArm
from r3cc.tune.blocks import Shape, block_knob
from r3cc.tune.genotype import Genotype
from r3cc.tune.knobs import BLOCK, KERNEL_KNOBS
from r3cc.tune.register_bounds import bound, distinct, place
from r3cc.tune.register_model import RegisterModel
from tests.tune.synthetic import describe

SHAPES = ((128, 1, 1), (32, 1, 1), (256, 1, 1), (1024, 1, 1))
PLANE = Shape(grid=(256, 256, 1), block=(16, 16, 1))
KNOBS = (*KERNEL_KNOBS, *block_knob(describe(), [PLANE]))


@pytest.mark.parametrize(
    ("knobs", "threads", "expected"),
    [
        ({}, 128, None),
        ({"maxnreg": "80"}, 128, 80),
        ({"maxntid": "launched"}, 512, 128),
        ({"minctasm": "3"}, 256, 80),
        ({"maxnreg": "64", "minctasm": "3", "maxntid": "launched"}, 256, 64),
        ({"maxnreg": "255", "minctasm": "8"}, 512, 128),
    ],
)
def test_the_tightest_bound_holds_and_a_multiprocessor_has_so_many_threads(
    knobs: dict[str, str], threads: int, expected: int | None
) -> None:
    assert bound(knobs, threads) == expected


def test_bounds_above_what_a_kernel_takes_are_one() -> None:
    values = distinct(("32", "64", "96", "128", "255"), 110)
    assert values == ("32", "64", "96", "255")
    assert [place(each, values, 110) for each in (None, 24, 32, 80, 96, 104, 128, 255)] == [0, 1, 1, 2, 3, 3, 4, 4]


def test_the_launch_arm_bounds_registers_in_one_way_and_knows_the_others() -> None:
    arm = LaunchArm(KNOBS, seed=1, registers=110)
    best = Genotype((), (("minctasm", "2"), ("specialise:block", "launched")))
    asked = []
    for _ in range(40):
        answer = arm.ask(best)
        assert answer is not None
        told, genotype = answer
        knobs = dict(genotype.knobs)
        assert knobs.pop("specialise:block") == "launched"
        assert set(knobs) <= {BLOCK, "maxnreg"} and knobs.get("maxnreg") not in ("128", "168")
        asked.append(genotype)
        told(0.01)
    assert len(set(asked)) == 40
    arm = LaunchArm(KNOBS, seed=1, registers=110)
    answer = arm.ask(Genotype())
    assert answer is not None
    block = dict(answer[1].knobs)[BLOCK]
    arm.adopt(Genotype((), ((BLOCK, block), ("maxntid", "launched"), ("minctasm", "1"))), 0.3)
    again = [each[1].knobs for _ in range(30) if (each := arm.ask(Genotype())) is not None]
    assert ((BLOCK, block), ("maxnreg", "255")) not in again, "it was told of the same under another name"


def test_without_known_registers_every_knob_is_asked_for() -> None:
    arm = LaunchArm(KNOBS, seed=1)
    asked = [each[1].knobs for _ in range(20) if (each := arm.ask(Genotype())) is not None]
    assert {key for knobs in asked for key, _ in knobs} == {BLOCK, "maxntid", "minctasm", "maxnreg"}


def test_fewer_registers_cost_more_the_fewer_they_are_and_what_cannot_be_launched_is_known() -> None:
    model = RegisterModel(SHAPES, [120, 32, 64, 96, 120])
    settings = np.array([(0, value) for value in range(5)])
    recorded, least, few, some, loose = model.mean(settings)
    assert recorded == loose == 0.0
    assert least > few > 0.05 > abs(some)
    assert model.mean(np.array([(3, 0)]))[0] > 0.5 > model.mean(np.array([(3, 2)]))[0]


def test_covariances_are_those_of_numbers_that_exist() -> None:
    model = RegisterModel(SHAPES, [120, 32, 64, 96, 120])
    every = np.array([(block, value) for block in range(len(SHAPES)) for value in range(5)])
    covariance = model.covariance(every, every, np.ones((len(every), len(every))))
    assert np.allclose(covariance, covariance.T)
    assert np.allclose(np.diag(covariance), model.variance(every))
    assert np.linalg.eigvalsh(covariance).min() > -1e-9
