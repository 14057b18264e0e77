"""`r3 record` with the recorder itself in front of a driver."""

from __future__ import annotations

import subprocess
import sys

from r3cc.toolchain.native import PREFIX_VARIABLE
from tests.python_path import python_path
from tests.record_runtime.bench import Bench


def record(bench: Bench, *options: str) -> str:
    """What `r3 record` says of a run."""
    prefix = str(bench.recorder.parents[2])
    environment = bench.environment(**{PREFIX_VARIABLE: prefix, "PYTHONPATH": python_path()})
    command = [sys.executable, "-c", "from r3cc.cli import main; main()", "record", "--store", "store", *options]
    done = subprocess.run(command, env=environment, cwd=bench.folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_run_is_summed_up(bench: Bench) -> None:
    said = record(bench, "--every", "5", "--", str(bench.programs.dynamic), "basic")
    assert "3 kernels, 60 launches seen, 12 recorded" in said
    assert "build it with" not in said


def test_times_guide_the_next_recording(bench: Bench) -> None:
    app = ("--", str(bench.programs.dynamic), "basic", "40")
    said = record(bench, "--times-only", *app)
    assert "3 kernels, 120 launches seen and timed" in said
    assert "without --times-only" in said
    said = record(bench, *app)
    assert "launches are chosen by the times of" in said
    store = bench.open(bench.folder / "store")
    for kernel in store.kernels():
        assert [(launch.ordinal, launch.held_out) for launch in store.launches(kernel)] == [
            (5, False),
            (15, True),
            (25, False),
            (35, False),
        ]
    assert "launches are chosen by the times" not in record(bench, *app)  # the last one has launches of its own


def test_without_a_guide(bench: Bench) -> None:
    app = ("--", str(bench.programs.dynamic), "basic", "40")
    record(bench, "--times-only", *app)
    assert "launches are chosen" not in record(bench, "--guide", "none", *app)
    times = bench.open(bench.folder / "store").recordings()[0].id
    assert f"launches are chosen by the times of {times}" in record(bench, "--guide", times, *app)


def test_a_program_without_notes_is_told_once_what_to_build_it_with(bench: Bench) -> None:
    said = record(bench, "--", str(bench.programs.dynamic), "foreign", "5")
    assert said.count("build it with r3-clang++") == 1
    assert "not recordable: 5 launches: no R3 note" in said
