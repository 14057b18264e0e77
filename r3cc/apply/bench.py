"""Whole commands against one another: the application as a user runs it, plain and tuned.

What is timed is the wall time of a command from its start to its end. Commands run in turn (A B A B …, one round of all
of them a sample), so that a drift of clocks and temperature hits all alike; a first round warms caches and is not
counted. Every run's output is checked, and a run that fails, or fails its check, ends the bench.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from r3cc.errors import R3Error
from r3cc.replay.model import Interval
from r3cc.replay.statistics import interval

SHELL = "/bin/sh"
REFERENCE_VARIABLE = "R3_BENCH_REFERENCE"
ARM_VARIABLE = "R3_BENCH_ARM"
GRACE_S = 5.0
"""Time that an interrupted command has to end by itself."""


class Arm(msgspec.Struct, frozen=True):
    """A command that is timed."""

    name: str
    """``plain``, ``tuned`` or ``nvcc``."""
    command: str
    """For the shell."""
    environment: Mapping[str, str] = {}
    """Variables on top of the caller's."""


class BenchPlan(msgspec.Struct, frozen=True):
    """How arms are run."""

    arms: tuple[Arm, ...]
    """The plain one first."""
    runs: int
    check: str | None = None
    """Command for the shell that judges a run: its standard input is the run's standard output."""
    timeout_s: float | None = None
    """Time that one run may take."""


class ArmTimes(msgspec.Struct, frozen=True):
    """What one arm's runs took."""

    name: str
    command: str
    wall_ns: tuple[int, ...]
    time_ns: Interval
    speedup: Interval
    """Plain over this arm's time, round by round; 1 for the plain arm itself."""


class Benchmark(msgspec.Struct, frozen=True):
    """Every arm's times, in the order of the plan, and whether outputs were checked."""

    arms: tuple[ArmTimes, ...]
    check: str | None

    def arm(self, name: str) -> ArmTimes:
        """The arm of that name, which has to be there."""
        return next(arm for arm in self.arms if arm.name == name)


Heard = Callable[[int, Arm, int], None]
"""Hears of each run: its round (0 is the warm-up), the arm, the wall time in nanoseconds."""


def run_bench(plan: BenchPlan, heard: Heard) -> Benchmark:
    """Run the plan. Raises R3Error for a run that fails, takes too long, or whose check fails."""
    with tempfile.TemporaryDirectory(prefix="r3-bench-") as folder:
        runner = _Runner(plan, Path(folder))
        times: dict[str, list[int]] = {arm.name: [] for arm in plan.arms}
        for number in range(plan.runs + 1):
            for arm in plan.arms:
                taken = runner.run(arm)
                heard(number, arm, taken)
                if number > 0:
                    times[arm.name].append(taken)
    plain = times[plan.arms[0].name]
    return Benchmark(tuple(_times(arm, plain, times[arm.name]) for arm in plan.arms), plan.check)


def _times(arm: Arm, plain: Sequence[int], own: Sequence[int]) -> ArmTimes:
    ratios = [reference / taken for reference, taken in zip(plain, own, strict=True)]
    return ArmTimes(arm.name, arm.command, tuple(own), interval(own), interval(ratios))


class _Runner:
    def __init__(self, plan: BenchPlan, folder: Path) -> None:
        self._plan = plan
        self._folder = folder
        self._reference = folder / "reference"

    def run(self, arm: Arm) -> int:
        """One run's wall time in nanoseconds, once its output has been checked."""
        output = self._folder / "output"
        with output.open("wb") as file:
            begin = time.monotonic_ns()
            status = self._status(arm, file.fileno())
            taken = time.monotonic_ns() - begin
        if status != 0:
            raise R3Error(f"the {arm.name} command `{arm.command}` {_ending(status)}{_last_line(output)}")
        if not self._reference.exists():
            output.rename(self._reference)
            output = self._reference
        if self._plan.check is not None:
            self._check(arm, self._plan.check, output)
        return taken

    def _status(self, arm: Arm, output: int) -> int:
        process = subprocess.Popen(
            [SHELL, "-c", arm.command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            env=os.environ | dict(arm.environment),
            start_new_session=True,  # so that it can be ended with all that it has started
        )
        try:
            return process.wait(self._plan.timeout_s)
        except subprocess.TimeoutExpired:
            _end(process)
            raise R3Error(
                f"the {arm.name} command `{arm.command}` did not end within {self._plan.timeout_s:g} s"
            ) from None
        except BaseException:
            _ask_to_end(process)
            raise

    def _check(self, arm: Arm, check: str, output: Path) -> None:
        variables = {ARM_VARIABLE: arm.name, REFERENCE_VARIABLE: str(self._reference)}
        with output.open("rb") as file:
            done = subprocess.run(
                [SHELL, "-c", check], stdin=file, capture_output=True, env=os.environ | variables, check=False
            )
        if done.returncode != 0:
            said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
            why = f": {said[-1]}" if said else ""
            raise R3Error(f"the check `{check}` refuses the output of the {arm.name} command `{arm.command}`{why}")


def _ask_to_end(process: subprocess.Popen[bytes]) -> None:
    """End a command's whole session; what does not listen is killed."""
    with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(GRACE_S)
    _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ending(status: int) -> str:
    return f"was ended by signal {-status}" if status < 0 else f"exited with status {status}"


def _last_line(output: Path) -> str:
    lines = output.read_bytes()[-4096:].decode(errors="replace").strip().splitlines()
    return f"; its last line is: {lines[-1]}" if lines else ""
