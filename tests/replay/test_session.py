from contextlib import nullcontext

import pytest

from r3cc.devices import open_device
from r3cc.devices.base import OutOfDeviceMemory
from r3cc.replay.model import L2State, LaunchConfiguration, Numerics, Race, Status, TimingPlan
from r3cc.replay.session import Job, ReplaySession, Rules
from tests.replay.cpu_kernels import FACTS, X, Y, build, needs_cpu_device, recorded

pytestmark = needs_cpu_device
PLAN = TimingPlan(warmups=1, samples=5)
AS_RECORDED = LaunchConfiguration()


class NoWatch:
    def stage(self, stage, seconds):
        return nullcontext()


@pytest.fixture
def device():
    opened = open_device("cpu")
    yield opened
    opened.close()


@pytest.fixture
def open_session(device, tmp_path):
    def opened(source, baseline="RIGHT", numerics=Numerics.ROUNDING, probes=3):
        rules = Rules(numerics, None, None, None, probes, 10.0, 60.0)
        session = ReplaySession(device, source, FACTS, rules, build(tmp_path, baseline), NoWatch())
        session.probe()
        return session

    return opened


def measure(session, folder, variant, launch=AS_RECORDED, plan=PLAN):
    return session.measure(Job(build(folder, variant), launch, plan))


def test_the_baseline_itself_is_ok_and_timed(open_session, tmp_path):
    measured = measure(open_session(recorded(2)), tmp_path, "RIGHT")
    assert measured.status is Status.OK, measured.message
    assert measured.launches == 2
    assert measured.ratio.samples == 5
    assert measured.time_ns.low <= measured.time_ns.median <= measured.time_ns.high
    assert {"load", "restore", "launch", "check"} <= measured.phases_ns.keys()


def test_a_plan_may_name_the_cache_state_to_time_in(open_session, tmp_path):
    warm = TimingPlan(warmups=0, samples=2, l2=L2State.WARM)
    measured = measure(open_session(recorded()), tmp_path, "RIGHT", plan=warm)
    assert (measured.status, measured.l2) == (Status.OK, L2State.WARM)


def test_a_wrong_value_is_a_mismatch_that_says_where(open_session, tmp_path):
    measured = measure(open_session(recorded()), tmp_path, "WRONG")
    assert measured.status is Status.MISMATCH
    (found,) = measured.mismatches
    assert (found.where, found.element, found.count) == (f"{Y:#x}+40", "double", 1)
    assert found.max_abs == pytest.approx(1.0)
    assert measured.ratio is None


def test_rounding_passes_unless_bitwise(open_session, tmp_path):
    assert measure(open_session(recorded()), tmp_path, "ROUNDED").status is Status.OK
    strict = open_session(recorded(), numerics=Numerics.BITWISE)
    assert measure(strict, tmp_path, "ROUNDED").status is Status.MISMATCH


def test_writing_behind_an_allocation_is_found(open_session, tmp_path):
    measured = measure(open_session(recorded()), tmp_path, "STRAY")
    assert measured.status is Status.MISMATCH
    assert any("outside every allocation" in found.where for found in measured.mismatches)


def test_zeroes_in_front_of_memory_can_be_read(open_session, tmp_path):
    session = open_session(recorded())
    assert measure(session, tmp_path, "PEEKS").status is Status.OK


def test_writing_in_front_of_memory_is_found(open_session, tmp_path):
    session = open_session(recorded())
    measured = measure(session, tmp_path, "STRAY_IN_FRONT")
    assert any("outside every allocation" in found.where for found in measured.mismatches)
    assert measure(session, tmp_path, "PEEKS").status is Status.OK


def test_writing_to_what_the_baseline_only_reads_is_found(open_session, tmp_path):
    measured = measure(open_session(recorded()), tmp_path, "WRITES_INPUT")
    assert any(found.where.startswith(f"{X:#x}+") for found in measured.mismatches)


def test_memory_is_restored_before_every_launch(open_session, tmp_path):
    session = open_session(recorded(2, "ACCUMULATE"), "ACCUMULATE")
    assert measure(session, tmp_path, "ACCUMULATE").status is Status.OK


def test_a_bad_candidate_leaves_nothing_to_the_next(open_session, tmp_path):
    session = open_session(recorded())
    for variant in ("WRITES_INPUT", "STRAY", "WRONG"):
        assert measure(session, tmp_path, variant).status is Status.MISMATCH
    assert measure(session, tmp_path, "RIGHT").status is Status.OK


def test_a_baseline_that_does_not_reproduce_the_recording_is_a_mismatch(open_session, tmp_path):
    session = open_session(recorded(), "WRONG")
    wrong = measure(session, tmp_path, "WRONG")
    assert wrong.status is Status.MISMATCH and "vary" not in wrong.message


def test_the_baselines_own_spread_is_allowed_and_no_more(open_session, tmp_path):
    session = open_session(recorded(), "RANDOM", probes=5)
    assert measure(session, tmp_path, "RANDOM").status is Status.OK
    wrong = measure(session, tmp_path, "WRONG")
    assert wrong.status is Status.MISMATCH and "own results vary from launch to launch" in wrong.message


def test_other_blocks_cover_the_recorded_threads(open_session, tmp_path):
    session = open_session(recorded())
    for block in ((32, 1, 1), (100, 1, 1), (1024, 1, 1)):
        assert measure(session, tmp_path, "RIGHT", LaunchConfiguration(block=block)).status is Status.OK


def test_a_grid_that_leaves_threads_out_is_a_mismatch(open_session, tmp_path):
    measured = measure(open_session(recorded()), tmp_path, "RIGHT", LaunchConfiguration(grid=(8, 1, 1)))
    assert measured.status is Status.MISMATCH


def test_an_illegal_block_is_rejected(open_session, tmp_path):
    measured = measure(open_session(recorded()), tmp_path, "RIGHT", LaunchConfiguration(block=(2048, 1, 1)))
    assert measured.status is Status.REJECTED


def test_a_hopeless_candidate_is_abandoned(open_session, tmp_path):
    plan = TimingPlan(warmups=0, samples=50, race=Race(best=1.0, noise=0.0, most=50))
    measured = measure(open_session(recorded()), tmp_path, "SLOW", plan=plan)
    assert measured.status is Status.OK
    assert measured.ratio.samples < 50 and "abandoned" in measured.message


def test_what_may_be_the_best_gets_more_samples_on_every_launch(open_session, tmp_path):
    plan = TimingPlan(warmups=0, samples=2, race=Race(best=1000.0, noise=0.0, most=8))
    measured = measure(open_session(recorded(2)), tmp_path, "RIGHT", plan=plan)
    assert measured.status is Status.OK and not measured.message
    assert measured.ratio.samples == 8 and measured.launches == 2


def test_what_is_no_code_object_is_a_launch_error(open_session, tmp_path):
    session = open_session(recorded())
    junk = tmp_path / "junk.so"
    junk.write_bytes(b"junk")
    assert session.measure(Job(junk, LaunchConfiguration(), PLAN)).status is Status.LAUNCH_ERROR


def test_what_is_too_large_to_be_perturbed_is_said_to_be(open_session, tmp_path, monkeypatch):
    plan = TimingPlan(warmups=1, samples=2, perturbed=True)
    assert measure(open_session(recorded()), tmp_path, "REMEMBERS", plan=plan).status is Status.MISMATCH
    monkeypatch.setattr("r3cc.replay.session.available_memory", lambda: 1 << 20)
    measured = measure(open_session(recorded()), tmp_path, "REMEMBERS", plan=plan)
    assert measured.status is Status.OK
    assert "not checked on perturbed inputs" in measured.message


def test_memory_that_does_not_fit_at_all_is_one_sentence(open_session, device, monkeypatch):
    def full(ranges):
        if ranges:
            raise OutOfDeviceMemory("cuMemCreate: out of memory")

    monkeypatch.setattr(device, "map", full)
    with pytest.raises(OutOfDeviceMemory, match=r"the launch's memory, 0\.00 GiB, does not fit on the device"):
        open_session(recorded())


def test_memory_that_does_not_fit_twice_is_checked_all_the_same(open_session, tmp_path, device, monkeypatch):
    monkeypatch.setattr(device, "free_memory", lambda: 0)
    session = open_session(recorded())
    assert measure(session, tmp_path, "RIGHT").status is Status.OK
    assert measure(session, tmp_path, "WRONG").status is Status.MISMATCH
