"""What is granted where results cancel: rounding's share, and nothing that is an error."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from r3cc.farm.device_lane import DeviceLane
from r3cc.farm.device_worker import OpenSession, Setup
from r3cc.replay.compare import Area, magnitude_of
from r3cc.replay.elements import tolerance
from r3cc.replay.facts import KernelFacts
from r3cc.replay.model import Allowance, LaunchConfiguration, Mismatch, Numerics, Status, TimingPlan
from r3cc.replay.perturbed import PerturbedLaunches
from r3cc.replay.sensitivity import (
    DRAWS,
    LARGEST_NUDGE,
    MARGIN,
    NORM_MARGIN,
    REACH,
    Sensitivity,
    most_allowed,
    nudge_elements,
    nudged,
)
from r3cc.replay.session import Job, Rules
from tests.replay.cpu_kernels import FACTS, X, Y, build, cancelling, needs_cpu_device
from tests.replay.launches import MemoryLaunches, make_launch

ROUNDING = tolerance("double", Numerics.ROUNDING, None, None)
PLAN = TimingPlan(warmups=0, samples=2)
WAIT_S = 120
EPSILON = 2.0**-52

numbers = arrays.arrays(np.float64, st.integers(2, 40), elements=st.floats(-1e6, 1e6, allow_subnormal=False))


def raw(values):
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1)


def felt(expected, results, element="double"):
    """An area whose baseline gave these results on nudged inputs."""
    area = Area("0x1000", 0, expected.nbytes, element, lambda: magnitude_of(raw(expected), element))
    for moved in results:
        area.begin_draw()
        area.feel([(0, raw(expected), raw(moved))])
    return area


def judged(area, expected, actual, allowed=ROUNDING):
    return area.judge([(0, raw(expected), raw(actual))], allowed)


@pytest.mark.parametrize(("dtype", "element"), [(np.float64, "double"), (np.float32, "float")])
def test_a_nudge_is_a_few_units_in_the_last_place(dtype, element):
    values = np.array([1.0, -1.0, 1.999, 3e-5, -7e20] * 50, dtype)
    moved = nudge_elements(raw(values), element, np.random.default_rng(1)).view(dtype)
    steps = (moved.astype(float) - values.astype(float)) / np.spacing(np.abs(values)).astype(float)
    assert np.max(np.abs(steps)) <= LARGEST_NUDGE
    assert (moved != values).mean() > 0.9 and np.array_equal(np.sign(moved), np.sign(values))


def test_what_is_no_number_and_what_is_nearly_none_is_not_nudged():
    largest = np.finfo(np.float64).max
    values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310])
    assert nudge_elements(raw(values), "double", np.random.default_rng(1)).tobytes() == raw(values).tobytes()
    moved = nudge_elements(raw(np.full(100, largest)), "double", np.random.default_rng(1)).view(np.float64)
    assert np.all(np.isfinite(moved))
    odd = np.concatenate([raw(np.ones(3)), np.array([1, 2, 3], np.uint8)])
    assert nudge_elements(odd, "double", np.random.default_rng(1))[-3:].tolist() == [1, 2, 3]


def test_inputs_of_another_type_stay():
    source = MemoryLaunches()
    doubles, floats = np.linspace(1.0, 2.0, 64), np.linspace(1.0, 2.0, 64, dtype=np.float32)
    arguments = (
        np.array([X, Y], np.uint64).tobytes() + np.array([2.5]).tobytes() + np.array([2.5], np.float32).tobytes()
    )
    regions = [source.region(X, doubles, doubles), source.region(Y, floats, floats)]
    launch = make_launch(regions, (), arguments, (8, 8, 8, 4))
    facts = KernelFacts("test", {0: "double", 1: "float"}, scalars={2: "double", 3: "float"})
    images = PerturbedLaunches(source)
    other = nudged(images, launch, facts, "double", 1)
    assert other.regions[0].before != launch.regions[0].before and other.regions[1] == launch.regions[1]
    assert other.arguments[24:] == arguments[24:]
    assert nudged(images, launch, facts, "double", 1) == other, "the same each time"
    assert nudged(images, launch, facts, "double", 2) != other
    single = nudged(images, launch, facts, "float", 1)
    assert single.regions[0] == launch.regions[0] and single.arguments[:24] == arguments[:24]
    assert nudged(images, launch, KernelFacts("test", {0: "i64"}), "double", 1) is None


@given(expected=numbers, scale=st.floats(0, 1e30), seed=st.integers(0, 2**32))
def test_however_sensitive_half_of_the_digits_have_to_be_right(expected, scale, seed):
    random = np.random.default_rng(seed)
    area = felt(expected, [expected + scale * random.standard_normal(len(expected)) for _ in range(DRAWS)])
    largest = np.max(np.abs(expected))
    actual = expected.copy()
    actual[0] += max(4.0 * most_allowed("double") * largest, 1e-9 * abs(actual[0]) + largest * 1e-12)
    if actual[0] != expected[0] and largest > 0:
        assert isinstance(judged(area, expected, actual), Mismatch)


@given(expected=numbers, seed=st.integers(0, 2**32))
def test_what_no_nudge_moves_gets_no_room(expected, seed):
    random = np.random.default_rng(seed)
    actual = expected * (1 + 1e-8 * random.standard_normal(len(expected)))
    plain = Area("0x1000", 0, expected.nbytes, "double", lambda: magnitude_of(raw(expected), "double"))
    assert judged(felt(expected, [expected] * DRAWS), expected, actual) == judged(plain, expected, actual)


@given(expected=numbers, moved=st.floats(0, 1e-3), seed=st.integers(0, 2**32))
def test_sensitivity_never_refuses_what_the_type_allows(expected, moved, seed):
    random = np.random.default_rng(seed)
    actual = expected * (1 + 1e-12 * random.uniform(-1, 1, len(expected)))
    plain = Area("0x1000", 0, expected.nbytes, "double", lambda: magnitude_of(raw(expected), "double"))
    area = felt(expected, [expected + moved * random.standard_normal(len(expected)) for _ in range(DRAWS)])
    if judged(plain, expected, actual) is None:
        assert judged(area, expected, actual) is None


@given(expected=numbers, distance=st.floats(0, 1e-6), seed=st.integers(0, 2**32))
@example(expected=np.full(2, 1.8e-152), distance=1.8e-152, seed=0)  # their squares are subnormal
def test_more_is_never_granted_than_a_multiple_of_what_moved(expected, distance, seed):
    draws = np.random.default_rng(seed).uniform(-distance, distance, (DRAWS, len(expected)))
    results = expected + draws
    largest = float(np.max(np.abs(expected)))
    sensitivity = Sensitivity("double", expected.nbytes, largest)
    for each in results:
        sensitivity.begin_draw()
        sensitivity.add(0, raw(expected), raw(each))
    granted = sensitivity.allowed(0, len(expected))
    furthest = np.max(np.abs(results - expected), axis=0)
    near = [np.max(furthest[max(at - REACH, 0) : at + REACH + 1]) for at in range(len(expected))]
    assert np.all(granted <= MARGIN * np.array(near) * (1 + 1e-9))
    assert np.all(granted <= most_allowed("double") * largest)
    pieces = [sensitivity.allowed(8 * at, 1)[0] for at in range(len(expected))]
    assert np.allclose(pieces, granted, rtol=1e-9, atol=0)
    most = np.sqrt(len(expected)) * most_allowed("double") * largest
    assert sensitivity.norm_allowed() <= min(NORM_MARGIN * math.hypot(*furthest), most) * (1 + 1e-9)


@pytest.mark.parametrize("scale", [2.0**-900, 2.0**900])
def test_what_is_granted_follows_the_numbers_to_either_end_of_their_range(scale):
    expected = np.array([1.0, 1e-9, 0.0] * 20)
    moved = expected + 1e-11 * np.arange(60)
    usual, far = (Sensitivity("double", expected.nbytes, largest) for largest in (1.0, scale))
    for each, unit in ((usual, 1.0), (far, scale)):
        each.begin_draw()
        each.add(0, raw(unit * expected), raw(unit * moved))
    assert np.array_equal(far.allowed(0, 60), scale * usual.allowed(0, 60))
    assert far.norm_allowed() == scale * usual.norm_allowed() > 0


def test_what_nudges_move_is_granted_there_and_nowhere_else():
    expected = np.full(40, 1e-9)
    expected[39] = 1.0

    def off(element, distance):
        return expected + np.where(np.arange(40) == element, distance, 0.0)

    area = felt(expected, [off(10, 1e-11)] * DRAWS)
    found = judged(area, expected, off(10, 1e-11))
    assert found == Allowance("0x1000", "double", 1, pytest.approx(1e-11 / 1e-13, rel=1e-4))
    assert "1 double element(s), up to 100 times the tolerance" in str(found)
    assert isinstance(judged(area, expected, off(10 + REACH, 0.9e-11)), Allowance)
    assert judged(area, expected, off(10 + REACH, 1e-11)).count == 1
    assert judged(area, expected, off(10 + REACH + 1, 1e-12)).count == 1
    assert judged(area, expected, off(10, 5e-11)).count == 1
    assert judged(area, expected, off(10, np.nan)).count == 1


def test_all_elements_together_may_move_twice_as_far_as_nudges_move_them():
    expected = np.ones(10_000)
    area = felt(expected, [expected * (1 + 4e-10)] * DRAWS)
    found = judged(area, expected, expected * (1 + 7e-10))
    assert (found.count, "all double elements together" in str(found)) == (0, True)
    assert judged(area, expected, expected * (1 + 9e-10)).count == 10_000


def test_elements_that_jump_open_nothing_for_the_others():
    expected = np.ones(10_000)
    jumps = np.where(np.arange(10_000) < 2, 1.0, 0.0)
    area = felt(expected, [expected + jumps, expected - jumps] * DRAWS)
    assert judged(area, expected, expected * (1 + 9e-10)).count == 10_000
    assert judged(area, expected, expected + 0.5 * jumps).count == 2


def test_only_small_mismatches_under_default_tolerances_ask_for_the_sensitivity():
    expected = np.array([1.0, 1e-9])
    near, far = expected + np.array([0.0, 1e-11]), expected + np.array([0.0, 1e-7])

    def asks(actual, allowed, element="double"):
        area = Area("0x1000", 0, expected.nbytes, element, lambda: magnitude_of(raw(expected), element))
        judged(area, expected, actual, allowed)
        return area.unsettled

    assert asks(near, ROUNDING)
    assert not asks(far, ROUNDING)
    assert not asks(near, None), "bitwise"
    assert not asks(near, tolerance("double", Numerics.ROUNDING, 1e-12, None)), "the user gave a number"
    assert not asks(near, None, "i64")
    assert not asks(expected + np.array([0.0, np.inf]), ROUNDING)
    assert most_allowed("half") == most_allowed("i32") == 0.0


@pytest.fixture
def lane(tmp_path):
    lanes = []

    def opened(baseline="CANCELS", numerics=Numerics.ROUNDING, rtol=None):
        lane = DeviceLane(Setup("cpu", 60.0))
        rules = Rules(numerics, rtol, None, None, 2, 2.0, 60.0)
        lane.open(OpenSession(cancelling(), FACTS, rules, build(tmp_path, baseline)))
        lanes.append(lane)
        return lambda variant, plan=PLAN: lane.submit(
            Job(build(tmp_path, variant), LaunchConfiguration(), plan)
        ).result(WAIT_S)

    yield opened
    for each in lanes:
        each.close()


@needs_cpu_device
@pytest.mark.parametrize("perturbed", [False, True])
def test_an_honest_rewrite_of_a_cancelling_kernel_passes_and_it_is_said_why(lane, perturbed):
    measure = lane()
    plan = TimingPlan(warmups=0, samples=2, perturbed=perturbed)
    assert measure("CANCELS", plan).allowances == ()
    for _ in range(2):
        found = measure("CANCELS_FACTORED", plan)
        assert found.status is Status.OK, found.message
        (allowance,) = found.allowances
        assert allowance.where == f"{Y:#x}" and allowance.count > 0 and allowance.times > 1


@needs_cpu_device
@pytest.mark.parametrize("error", ["IN_FLOAT", "SHORT_OF_A_TERM", "SKIPPING_SMALL", "TO_A_CONSTANT", "STALE"])
def test_an_error_does_not_fit_into_the_room(lane, error):
    measure = lane()
    assert measure("CANCELS_FACTORED").status is Status.OK
    found = measure(f"CANCELS_{error}")
    assert found.status is Status.MISMATCH and found.mismatches and not found.allowances


@needs_cpu_device
@pytest.mark.parametrize(("numerics", "rtol"), [(Numerics.BITWISE, None), (Numerics.ROUNDING, 1e-9)])
def test_bitwise_and_given_tolerances_stay_what_they_are(lane, numerics, rtol):
    assert lane("CANCELS", numerics, rtol)("CANCELS_FACTORED").status is Status.MISMATCH


@needs_cpu_device
@pytest.mark.parametrize("baseline", ["CANCELS_FUSSY", "CANCELS_FUSSY_HANG"])
def test_a_kernel_that_does_not_survive_nudged_inputs_is_judged_without(lane, baseline):
    measure = lane(baseline)
    assert measure("CANCELS_FACTORED").status is Status.MISMATCH
    assert measure("CANCELS").status is Status.OK
