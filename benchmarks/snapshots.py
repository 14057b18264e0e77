"""How fast a launch's memory goes into the store, against a plain copy to the host and a plain write to disk.

And what further launches over the same memory cost, against reading it three times where it lies.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

from benchmarks.common import PROGRAMS, Options, build, parse_options, record_command, report, run
from r3cc.record.summary import summarise
from r3cc.store import Store

MEBI = 1 << 20
CONTENTS = ("noise", "smooth")
IMAGES = 2
"""A launch that changes everything stores its memory before and after."""
MANY = 100
PASSES = 3
"""A snapshot of known memory reads it where it lies: for content, for pointers, and for changes after the launch."""


def main() -> None:
    options = parse_options(__doc__ or "")
    program = build(PROGRAMS / "touch_memory.cu", options)
    megabytes = 32 if options.quick else (256 if options.device == "cpu" else 2048)
    results = {content: _measure(options, program, megabytes, content) for content in CONTENTS}
    rows = [("captured", f"{megabytes} MiB before, {megabytes} MiB after one launch")]
    for content, found in results.items():
        rows += [
            (f"{content}: snapshot", f"{found['snapshot_bytes_per_s'] / 1e9:.3g} GB/s of device memory"),
            (f"{content}: copy to the host", f"{found['copy_bytes_per_s'] / 1e9:.3g} GB/s"),
            (f"{content}: write to disk", f"{found['disk_bytes_per_s'] / 1e9:.3g} GB/s"),
            (f"{content}: stored", f"{found['stored_bytes'] / found['captured_bytes']:.2f} of what was captured"),
            (f"{content}: floor", f"{found['floor_s']:.3g} s; taken {found['snapshot_s']:.3g} s"),
        ]
    shared = _measure_shared(options, megabytes)
    rows += [
        ("shared table", f"{megabytes} MiB, read by every launch"),
        ("shared table: one launch", f"{shared['one_s'] * 1e3:.4g} ms"),
        (f"shared table: {MANY} launches", f"{shared['many_s'] * 1e3:.4g} ms, {shared['ratio']:.3g} times one"),
        (
            "shared table: a further launch",
            f"{shared['further_s'] * 1e3:.3g} ms; floor {shared['floor_s'] * 1e3:.3g} ms",
        ),
        ("shared table: copied to the host", f"{shared['copied_bytes'] / MEBI:.0f} MiB for {MANY} launches"),
    ]
    report(options, "snapshots", {**results, "shared": shared}, rows)


def _measure_shared(options: Options, megabytes: int) -> dict[str, Any]:
    """Floor of a further launch: plain reads of the table where it lies."""
    program = build(PROGRAMS / "shared_tables.cu", options)
    store = options.out / "snapshot-store-shared"
    spent = {}
    for launches in (1, MANY):
        shutil.rmtree(store, ignore_errors=True)
        quota = ("--launches", str(launches), "--every", "1", "--held-out", "0", "--quota", "64G")
        command = record_command(store, options.device, "--kernels", "look_up", *quota)
        _copy, read = map(float, run([*command, "--", program, str(megabytes), str(MANY)]).split()[-2:])
        with Store.open(store) as opened:
            recording = opened.recording().id
            summary = summarise(opened, recording)
            copied = sum(end.copied_bytes for end in opened.ends(recording))
        if summary.recorded != launches:
            raise SystemExit(f"expected {launches} recorded launches, found {summary.recorded}")
        spent[launches] = summary.recording_ns / 1e9
    shutil.rmtree(store)
    return {
        "one_s": spent[1],
        "many_s": spent[MANY],
        "ratio": spent[MANY] / spent[1],
        "further_s": (spent[MANY] - spent[1]) / (MANY - 1),
        "floor_s": PASSES * megabytes * MEBI / read,
        "copied_bytes": copied,
    }


def _measure(options: Options, program: Path, megabytes: int, content: str) -> dict[str, Any]:
    """Floor: the copies to the host and the write of the stored bytes, one after the other."""
    store = options.out / f"snapshot-store-{content}"
    shutil.rmtree(store, ignore_errors=True)
    command = record_command(
        store, options.device, "--kernels", "touch", "--launches", "1", "--held-out", "0", "--quota", "64G"
    )
    copy = float(run([*command, "--", program, str(megabytes), content]).split()[-1])
    with Store.open(store) as opened:
        summary = summarise(opened, opened.recording().id)
    if summary.recorded != 1:
        raise SystemExit(f"expected one recorded launch, found {summary.recorded}; see `r3 ls --store {store}`")
    captured = IMAGES * megabytes * MEBI
    disk = _disk_bytes_per_s(store, min(summary.bytes, 512 * MEBI))
    seconds = summary.recording_ns / 1e9
    shutil.rmtree(store)
    return {
        "captured_bytes": captured,
        "stored_bytes": summary.bytes,
        "snapshot_s": seconds,
        "snapshot_bytes_per_s": captured / seconds,
        "copy_bytes_per_s": copy,
        "disk_bytes_per_s": disk,
        "floor_s": captured / copy + summary.bytes / disk,
    }


def _disk_bytes_per_s(folder: Path, size: int) -> float:
    """Plain writes of 4 MiB, as the recorder makes them: into the page cache, not waited for."""
    block = os.urandom(4 * MEBI)
    path = folder / "disk-probe"
    begin = time.perf_counter()
    with path.open("wb", buffering=0) as file:
        for _ in range(max(1, size // len(block))):
            file.write(block)
    spent = time.perf_counter() - begin
    written = path.stat().st_size
    path.unlink()
    return written / spent


if __name__ == "__main__":
    main()
