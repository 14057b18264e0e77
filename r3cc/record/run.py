"""One run of ``r3 record``: from the command to a finished recording."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from r3cc.devices.count import count_cuda_devices
from r3cc.errors import R3Error, UsageError
from r3cc.record.application import check_preloadable, find_application, find_program, loaded_libraries
from r3cc.record.cpu_device import binaries_with_modules, cpu_environment
from r3cc.record.hip import hip_environment
from r3cc.record.job import current_job
from r3cc.record.launcher import run_program
from r3cc.record.linked_modules import link_programs
from r3cc.record.options import RecordOptions, recorder_environment
from r3cc.record.plan import Plan, plan_launches
from r3cc.record.preload import preload
from r3cc.record.visible import visible_device
from r3cc.store import Store
from r3cc.store.model import Recording
from r3cc.store.recordings import Recordings

RECORDER = "libr3record.so"
VISIBLE = "CUDA_VISIBLE_DEVICES"
NO_GUIDE = "none"
"""Launches are chosen without an earlier recording."""


def choose_device(given: str | None) -> str:
    """The device to record on: the one given, else the first NVIDIA GPU. Raises R3Error when it is not there."""
    if given == "cpu" or (given or "").startswith("hip:"):
        return str(given)
    count = count_cuda_devices()
    if count == 0:
        raise R3Error(
            "this machine has no GPU that the CUDA driver can use; `r3 record --device cpu -- app` runs the "
            "kernels on the host"
        )
    device = given or "cuda:0"
    if not device.removeprefix("cuda:").isdecimal():
        raise UsageError(f"a program is recorded on one GPU, such as cuda:0, not on {device}")
    if int(device.removeprefix("cuda:")) >= count:
        raise R3Error(f"there is no device {device}: the CUDA driver offers cuda:0 to cuda:{count - 1}")
    return device


class Prepared(msgspec.Struct, frozen=True):
    """A recording that is about to begin."""

    recording: Recording
    environment: dict[str, str]
    """Variables under which the application's processes record."""
    leads: bool
    """Whether this `r3 record` keeps ``recording.json`` and sums up: of a job's ranks the first one does."""
    guide: Recording | None
    """The earlier recording by whose times launches are chosen."""
    problems: tuple[str, ...] = ()
    """What the user should know before it begins, a sentence each."""


def prepare(
    store: Store, command: Sequence[str], options: RecordOptions, given_device: str | None, guide: str | None
) -> Prepared:
    """Everything that can go wrong before the application runs. Raises R3Error; then nothing is left in the store."""
    return _prepare(store, command, options, choose_device(given_device), given_device, guide)


def prepare_elsewhere(
    store: Store, command: Sequence[str], options: RecordOptions, given_device: str | None, guide: str | None
) -> Prepared:
    """``prepare`` for an application that runs on another machine, whose GPUs this one need not have."""
    return _prepare(store, command, options, given_device or "cuda:0", given_device, guide)


def _prepare(
    store: Store,
    command: Sequence[str],
    options: RecordOptions,
    device: str,
    given_device: str | None,
    guide: str | None,
) -> Prepared:
    for program in (find_program(command[0]), application := find_application(command)):
        check_preloadable(program)
    problems: tuple[str, ...] = ()
    if device == "cpu":
        front = cpu_environment(application, store)
    elif device.startswith("hip:"):
        front = hip_environment(application, store, device)
    else:
        front = cuda_environment(given_device, os.environ.get(VISIBLE))
        linked = link_programs(binaries_with_modules(application, loaded_libraries(application)), store)
        front |= linked.environment
        problems = linked.problems
    recordings = Recordings(store.path / "recordings")
    job = current_job(os.environ)
    identifier, leads = (recordings.reserve(), True) if job is None else recordings.join(job.name, job.rank)
    try:
        folder = store.recording_path(identifier)
        guided_by = choose_guide(store, command, options, guide, identifier)
        environment = recorder_environment(options, folder) | front
        if guided_by is not None:
            environment |= write_plan(plan_launches(store.kernel_counts(guided_by.id), options), folder)
        recording = Recording(
            id=identifier,
            command=tuple(command),
            start=datetime.now(UTC).isoformat(timespec="seconds"),
            wall_ns=0,
            host=platform.node(),
            device=device,
            exit_status=None,
            pid=os.getpid(),
            times_only=options.times_only,
        )
        if leads:
            recordings.write(recording)
    except BaseException:
        if leads:
            recordings.remove(identifier)
        raise
    return Prepared(recording, environment, leads, guided_by, problems)


def run(store: Store, command: Sequence[str], prepared: Prepared) -> Recording:
    """Run the command to its end. Raises R3Error when it can't be started, and never later."""
    recordings = Recordings(store.path / "recordings")
    recording = prepared.recording
    begin = time.monotonic_ns()
    try:
        status = run_program(find_program(command[0]), command, joined_environment(os.environ, prepared.environment))
    except BaseException:
        if prepared.leads and not any(store.recording_path(recording.id).glob("*.r3pack")):  # what was recorded is kept
            recordings.remove(recording.id)
        raise
    finished = msgspec.structs.replace(recording, wall_ns=time.monotonic_ns() - begin, exit_status=status)
    if prepared.leads:
        recordings.write(finished)
    return finished


def choose_guide(
    store: Store, command: Sequence[str], options: RecordOptions, given: str | None, recording: str
) -> Recording | None:
    """The earlier recording whose times say which launches stand for the rest.

    Without a given one that is the last before ``recording``, if it is a times-only one of the same command.
    """
    if options.times_only or given == NO_GUIDE:
        return None
    if given is not None:
        return store.recording(given)
    earlier = [each for each in store.recordings() if each.id < recording]
    fits = bool(earlier) and earlier[-1].times_only and earlier[-1].command == tuple(command)
    return earlier[-1] if fits else None


def write_plan(plan: Plan, folder: Path) -> dict[str, str]:
    """Write the plan for the recorder, which the variable returned names; ranks of a job all write the same."""
    file = folder / "plan.json"
    temporary = file.with_suffix(f".{os.getpid()}")
    temporary.write_bytes(msgspec.json.encode(plan))
    temporary.replace(file)
    return {"R3_RECORD_PLAN": str(file)}


def cuda_environment(given_device: str | None, visible: str | None) -> dict[str, str]:
    """Variables that bring the driver's recorder into the program, and show it the given GPU only, if there is one.

    ``visible`` is the CUDA_VISIBLE_DEVICES under which the device was numbered. Raises UsageError where it shows fewer.
    """
    recorder = preload(RECORDER)
    return recorder if given_device is None else recorder | visible_device(given_device, VISIBLE, visible)


def joined_environment(own: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """``own`` with ``added``; what the user preloads stays, behind ours."""
    preload = [added["LD_PRELOAD"], *filter(None, [own.get("LD_PRELOAD")])]
    return dict(own) | dict(added) | {"LD_PRELOAD": ":".join(preload)}
