import os
import signal
import threading
import time

import pytest

from r3cc.errors import R3Error
from r3cc.farm.device_lane import DeviceLane
from r3cc.farm.device_worker import OpenSession, Setup
from r3cc.replay.model import LaunchConfiguration, Numerics, Status, TimingPlan
from r3cc.replay.session import Job, Rules
from tests.replay.cpu_kernels import FACTS, build, needs_cpu_device, recorded

pytestmark = needs_cpu_device
WAIT_S = 120


@pytest.fixture
def lane(tmp_path):
    opened = DeviceLane(Setup("cpu", 60.0))
    rules = Rules(Numerics.ROUNDING, None, None, None, 2, 1.0, 60.0)
    opened.open(OpenSession(recorded(), FACTS, rules, build(tmp_path, "RIGHT")))
    yield opened
    opened.close()


@pytest.fixture
def job(tmp_path):
    return lambda variant: Job(build(tmp_path, variant), LaunchConfiguration(), TimingPlan(warmups=0, samples=3))


def status(lane, job):
    return lane.submit(job).result(WAIT_S).status


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("HANG", Status.TIMEOUT),
        ("WILD", Status.DEVICE_FAULT),
        ("ABORT", Status.DEVICE_FAULT),
        ("STRAY", Status.MISMATCH),
    ],
)
def test_a_faulty_candidate_gets_its_status_and_the_lane_goes_on(lane, job, variant, expected):
    assert status(lane, job(variant)) is expected
    assert status(lane, job("RIGHT")) is Status.OK


def test_a_killed_worker_is_lost_and_replaced(lane, job):
    assert status(lane, job("RIGHT")) is Status.OK
    running = lane.submit(job("HANG"))
    first = lane.worker_pid
    time.sleep(0.3)
    os.kill(first, signal.SIGKILL)
    assert running.result(WAIT_S).status is Status.WORKER_LOST
    assert status(lane, job("RIGHT")) is Status.OK
    assert lane.worker_pid != first


def test_a_worker_killed_while_idle_costs_the_next_job_at_most(lane, job):
    assert status(lane, job("RIGHT")) is Status.OK
    os.kill(lane.worker_pid, signal.SIGKILL)
    assert status(lane, job("RIGHT")) in (Status.OK, Status.WORKER_LOST)
    assert status(lane, job("RIGHT")) is Status.OK


def test_a_device_that_is_not_there_is_one_sentence(tmp_path, job):
    lane = DeviceLane(Setup("cuda:99", 60.0))
    with pytest.raises(R3Error, match=r"NVIDIA|cuda"):
        lane.submit(job("RIGHT")).result(WAIT_S)
    lane.close()


def test_closing_while_a_kernel_hangs_does_not_wait_for_it(lane, job):
    hang, right = job("HANG"), job("RIGHT")
    assert status(lane, right) is Status.OK
    lane.submit(hang)
    waiting = lane.submit(right)
    closing = threading.Thread(target=lane.close)
    closing.start()
    closing.join(WAIT_S)
    assert not closing.is_alive()
    assert waiting.cancelled() or "closed" in str(waiting.exception(WAIT_S))


def test_a_baseline_that_faults_is_said_to(tmp_path, job):
    lane = DeviceLane(Setup("cpu", 60.0))
    rules = Rules(Numerics.ROUNDING, None, None, None, 2, 1.0, 60.0)
    lane.open(OpenSession(recorded(), FACTS, rules, build(tmp_path, "WILD")))
    measured = lane.submit(job("RIGHT")).result(WAIT_S)
    lane.close()
    assert measured.status is Status.DEVICE_FAULT
    assert "baseline" in measured.message
