"""Perturbed inputs: what remembers the recorded data is found out, what computes is not."""

import numpy as np
import pytest

from r3cc.farm.device_lane import DeviceLane
from r3cc.farm.device_worker import OpenSession, Setup
from r3cc.replay.facts import KernelFacts
from r3cc.replay.model import LaunchConfiguration, Numerics, Status, TimingPlan
from r3cc.replay.perturbed import LARGEST_CHANGE, PerturbedLaunches, perturb_elements
from r3cc.replay.session import Job, Rules
from tests.replay.cpu_kernels import FACTS, X, Y, build, needs_cpu_device, recorded
from tests.replay.launches import MemoryLaunches, make_launch

RECORDED = TimingPlan(warmups=0, samples=2)
PERTURBED = TimingPlan(warmups=0, samples=2, perturbed=True)
WAIT_S = 120


def raw(values):
    return np.ascontiguousarray(values).view(np.uint8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_values_change_a_little_and_keep_sign_zero_and_what_is_no_number(dtype):
    element = {8: "double", 4: "float", 2: "half"}[np.dtype(dtype).itemsize]
    values = np.array([0.0, -0.0, 1.5, -3.0, np.inf, -np.inf, np.nan, 100.0], dtype)
    changed = perturb_elements(raw(values), element, np.random.default_rng(1)).view(dtype)
    special = [0, 1, 4, 5, 6]
    assert raw(changed[special]).tobytes() == raw(values[special]).tobytes()
    others = [2, 3, 7]
    assert np.all(changed[others] != values[others])
    assert np.allclose(changed[others].astype(float), values[others].astype(float), rtol=2 * LARGEST_CHANGE)


def test_sorted_values_stay_sorted_and_a_rest_of_bytes_stays():
    values = np.linspace(1.0, 1.1, 1000)
    rest = np.array([1, 2, 3], np.uint8)
    changed = perturb_elements(np.concatenate([raw(values), rest]), "double", np.random.default_rng(1))
    assert changed[-3:].tolist() == [1, 2, 3]
    assert np.all(np.diff(changed[:-3].view(np.float64)) >= 0) and np.any(changed[:-3] != raw(values))
    falling = perturb_elements(raw(values[::-1].copy()), "double", np.random.default_rng(1)).view(np.float64)
    assert np.all(np.diff(falling) <= 0)


@pytest.mark.parametrize("last", [2.0, 0.5])
def test_whether_a_large_array_is_sorted_is_seen_all_over_it(last):
    values = np.append(np.linspace(1.0, 1.1, 100_000), last)
    changed = perturb_elements(raw(values), "double", np.random.default_rng(1)).view(np.float64)
    assert bool(np.all(np.diff(changed) >= 0)) is (last == 2.0)
    assert np.all(changed != values) and np.allclose(changed, values, rtol=2 * LARGEST_CHANGE)
    assert len(np.unique(changed / values)) > 0.99 * len(values), "pieces differ from one another"


def test_only_what_is_known_to_be_floating_point_changes():
    source = MemoryLaunches()
    numbers, indices = np.linspace(1.0, 2.0, 10), np.arange(10)
    arguments = np.array([X, Y], np.uint64).tobytes() + np.array([2.5]).tobytes() + np.array([7], np.int64).tobytes()
    regions = [source.region(X, numbers, numbers), source.region(Y, indices, indices)]
    launch = make_launch(regions, (), arguments, (8, 8, 8, 8))
    facts = KernelFacts("test", {0: "double", 1: "i64"}, scalars={2: "double"})
    made = PerturbedLaunches(source)
    other = made.perturb(launch, facts)
    assert other.arguments[:16] == arguments[:16] and other.arguments[24:] == arguments[24:]
    scalar = np.frombuffer(other.arguments, np.float64, 1, 16)[0]
    assert scalar != 2.5 and abs(scalar / 2.5 - 1) <= LARGEST_CHANGE
    assert made.image(other.regions[0].before, numbers.nbytes).tobytes() != raw(numbers).tobytes()
    assert other.regions[1] == launch.regions[1]
    assert made.perturb(launch, facts) == other, "the same each time"
    assert made.perturb(launch, KernelFacts("test", {1: "i64"})) is None


def test_memory_that_is_only_written_holds_noise():
    source = MemoryLaunches()
    counts, indices = np.zeros(64, np.int32), np.arange(64, dtype=np.int32)
    regions = [source.region(X, counts, counts), source.region(Y, indices, indices)]

    def perturbed(pointers, facts):
        arguments = np.array(pointers, np.uint64).tobytes()
        made = PerturbedLaunches(source)
        launch = make_launch(regions, (), arguments, (8,) * len(pointers))
        other = made.perturb(launch, facts)
        return other and [made.image(each.before, each.size).tobytes() for each in other.regions]

    facts = KernelFacts("test", {0: "i32", 1: "i32"}, written_only=frozenset({0}))
    found = perturbed([X, Y], facts)
    assert found[0] != raw(counts).tobytes() and found[1] == raw(indices).tobytes()
    assert perturbed([X, Y, X + 16], facts) is None, "another parameter may read it"


def test_arguments_that_the_code_takes_for_granted_keep_their_values():
    source = MemoryLaunches()
    numbers = np.linspace(1.0, 2.0, 64)
    arguments = np.array([2.0, 3.0]).tobytes() + np.array([X], np.uint64).tobytes()
    launch = make_launch([source.region(X, numbers, numbers)], (), arguments, (8, 8, 8))
    facts = KernelFacts("test", {2: "double"}, scalars={0: "double", 1: "double"})
    made = PerturbedLaunches(source)
    free, held = made.perturb(launch, facts), made.perturb(launch, facts, frozenset({1}))
    first, second = (np.frombuffer(each.arguments, np.float64, 2) for each in (free, held))
    assert (first != [2.0, 3.0]).all()
    assert second[0] != 2.0 and second[1] == 3.0
    key = held.regions[0].before
    assert (np.frombuffer(made.image(key, numbers.nbytes), np.float64) != numbers).any()
    made.forget()
    with pytest.raises(KeyError):
        made.image(key, numbers.nbytes)


@pytest.fixture
def lane(tmp_path):
    lanes = []

    def opened(baseline, launches=1):
        lane = DeviceLane(Setup("cpu", 60.0))
        rules = Rules(Numerics.ROUNDING, None, None, None, 2, 2.0, 60.0)
        lane.open(OpenSession(recorded(launches), FACTS, rules, build(tmp_path, baseline)))
        lanes.append(lane)
        return lambda variant, plan: lane.submit(Job(build(tmp_path, variant), LaunchConfiguration(), plan)).result(
            WAIT_S
        )

    yield opened
    for each in lanes:
        each.close()


@needs_cpu_device
def test_a_candidate_that_remembers_the_recorded_result_is_a_mismatch(lane):
    measure = lane("RIGHT")
    assert measure("REMEMBERS", RECORDED).status is Status.OK
    found = measure("REMEMBERS", PERTURBED)
    assert found.status is Status.MISMATCH and "perturbed inputs" in found.message
    assert found.mismatches[0].where.startswith(f"{Y:#x}+")
    assert measure("REMEMBERS", RECORDED).status is Status.OK, "the recorded memory was not put back"


@needs_cpu_device
def test_what_computes_is_right_on_perturbed_inputs_too(lane):
    measure = lane("RIGHT", 2)
    for variant in ("RIGHT", "ROUNDED", "RIGHT"):
        found = measure(variant, PERTURBED)
        assert found.status is Status.OK, found.message
        assert found.launches == 2
    assert measure("WRONG", PERTURBED).status is Status.MISMATCH


@needs_cpu_device
@pytest.mark.parametrize("baseline", ["FUSSY", "FUSSY_HANG"])
def test_a_kernel_that_does_not_survive_perturbed_inputs_is_judged_without(lane, baseline):
    measure = lane(baseline)
    for _ in range(2):
        found = measure("RIGHT", PERTURBED)
        assert found.status is Status.OK, found.message
