"""A time that no kernel can have."""

from contextlib import nullcontext

import pytest

from r3cc.devices import open_device
from r3cc.replay import floor
from r3cc.replay.floor import WriteFloor, write_rate
from r3cc.replay.model import LaunchConfiguration, Numerics, Status, TimingPlan
from r3cc.replay.session import Job, ReplaySession, Rules
from tests.replay.cpu_kernels import COUNT, FACTS, build, needs_cpu_device, recorded

PLAN = TimingPlan(warmups=0, samples=2)
FINAL = TimingPlan(warmups=0, samples=2, held_out=True)


class NoWatch:
    def stage(self, stage, seconds):
        return nullcontext()


class RatedDevice:
    """Gives the rates that it is told, one after another."""

    def __init__(self, monkeypatch, *rates):
        self.rates = list(rates)
        monkeypatch.setattr(floor, "write_rate", lambda device: device.rates.pop(0))


def test_writing_takes_its_time(monkeypatch):
    assert WriteFloor(RatedDevice(monkeypatch, 10.0**12)).shortest_ns(10**9) == pytest.approx(10**6)
    assert WriteFloor(RatedDevice(monkeypatch, float("inf"))).shortest_ns(10**9) == 0.0


def test_a_rate_measured_while_others_use_the_device_does_not_stay(monkeypatch):
    writes = WriteFloor(RatedDevice(monkeypatch, 10.0**9, 10.0**12, 10.0**10))
    assert writes.shortest_ns(10**9) == pytest.approx(10**9)
    for _ in range(2):
        writes.measure_again()
        assert writes.shortest_ns(10**9) == pytest.approx(10**6)


@pytest.fixture
def session(tmp_path):
    device = open_device("cpu")
    rules = Rules(Numerics.ROUNDING, None, None, None, 2, 10.0, 60.0)
    session = ReplaySession(device, recorded(), FACTS, rules, build(tmp_path, "RIGHT"), NoWatch())
    session.probe()
    yield session
    device.close()


@needs_cpu_device
def test_a_launch_faster_than_its_writes_is_rejected_for_a_person_to_look_at(tmp_path, session, monkeypatch):
    second = COUNT * 8.0  # bytes: as if the device took so long for what changes
    monkeypatch.setattr(floor, "write_rate", lambda device: second)
    job = Job(build(tmp_path, "RIGHT"), LaunchConfiguration(), FINAL)
    found = session.measure(Job(job.code, LaunchConfiguration(), PLAN))
    assert found.status is Status.OK, "only what may win is doubted"
    found = session.measure(job)
    assert found.status is Status.REJECTED and found.message.startswith("too good")


@needs_cpu_device
def test_images_are_read_once_whatever_is_asked_of_a_candidate(tmp_path, session, monkeypatch):
    def read(*_):
        raise AssertionError("an image is read again")

    monkeypatch.setattr(type(recorded()), "read_part", read)
    found = session.measure(Job(build(tmp_path, "RIGHT"), LaunchConfiguration(), FINAL))
    assert found.status is Status.OK, found.message
    assert found.floor_ns > 0


@needs_cpu_device
def test_an_honest_launch_is_not_rejected_for_a_slow_moment(tmp_path, session, monkeypatch):
    assert write_rate(session._device) > 10**9
    rates = [COUNT * 8.0, write_rate(session._device)]
    monkeypatch.setattr(floor, "write_rate", lambda device: rates.pop(0))
    found = session.measure(Job(build(tmp_path, "RIGHT"), LaunchConfiguration(), FINAL))
    assert found.status is Status.OK, found.message
    assert 0 < found.floor_ns < 10**9
