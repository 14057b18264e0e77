"""The process that owns a device. It never compiles."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import numpy as np

from r3cc.devices import open_device
from r3cc.devices.base import PAGE, Device, DeviceError, DeviceUnavailable, Properties, Range
from r3cc.errors import R3Error
from r3cc.farm.process import Line, open_line
from r3cc.farm.turn import DeviceTurn
from r3cc.replay.facts import KernelFacts
from r3cc.replay.launches import LaunchSource
from r3cc.replay.model import Status
from r3cc.replay.session import Job, ReplaySession, Rules, status_of
from r3cc.replay.stages import Stage


class Setup(msgspec.Struct, frozen=True):
    """First message: the device to open."""

    device: str
    transfer_deadline_s: float


class OpenSession(msgspec.Struct, frozen=True):
    """Request: bring these launches and this baseline to the device. Answered by :class:`Ready` or :class:`Refused`."""

    source: LaunchSource
    facts: KernelFacts
    rules: Rules
    baseline: Path


class Probe(msgspec.Struct, frozen=True):
    """Request: replay the baseline, before the first job. Answered by :class:`Ready` or :class:`Refused`."""


class Ready(msgspec.Struct, frozen=True):
    """The device works; what was asked for is done."""

    properties: Properties
    readings: dict[str, int] = {}
    room: int = 0
    """Sessions like the open one that fit on the device beside it."""


class Refused(msgspec.Struct, frozen=True):
    """What was asked cannot be done. ``usage``: a person has to mend it."""

    status: Status
    message: str
    usage: bool


def main() -> None:
    """Answer requests until the supervisor is gone or the device is lost."""
    line = open_line(sys.argv)
    setup: Setup = line.receive()
    try:
        with line.stage(Stage.PREPARE, setup.transfer_deadline_s):
            device = open_device(setup.device)
            self_test(device)
    except (DeviceError, R3Error) as error:
        line.receive()
        line.answer(_refusal(error))
        return
    try:
        _serve(line, device)
    except EOFError:
        return


def _serve(line: Line, device: Device) -> None:
    session: ReplaySession | None = None
    turn = DeviceTurn(device.properties.identity)
    while True:
        request = line.receive()
        if isinstance(request, (OpenSession, Probe)):
            try:
                if isinstance(request, OpenSession):
                    session = _open(device, request, line)
                else:
                    assert session is not None, "a probe before its session"
                    with turn.taken(line):
                        session.probe()
            except (DeviceError, R3Error) as error:
                line.answer(_refusal(error))
                return
            line.answer(Ready(device.properties, device.readings(), session.room))
        elif isinstance(request, Job):
            assert session is not None, "a job before its session"
            with turn.taken(line):
                measured = session.measure(request)
            line.answer(measured)
            if measured.device_lost:
                return
        else:
            line.answer(Ready(device.properties, device.readings()))


def _open(device: Device, request: OpenSession, line: Line) -> ReplaySession:
    return ReplaySession(device, request.source, request.facts, request.rules, request.baseline, line)


def _refusal(error: DeviceError | R3Error) -> Refused:
    if isinstance(error, R3Error):
        return Refused(Status.WORKER_LOST, str(error), usage=True)
    return Refused(status_of(error), str(error), usage=isinstance(error, DeviceUnavailable))


def self_test(device: Device) -> None:
    """Fill, compare and read back a few pages: a device that cannot do that judges nobody.

    Raises :class:`DeviceUnavailable` if it errs.
    """
    size = 4 * PAGE
    left, right = device.allocate(size), device.allocate(size)
    for address in (left, right):
        device.fill(address, 0x5A, size)
    device.upload(right + 2 * PAGE, np.zeros(1, np.uint8))
    found = device.differences(left, right, size)
    content = device.download(right, size)
    if found != [Range(2 * PAGE, PAGE)] or content.count(0x5A) != size - 1:
        raise DeviceUnavailable(
            f"{device.properties.name} fails R3's self-test: it does not give back what was written"
        )
    device.release(left)
    device.release(right)
