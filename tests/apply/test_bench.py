"""Whole commands in turn: their order, their checks, and the forecast beside them. No test looks at a time."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from r3cc.apply import bench as bench_module
from r3cc.apply.bench import Arm, Benchmark, BenchPlan, run_bench
from r3cc.apply.coverage import Coverage, coverage, measured_share
from r3cc.apply.forecast import Forecast, KernelForecast, same_arguments
from r3cc.apply.profile import Guard, LaunchRule, Shape
from r3cc.apply.tuned_binary import TunedProgram
from r3cc.cli import r3
from r3cc.errors import R3Error
from r3cc.replay.model import Interval
from r3cc.report.bench import bench_report, lines
from r3cc.store.model import Kernel, Recording
from r3cc.store.model import Shape as RecordedShape
from tests.apply.test_profile import entry


def bench(*arguments: str) -> Result:
    return CliRunner().invoke(r3, ["bench", *arguments], prog_name="r3")


def test_commands_run_in_turn_after_a_round_that_is_not_counted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    arms = tuple(Arm(name, f"echo {name} >> {log}") for name in ("plain", "tuned", "nvcc"))
    heard: list[tuple[int, str]] = []
    found = run_bench(BenchPlan(arms, 2), lambda number, arm, taken: heard.append((number, arm.name)))
    assert log.read_text().split() == ["plain", "tuned", "nvcc"] * 3
    assert heard == [(number, name) for number in range(3) for name in ("plain", "tuned", "nvcc")]
    assert [len(arm.wall_ns) for arm in found.arms] == [2, 2, 2]
    assert found.arm("plain").speedup == Interval(1.0, 1.0, 1.0, 2)
    plain, tuned = found.arm("plain").wall_ns, found.arm("tuned").wall_ns
    assert found.arm("tuned").speedup.high == max(a / b for a, b in zip(plain, tuned, strict=True))


def test_the_json_has_every_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = bench("echo right", "echo right", "--runs", "3", "--json", "--check", 'cmp - "$R3_BENCH_REFERENCE"')
    assert done.exit_code == 0, done.output
    document: dict[str, Any] = json.loads(done.stdout)
    assert [arm["name"] for arm in document["benchmark"]["arms"]] == ["plain", "tuned"]
    assert all(len(arm["wall_ns"]) == 3 for arm in document["benchmark"]["arms"])
    assert document["forecast"] is None
    assert document["verdict"] == "undecided"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("echo right", "echo wrong", "--check", "grep -q right"), "the check `grep -q right` refuses the output of"),
        (("echo 1", "echo 2", "--check", 'cmp - "$R3_BENCH_REFERENCE"'), "of the tuned command `echo 2`"),
        (("true", "true", "--check", 'test "$R3_BENCH_ARM" = plain'), "of the tuned command `true`"),
        (("echo so far; exit 3", "true"), "exited with status 3; its last line is: so far"),
        (("true", "kill -9 $$"), "the tuned command `kill -9 $$` was ended by signal 9"),
        (("true", "sleep 60", "--timeout", "200ms"), "did not end within 0.2 s"),
    ],
)
def test_a_run_that_fails_fails_the_bench(
    arguments: tuple[str, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = bench(*arguments, "--runs", "1")
    assert (done.exit_code, done.stdout) == (1, "")
    assert sentence in done.stderr.splitlines()[-1]
    assert all(line.startswith("r3: ") for line in done.stderr.splitlines())


def test_bad_input_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert bench("true", "true", "--profile", "none.json").exit_code == 2
    done = bench("true", "true", "--device", "cpu")
    assert done.exit_code == 2
    assert "names no program that carries R3's IR" in done.stderr
    assert "only cpu can be asked for" in bench("true", "true", "--device", "cuda:0").stderr


KERNEL = Kernel(
    "m",
    "k",
    "k(int)",
    "cuda:0",
    30,
    1000,
    30,
    2,
    0.5,
    (RecordedShape((4, 1, 1), (128, 1, 1), 0, 10, 750), RecordedShape((9, 1, 1), (128, 1, 1), 0, 20, 250)),
    (),
)


def test_a_guard_covers_the_time_of_its_shapes() -> None:
    rule = LaunchRule((64, 1, 1), "derived", Guard((Shape((4, 1, 1), (128, 1, 1), 0),)))
    guarded = msgspec.structs.replace(entry(), launch=rule)
    assert coverage(guarded, KERNEL) == Coverage(0.75, False)
    assert coverage(entry(), KERNEL) == Coverage(1.0, False)
    assert coverage(guarded, msgspec.structs.replace(KERNEL, shapes=())) is None


def test_what_a_rule_leaves_as_it_is_is_in_the_ratio_already() -> None:
    """Twice as fast on shapes of 75 % of the time: measured on both, the ratio is 0.625, and speaks for all of it."""
    served, left = (Shape(grid, (128, 1, 1), 0) for grid in ((4, 1, 1), (9, 1, 1)))
    rule = LaunchRule((64, 1, 1), "derived", Guard((served,)))
    assert measured_share(rule, None, None, KERNEL, [served, left]) == 1.0
    assert measured_share(rule, None, None, KERNEL, [served]) == 0.75
    assert measured_share(None, None, None, KERNEL, [served]) == 1.0
    assert measured_share(rule, None, None, msgspec.structs.replace(KERNEL, shapes=()), [served]) is None


def test_launchers_and_build_folders_do_not_make_another_command() -> None:
    recording = Recording("id", ("build/app", "input.nml", "3"), "", 1, "host", "cuda:0", 0)
    assert same_arguments(recording, "srun -n 4 tuned/app input.nml 3")
    assert not same_arguments(recording, "tuned/app input.nml 4")
    assert not same_arguments(recording, "tuned/other input.nml 3")
    assert not same_arguments(recording, "'")


def expected(speedup: Interval, device_share: float = 0.5) -> Forecast:
    kernel = KernelForecast("k", "k(int)", 0.8, Interval(0.5, 0.4, 0.6, 61), Coverage(0.25, False), 0.25)
    return Forecast("id", "cuda:0", False, 1_000_000, 100, 0.2, device_share, (kernel,), speedup, speedup)


def measured(speedup: Interval) -> Benchmark:
    times = run_bench(BenchPlan((Arm("plain", "true"), Arm("tuned", "true")), 1), lambda *_: None)
    plain, tuned = times.arms
    return Benchmark((plain, msgspec.structs.replace(tuned, speedup=speedup)), None)


def test_differences_are_explained() -> None:
    def text(found: Interval, forecast: Interval) -> str:
        program = TunedProgram("tuned/app", ("k(int)",), {"other(int)": "changed"}, False)
        return "\n".join(lines(bench_report("", measured(found), expected(forecast), program)))

    below = text(Interval(1.0, 0.9, 1.1, 10), Interval(1.5, 1.4, 1.6, 61))
    assert "lies below the forecast" in below
    assert "other of tuned/app is not tuned: changed" in below
    assert "built with another profile" in below
    assert "kernels are 50.0% of the plain run" in below
    assert "would give 2.000x" in below
    assert "25.0% of the time of k is in launches" in below
    assert "ran with other arguments" in below
    assert "100 launches of 10 us on average, 20.0% of the device time in launches below 10 us" in below
    assert "agrees with the forecast" in text(Interval(1.45, 1.3, 1.6, 10), Interval(1.5, 1.4, 1.6, 61))
    assert "lies above the forecast" in text(Interval(2.0, 1.9, 2.1, 10), Interval(1.5, 1.4, 1.6, 61))


def test_a_verdict_needs_its_whole_interval_on_one_side() -> None:
    def verdict(low: float, high: float, samples: int = 10) -> str:
        return bench_report("", measured(Interval((low + high) / 2, low, high, samples)), None, None).verdict

    assert (verdict(1.01, 1.2), verdict(0.9, 0.99), verdict(0.99, 1.2)) == ("faster", "slower", "no difference")
    assert verdict(1.01, 1.2, samples=5) == "undecided"


def test_an_unknown_command_is_an_error() -> None:
    with pytest.raises(R3Error, match="exited with status 127"):
        run_bench(BenchPlan((Arm("plain", "no-such-program-of-ours"),), 1), lambda *_: None)


def test_an_interrupted_command_that_does_not_listen_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_module, "GRACE_S", 0.2)
    wait = subprocess.Popen.wait

    def interrupted(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        if timeout is not None:
            return wait(process, timeout)
        while not (tmp_path / "pid").exists():
            time.sleep(0.01)
        monkeypatch.setattr(subprocess.Popen, "wait", wait)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "wait", interrupted)
    command = f"trap '' TERM; echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; while :; do sleep 1; done"
    with pytest.raises(KeyboardInterrupt):
        run_bench(BenchPlan((Arm("plain", command),), 1), lambda *_: None)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_a_gpu_that_settings_name_is_for_other_verbs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r3.toml").write_text('device = "cuda:1"\n')
    assert bench("true", "true", "--runs", "1").exit_code == 0
    monkeypatch.setenv("R3_DEVICE", "cuda:0")
    assert bench("true", "true", "--runs", "1").exit_code == 0
    asked = bench("true", "true", "--device", "cuda:0")
    assert (asked.exit_code, "choose their GPU themselves" in asked.stderr) == (2, True)
    monkeypatch.setenv("R3_DEVICE", "cpu")
    assert "names no program that carries R3's IR" in bench("true", "true").stderr
