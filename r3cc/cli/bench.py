"""``r3 bench``: the plain and the tuned application against one another, as whole commands."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from r3cc.apply.bench import Arm, BenchPlan, run_bench
from r3cc.apply.forecast import Forecast, forecast
from r3cc.apply.profile import Profile, read_profile
from r3cc.apply.tuned_binary import program_of, tuned_program
from r3cc.cli.options import DeviceName, Duration, json_option, recording_option, store_option
from r3cc.cli.output import human_time, print_json, print_table, say
from r3cc.errors import R3Error, UsageError
from r3cc.record.cpu_device import cpu_environment
from r3cc.report.bench import BenchReport, arm_table, bench_report, lines
from r3cc.store import Store
from r3cc.store.cache_use import CacheUse

NAMES = ("plain", "tuned", "nvcc")


@click.command()
@click.argument("plain", metavar="'PLAIN CMD'")
@click.argument("tuned", metavar="'TUNED CMD'")
@click.argument("nvcc", required=False, metavar="['NVCC CMD']")
@click.option("--runs", type=click.IntRange(min=1), default=10, show_default=True, help="Timed runs of each command.")
@click.option("--check", metavar="CMD", help="Gets each run's output on standard input; a failure fails the bench.")
@click.option("--timeout", "timeout_s", type=Duration(), help="Time that one run may take.  [default: no limit]")
@click.option(
    "--profile",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("tuned.r3.json"),
    show_default=True,
    help="Profile of the tuned build, for the forecast.",
)
@click.option("--device", type=DeviceName(), envvar="R3_DEVICE", help="`cpu` runs plain and tuned on the cpu device.")
@store_option
@recording_option
@json_option
def bench(
    plain: str,
    tuned: str,
    nvcc: str | None,
    runs: int,
    check: str | None,
    timeout_s: float | None,
    profile: Path,
    device: str | None,
    store: Path,
    recording: str | None,
    as_json: bool,
) -> None:
    """Time whole commands in turn (A B A B), after one round that is not counted.

    Each command is one argument, for the shell: launchers such as srun belong to it. CMD of --check decides whether an
    output is right: it gets the run's standard output on standard input, the name of the run (plain, tuned, nvcc) in
    R3_BENCH_ARM, and in R3_BENCH_REFERENCE a file with the first plain run's output. Exit status: 0 measured, 1 a run
    or its check failed, 2 usage.
    """
    commands = [command for command in (plain, tuned, nvcc) if command is not None]
    content = _profile(click.get_current_context(), profile)
    device = _device(click.get_current_context(), device)
    arms = tuple(_arm(name, command, device, store) for name, command in zip(NAMES, commands, strict=False))
    with closing(CacheUse(store / "cache")):  # which has what the cpu device runs
        found = run_bench(BenchPlan(arms, runs, check, timeout_s), _say_run)
    expected = _forecast(store, recording, content, plain, found.arm("plain").time_ns.median)
    report = bench_report(device or "", found, expected, tuned_program(tuned, profile))
    if as_json:
        print_json(report)
    else:
        print_bench(report)


def print_bench(report: BenchReport) -> None:
    """Print a bench as a table and what explains it."""
    if report.heading is not None:
        click.echo(f"{report.heading}\n")
    print_table(arm_table(report))
    click.echo()
    for line in lines(report):
        click.echo(line)


def _profile(ctx: click.Context, path: Path) -> Profile | None:
    """The profile at hand; only one that was named has to be there."""
    named = ctx.get_parameter_source("profile") is not click.core.ParameterSource.DEFAULT
    return read_profile(path) if named or path.exists() else None


def _device(ctx: click.Context, device: str | None) -> str | None:
    """``cpu`` or none: a GPU that settings name is for other verbs. Raises UsageError for one on the command line."""
    if device is None or device == "cpu":
        return device
    if ctx.get_parameter_source("device") is click.core.ParameterSource.COMMANDLINE:
        raise UsageError(f"--device {device}: commands choose their GPU themselves; only cpu can be asked for")
    return None


def _arm(name: str, command: str, device: str | None, store: Path) -> Arm:
    if device is None:
        return Arm(name, command)
    program = program_of(command)
    if program is None:
        raise UsageError(f"the command `{command}` names no program that carries R3's IR, which the cpu device runs")
    with Store.create(store) as opened:
        return Arm(name, command, cpu_environment(program, opened))


def _forecast(
    store: Path, recording: str | None, profile: Profile | None, plain: str, plain_ns: float
) -> Forecast | None:
    if profile is None:
        return None
    try:
        with Store.open(store) as opened:
            return forecast(opened, recording, profile, plain, plain_ns)
    except R3Error as error:
        say(f"no forecast: {error}")
        return None


def _say_run(number: int, arm: Arm, taken_ns: int) -> None:
    say(f"{f'round {number}' if number else 'warm-up'}: {arm.name} {human_time(taken_ns)}")
