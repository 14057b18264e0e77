"""What a bench found: the value behind its table and its JSON, with the differences explained."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import msgspec
from rich.table import Table
from rich.text import Text

from r3cc.apply.bench import ArmTimes, Benchmark
from r3cc.apply.forecast import Forecast
from r3cc.apply.tuned_binary import TunedProgram
from r3cc.replay.model import Interval
from r3cc.report.search import CPU_HEADING
from r3cc.report.table import duration
from r3cc.store.demangle import label

Verdict = Literal["faster", "slower", "no difference", "undecided"]
TUNED = "tuned"
FEW_RUNS = 6
"""Fewer samples do not bound a median with 95 % confidence."""
LISTED = 5


class BenchReport(msgspec.Struct, frozen=True):
    """Application-level times, the kernel-level forecast beside them, and what explains their difference."""

    device: str
    """``cpu`` for the cpu device; empty where commands chose it themselves."""
    heading: str | None
    benchmark: Benchmark
    forecast: Forecast | None
    program: TunedProgram | None
    verdict: Verdict
    """Of the tuned command: its whole interval lies on one side of 1, or not; undecided below six runs."""
    explanation: tuple[str, ...]


def bench_report(
    device: str, benchmark: Benchmark, forecast: Forecast | None, program: TunedProgram | None
) -> BenchReport:
    """The report of a bench."""
    tuned = benchmark.arm(TUNED)
    return BenchReport(
        device=device,
        heading=CPU_HEADING if device == "cpu" else None,
        benchmark=benchmark,
        forecast=forecast,
        program=program,
        verdict=_verdict(tuned.speedup),
        explanation=tuple(_explanation(tuned, forecast, program)),
    )


def arm_table(report: BenchReport) -> Table:
    """One row a command."""
    table = Table(box=None, pad_edge=False)
    table.add_column("run", no_wrap=True)
    for column in ("time", "speedup over plain"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("command", overflow="fold")
    for number, arm in enumerate(report.benchmark.arms):
        gain = "" if number == 0 else interval_text(arm.speedup)
        table.add_row(arm.name, duration(arm.time_ns), gain, Text(arm.command))
    return table


def lines(report: BenchReport) -> Iterator[str]:
    """What stands below the table."""
    yield f"application: {report.verdict}, {interval_text(report.benchmark.arm(TUNED).speedup)} measured"
    if report.forecast is not None:
        yield f"kernels: {interval_text(report.forecast.device_speedup)} less device time by the profile"
        yield f"forecast: {interval_text(report.forecast.speedup)} for the application"
    yield from report.explanation


def interval_text(value: Interval) -> str:
    """``1.23x [1.20, 1.25] n=61``."""
    return f"{value.median:.3f}x [{value.low:.3f}, {value.high:.3f}] n={value.samples}"


def _verdict(speedup: Interval) -> Verdict:
    if speedup.samples < FEW_RUNS:
        return "undecided"
    if speedup.low > 1:
        return "faster"
    return "slower" if speedup.high < 1 else "no difference"


def _explanation(tuned: ArmTimes, forecast: Forecast | None, program: TunedProgram | None) -> Iterator[str]:
    if tuned.speedup.samples < FEW_RUNS:
        yield f"{tuned.speedup.samples} runs bound no median: the interval is that of all runs (--runs takes more)"
    if program is not None:
        yield from _about_program(program)
    if forecast is None:
        yield "no forecast: there is no profile with a recording to hold it against (--profile, --store)"
        return
    yield from _about_shares(forecast)
    yield from _about_coverage(forecast)
    yield _comparison(tuned.speedup, forecast.speedup)


def _about_program(program: TunedProgram) -> Iterator[str]:
    if not program.tuned:
        yield f"{program.path} has no tuned kernel: build it with --r3-use"
    elif not program.same_profile:
        yield f"{program.path} was built with another profile than the one of the forecast"
    for name, why in list(program.not_tuned.items())[:LISTED]:
        yield f"{label(name)} of {program.path} is not tuned: {why}"


def _about_shares(forecast: Forecast) -> Iterator[str]:
    outside = 1 - forecast.device_share
    limit = f"{forecast.most:.3f}x" if math.isfinite(forecast.most) else "any speedup"
    yield (
        f"share of time: kernels are {forecast.device_share:.1%} of the plain run; the other {outside:.1%} (host code, "
        f"copies, launches, start-up) stay, so that kernels without any time would give {limit}"
    )
    if not forecast.same_command:
        yield (
            f"the recording {forecast.recording} ran with other arguments than the plain command: "
            "shares of time are those of the recorded run"
        )
    if forecast.launches:
        mean = forecast.device_ns / forecast.launches / 1000
        yield (
            f"launch overhead: {forecast.launches} launches of {mean:.4g} us on average, {forecast.short_share:.1%} of "
            "the device time in launches below 10 us, which launching hides"
        )


def _about_coverage(forecast: Forecast) -> Iterator[str]:
    for kernel in forecast.kernels:
        if kernel.coverage is not None and kernel.coverage.share < 1:
            yield (
                f"guard: {kernel.coverage.share:.1%} of the time of {label(kernel.demangled)} is in launches that "
                "its launch rule admits; the others run as the application asks"
            )


def _comparison(measured: Interval, expected: Interval) -> str:
    if measured.low <= expected.high and expected.low <= measured.high:
        return "the measured speedup agrees with the forecast: their intervals overlap"
    if measured.median < expected.median:
        return (
            "the measured speedup lies below the forecast: kernels that overlap with host code, copies or one another, "
            "and launches that wait for the host, give back less than their own time"
        )
    return (
        "the measured speedup lies above the forecast: launches that were not recorded gain more than the recorded "
        "ones, or the two programs differ in more than the profile"
    )
