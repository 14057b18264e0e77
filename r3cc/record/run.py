"""One run of ``r3 record``: from the command to a finished recording."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from r3cc.errors import R3Error
from r3cc.record.application import check_preloadable, find_program
from r3cc.record.cpu_device import cpu_environment
from r3cc.record.gpu import count_cuda_devices
from r3cc.record.launcher import run_program
from r3cc.record.options import RecordOptions, recorder_environment
from r3cc.store import Store
from r3cc.store.model import Recording
from r3cc.store.recordings import Recordings
from r3cc.toolchain.native import native_library

RECORDER = "libr3record.so"


def choose_device(given: str | None) -> str:
    """The device to record on: the one given, else the first GPU. Raises R3Error when it is not there."""
    if given == "cpu":
        return given
    count = count_cuda_devices()
    if count == 0:
        raise R3Error(
            "this machine has no GPU that the CUDA driver can use; `r3 record --device cpu -- app` runs the "
            "kernels on the host"
        )
    device = given or "cuda:0"
    kind, _, number = device.partition(":")
    if kind != "cuda":
        raise R3Error(f"this R3 does not record on {device}; it records on cuda:N and cpu")
    if int(number) >= count:
        raise R3Error(f"there is no device {device}: the CUDA driver offers cuda:0 to cuda:{count - 1}")
    return device


def record(store: Store, command: Sequence[str], options: RecordOptions, given_device: str | None) -> Recording:
    """Run a command under the recorder until it ends. Raises R3Error before it runs, never after."""
    program = find_program(command[0])
    check_preloadable(program)
    device = choose_device(given_device)
    if device == "cpu":
        front = cpu_environment(program, store)
    else:
        front = cuda_environment(given_device, os.environ.get("CUDA_VISIBLE_DEVICES"))
    recordings = Recordings(store.path / "recordings")
    started = Recording(
        id=recordings.reserve(),
        command=tuple(command),
        start=datetime.now(UTC).isoformat(timespec="seconds"),
        wall_ns=0,
        host=platform.node(),
        device=device,
        exit_status=None,
        pid=os.getpid(),
    )
    try:
        recorder = recorder_environment(options, store.recording_path(started.id))
        recordings.write(started)
        begin = time.monotonic_ns()
        status = run_program(program, command, joined_environment(os.environ, recorder | front))
    except BaseException:
        if not any(store.recording_path(started.id).glob("*.r3pack")):  # what was recorded is kept
            recordings.remove(started.id)
        raise
    finished = msgspec.structs.replace(started, wall_ns=time.monotonic_ns() - begin, exit_status=status)
    recordings.write(finished)
    return finished


def cuda_environment(given_device: str | None, visible: str | None) -> dict[str, str]:
    """Variables that bring the driver's recorder into the program, and show it the given GPU only, if there is one.

    ``visible`` is the CUDA_VISIBLE_DEVICES under which the device was numbered.
    """
    preload = {"LD_PRELOAD": str(native_library(RECORDER))}
    if given_device is None:
        return preload
    number = int(given_device.removeprefix("cuda:"))
    return preload | {"CUDA_VISIBLE_DEVICES": visible.split(",")[number] if visible else str(number)}


def joined_environment(own: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """``own`` with ``added``; what the user preloads stays, behind ours."""
    preload = [added["LD_PRELOAD"], *filter(None, [own.get("LD_PRELOAD")])]
    return dict(own) | dict(added) | {"LD_PRELOAD": ":".join(preload)}
