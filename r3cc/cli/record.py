"""``r3 record``: run an application and keep launches of its kernels."""

from __future__ import annotations

import shlex
import signal
from contextlib import closing
from pathlib import Path

import click

from r3cc.cli.options import DeviceName, Size, store_option
from r3cc.cli.output import counted, human_bytes, human_time, on_store, say
from r3cc.record.options import RecordOptions, Snapshot
from r3cc.record.run import Prepared, prepare, prepare_elsewhere, run
from r3cc.record.summary import Summary, summarise
from r3cc.store import Store
from r3cc.store.cache_use import CacheUse
from r3cc.store.model import Recording

BUILD_WITH = (
    "build it with r3-clang++ (CMake: -DCMAKE_CXX_COMPILER=r3-clang++ -DCMAKE_CUDA_COMPILER=r3-clang++) "
    "so that its kernels' IR travels with it"
)


@click.command(context_settings={"allow_interspersed_args": False})
@store_option
@click.option("--kernels", metavar="REGEX", default="", help="Record kernels whose name matches.  [default: all]")
@click.option(
    "--launches", type=click.IntRange(0), default=3, show_default=True, help="Launches kept per kernel and shape."
)
@click.option(
    "--held-out", type=click.IntRange(0), default=1, show_default=True, help="Further ones that no search sees."
)
@click.option(
    "--skip", type=click.IntRange(0), default=0, show_default=True, help="First launches of a kernel to pass over."
)
@click.option(
    "--every",
    type=click.IntRange(1),
    metavar="N",
    help="Record every N-th launch of a kernel and shape.  [default: ever larger steps]",
)
@click.option(
    "--ranks",
    metavar="LIST",
    default="",
    help="MPI ranks that record (0,4-7), or `spread`: each kernel by one of them.  [default: all]",
)
@click.option("--times-only", is_flag=True, help="Take times of kernels and shapes, and record no launch.")
@click.option(
    "--guide",
    metavar="ID",
    help="Choose launches by the times of an earlier recording; `none`: by those of no one.  "
    "[default: the last one, if it is a times-only one of this command]",
)
@click.option("--foreign", is_flag=True, help="Record kernels that r3-clang++ did not build, too.")
@click.option(
    "--print-env", is_flag=True, help="Run nothing: print the variables under which APP records, for a job script."
)
@click.option(
    "--snapshot",
    type=click.Choice([kind.value for kind in Snapshot]),
    default=Snapshot.REACHABLE.value,
    show_default=True,
    help="Memory that a launch carries: what its arguments and globals reach, or all.",
)
@click.option("--quota", type=Size(), help="Stop recording at this size (20G).  [default: a quarter of the free disk]")
@click.option(
    "--device",
    type=DeviceName(),
    envvar="R3_DEVICE",
    help="cpu, cuda:N or hip:N.  [default: the application's NVIDIA GPU]",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- APP [ARGS]...")
def record(
    store: Path,
    kernels: str,
    launches: int,
    held_out: int,
    skip: int,
    every: int | None,
    ranks: str,
    times_only: bool,
    guide: str | None,
    foreign: bool,
    print_env: bool,
    snapshot: str,
    quota: int | None,
    device: str | None,
    command: tuple[str, ...],
) -> int:
    """Run APP, and keep launches of its kernels with the memory they ran on.

    Exits with the application's status; 128 + signal if one ended it.
    """
    options = RecordOptions(
        kernels, launches, held_out, skip, Snapshot(snapshot), quota, every, ranks, times_only, foreign
    )
    with Store.create(store) as opened, closing(CacheUse(opened.cache)):
        if print_env:
            print_environment(prepare_elsewhere(opened, command, options, device, guide))
            return 0
        prepared = prepare(opened, command, options, device, guide)
        for problem in prepared.problems:
            say(f"{problem}; they are recorded one by one")
        if prepared.guide is not None:
            say(f"launches are chosen by the times of {prepared.guide.id} (--guide none: without)")
        finished = run(opened, command, prepared)
        if prepared.leads:
            report(opened, store, finished)
    assert finished.exit_status is not None
    return finished.exit_status


def print_environment(prepared: Prepared) -> None:
    """Print the variables as a shell takes them, and on standard error how to use them."""
    for name, value in prepared.environment.items():
        behind = "${LD_PRELOAD:+:$LD_PRELOAD}" if name == "LD_PRELOAD" else ""
        click.echo(f"export {name}={shlex.quote(value)}{behind}")
    say(f"recording {prepared.recording.id}: processes that have these variables write to it")


def report(store: Store, path: Path, recording: Recording) -> None:
    """Say what was recorded, and what comes next."""
    summary = summarise(store, recording.id)
    say(f"recording {recording.id} of `{shlex.join(recording.command)}` on {recording.device}: {_ending(recording)}")
    if summary.kernels == 0:
        say(_nothing(summary, recording))
        return
    seen = f"{counted(summary.kernels, 'kernel')}, {counted(summary.launches, 'launch')} seen"
    size = f"{human_bytes(summary.bytes)} in {path}"
    if recording.times_only:
        say(f"{seen} and timed, {size}")
    else:
        say(f"{seen}, {summary.recorded} recorded, {size}; {_slow_down(summary)}")
    for reason, launches in summary.not_recordable:
        say(f"not recordable: {counted(launches, 'launch')}: {reason}")
    if not (summary.recorded or summary.not_recordable or recording.times_only):
        say("no launch was chosen: --kernels, --launches, --skip, --every and --ranks say which are recorded")
    if summary.incomplete:
        say(f"{summary.incomplete} of {summary.processes} processes were killed; what they had recorded is there")
    if summary.kernels_with_ir == 0:
        say(f"no kernel of {recording.command[0]} carries R3's note; {BUILD_WITH}")
    say(
        f"next: `{on_store('r3 ls', path)}`"
        + (", then `r3 record` without --times-only" if recording.times_only else "")
    )


def _ending(recording: Recording) -> str:
    status = recording.exit_status or 0
    by_signal = status - 128 in signal.valid_signals()  # 255 is an exit status: what exit(-1) gives
    how = f"ended by signal {status - 128}" if by_signal else f"exit status {status}"
    return f"{human_time(recording.wall_ns)}, {how}"


def _nothing(summary: Summary, recording: Recording) -> str:
    if summary.processes == 0:
        return f"nothing was recorded: {recording.command[0]} did not use the device; {BUILD_WITH}"
    return f"nothing was recorded: {recording.command[0]} launched no kernel"


def _slow_down(summary: Summary) -> str:
    return f"{summary.slow_down:.2f}x slower for snapshots ({human_time(summary.recording_ns)})"
