"""A time that no kernel can have."""

from contextlib import nullcontext

import pytest

from r3cc.devices import open_device
from r3cc.replay.floor import shortest_ns, write_rate
from r3cc.replay.model import LaunchConfiguration, Numerics, Status, TimingPlan
from r3cc.replay.session import Job, ReplaySession, Rules
from tests.replay.cpu_kernels import COUNT, FACTS, build, needs_cpu_device, recorded

PLAN = TimingPlan(warmups=0, samples=2)
FINAL = TimingPlan(warmups=0, samples=2, held_out=True)


class NoWatch:
    def stage(self, stage, seconds):
        return nullcontext()


def test_writing_takes_its_time():
    assert shortest_ns(10**9, 10.0**12) == pytest.approx(10**6)
    assert shortest_ns(10**9, float("inf")) == 0.0


@needs_cpu_device
def test_a_launch_faster_than_its_writes_is_rejected_for_a_person_to_look_at(tmp_path):
    device = open_device("cpu")
    rules = Rules(Numerics.ROUNDING, None, None, None, 2, 10.0, 60.0)
    session = ReplaySession(device, recorded(), FACTS, rules, build(tmp_path, "RIGHT"), NoWatch())
    session.probe()
    job = Job(build(tmp_path, "RIGHT"), LaunchConfiguration(), FINAL)
    honest = session.measure(job)
    assert honest.status is Status.OK, honest.message
    assert write_rate(device) > 10**9
    session._write_rate = COUNT * 8.0  # as if the device took a second for what changes
    found = session.measure(Job(job.code, LaunchConfiguration(), PLAN))
    assert found.status is Status.OK, "only what may win is doubted"
    for case in session._cases:
        case.shortest_ns = None
    found = session.measure(job)
    assert found.status is Status.REJECTED and found.message.startswith("too good")
    device.close()
