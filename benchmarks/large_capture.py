"""One launch over a large piece of device memory, recorded and replayed: time, and memory of the host."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np

from benchmarks.common import PROGRAMS, build, options_of, options_parser, record_command, report
from r3cc.devices.base import Range
from r3cc.record.summary import summarise
from r3cc.replay.content import Recorded, read_ahead
from r3cc.replay.launches import StoreLaunches
from r3cc.store import Store

MEBI = 1 << 20
DEFAULT_MEBIBYTES = 20 * 1024


class Cost(NamedTuple):
    """What a command took, its children included."""

    seconds: float
    peak_bytes: int
    """Largest memory of one of its processes."""


def main() -> None:
    parser = options_parser(__doc__ or "")
    parser.add_argument("--mebibytes", type=int, default=DEFAULT_MEBIBYTES, help="device memory of the launch")
    given = parser.parse_args()
    options = options_of(given)
    megabytes = 64 if options.quick else given.mebibytes
    program = build(PROGRAMS / "touch_memory.cu", options)
    store = options.out / "large-store"
    shutil.rmtree(store, ignore_errors=True)
    quota = ("--kernels", "touch", "--launches", "1", "--held-out", "0", "--quota", "64G")
    command = [*record_command(store, options.device, *quota), "--", str(program), str(megabytes), "distinct"]
    recorded = _cost(command)
    with Store.open(store) as opened:
        recording = opened.recording().id
        summary = summarise(opened, recording)
        source = StoreLaunches(store, opened.find_kernel("touch"), recording)
    if summary.recorded != 1:
        raise SystemExit(f"expected one recorded launch, found {summary.recorded}; see `r3 ls --store {store}`")
    read = _reading_time(source)
    replayed = _cost([*record_command(store, options.device)[:3], "replay", "touch", "--store", str(store)])
    rows = [
        ("captured", f"{megabytes} MiB before, {megabytes} MiB after one launch"),
        ("recorded in", f"{recorded.seconds:.3g} s, of which the snapshot took {summary.recording_ns / 1e9:.3g} s"),
        ("stored", f"{summary.bytes / MEBI:.0f} MiB"),
        ("program's memory on the host", f"at most {recorded.peak_bytes / MEBI:.0f} MiB"),
        ("replayed in", f"{replayed.seconds:.3g} s, of which reading both images once takes {read:.3g} s"),
        ("R3's memory on the host", f"at most {replayed.peak_bytes / MEBI:.0f} MiB"),
    ]
    found = {
        "record": recorded._asdict(),
        "replay": replayed._asdict(),
        "read_seconds": read,
        "stored_bytes": summary.bytes,
    }
    report(options, "large_capture", {"mebibytes": megabytes, **found}, rows)
    shutil.rmtree(store)


def _reading_time(source: StoreLaunches) -> float:
    """Seconds in which both images come out of the store, checked, window by window, and are dropped."""
    began = time.perf_counter()
    for region in source.launches()[0].launch.regions:
        for key in (region.before, region.after):
            image = Recorded(source, key, region.size)
            for _ in read_ahead(image, [Range(0, region.size)], lambda size: np.empty(size, np.uint8)):
                pass
    return time.perf_counter() - began


def _cost(command: list[str]) -> Cost:
    """Run to a successful end."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=sys.stderr) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed ({process.returncode})")
    return Cost(time.perf_counter() - began, usage.ru_maxrss * 1024)


if __name__ == "__main__":
    main()
