"""``r3 apply``: the winners of searches, as a profile for the next build."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from r3cc.apply.by_hand import BY_HAND, judge_by_hand
from r3cc.apply.patch import Patch, write_patch
from r3cc.apply.profile import Entry, Profile, read_profile, write_profile
from r3cc.apply.winners import CPU, Choices, Log, profile_of
from r3cc.cli.options import DeviceName, Dimensions, codegen_pairs, recording_option, store_option
from r3cc.cli.output import counted, say
from r3cc.cli.settings import KernelSetting, current_settings
from r3cc.errors import R3Error, UsageError
from r3cc.farm import EvaluatorSettings
from r3cc.replay.events import AnyEvent, read_log
from r3cc.replay.model import Candidate, LaunchConfiguration, Numerics
from r3cc.replay.specialise import with_constants
from r3cc.store import Store
from r3cc.store.model import Dim3


@click.command()
@store_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("tuned.r3.json"),
    show_default=True,
    help="Profile to write; entries of other kernels and devices that are in it stay.",
)
@click.option(
    "--search", "searches", multiple=True, metavar="ID", help="Search whose winners are taken.  [default: the latest]"
)
@click.option(
    "--device",
    type=DeviceName(),
    envvar="R3_DEVICE",
    help="`cpu` takes results of the cpu device, which no GPU build uses.",
)
@click.option("--launch-bounds", is_flag=True, help="Take maxntid, with which larger blocks no longer launch.")
@click.option("--guard-scalars", is_flag=True, help="Launch rules hold for the recorded scalar arguments only.")
@click.option("--kernel", metavar="KERNEL", help="Judge and take the candidate below instead of a search's winners.")
@recording_option
@click.option("--passes", help="Pass pipeline of that candidate, as `opt -passes=` takes it.")
@click.option("--block", type=Dimensions(), help="Its block; the grid is derived to cover the recorded threads.")
@click.option("--grid", type=Dimensions(), help="Its grid.")
@click.option("--codegen", multiple=True, metavar="KEY=VALUE", help="A code-generation option; may be repeated.")
@click.option(
    "--fix", multiple=True, metavar="WHAT", help="Constant in its code: an argument, a variable, `block`, `grid`."
)
@click.option("--samples", type=click.IntRange(min=1), default=31, show_default=True, help="Timed pairs.")
def apply(
    store: Path,
    output: Path,
    searches: tuple[str, ...],
    device: str | None,
    launch_bounds: bool,
    guard_scalars: bool,
    kernel: str | None,
    recording: str | None,
    passes: str | None,
    block: Dim3 | None,
    grid: Dim3 | None,
    codegen: tuple[str, ...],
    fix: tuple[str, ...],
    samples: int,
) -> None:
    """Write the winners of searches into a profile, which a build with --r3-use=FILE takes.

    --search may be repeated; where several searches have a winner for a kernel, the fastest is taken.
    docs/profile-format.md says what stands in it; entries may be deleted by hand. Rewritten sources become one patch
    beside the profile (tuned.r3.patch beside tuned.r3.json), for `git apply`; no source is touched. With --kernel the
    candidate that is given on the command line is judged on the recorded launches and written instead, if it is valid.
    """
    patch_path = output.with_suffix(".patch")
    if patch_path == output:
        raise UsageError(f"{output} is what the patch would be called; -o names the profile: -o {output.stem}.json")
    if not output.parent.is_dir():  # before anything is measured
        raise UsageError(f"there is no folder {output.parent} for {output.name}; make it, or name another with -o")
    kept = read_profile(output) if output.exists() else None
    candidate = Candidate(passes, codegen_pairs(codegen), LaunchConfiguration(grid, block))
    if (kernel is None) != (candidate == Candidate() and not fix):
        raise UsageError(
            "--kernel takes a candidate (--passes, --block, --grid, --codegen, --fix), which belongs to it"
        )
    with Store.open(store) as opened:
        if kernel is None:
            logs = [_log(opened, search) for search in searches or (None,)]
        else:
            logs = [Log(BY_HAND, _by_hand(opened, recording, kernel, candidate, fix, device, samples))]
        for log in logs:
            _check_device(log, device)
        outcome = profile_of(opened, logs, Choices(launch_bounds, guard_scalars))
    for kernel_name in outcome.unfinished:
        say(f"{kernel_name} has no verdict yet: `r3 tune` goes on with it")
    for kernel_name in outcome.unimproved:
        say(f"{kernel_name}: no improvement, no entry")
    for sentence in outcome.outside:
        say(sentence)
    if not outcome.profile.kernels:
        names = " and ".join(log.search for log in logs)
        raise R3Error(f"the search {names} has no winner; nothing was written")
    if outcome.patch is not None and kept is not None and patch_path.exists():
        _check_overwritten(patch_path, kept, outcome.profile)
    for entry in outcome.profile.kernels:
        _say_entry(entry)
    if outcome.patch is not None:  # before the profile, which speaks of it
        _write_patch(patch_path, outcome.patch)
    write_profile(output, kept.merged(outcome.profile) if kept else outcome.profile)
    _say_written(output, outcome.profile, kept)


def _by_hand(
    store: Store,
    recording: str | None,
    given: str,
    candidate: Candidate,
    fix: tuple[str, ...],
    device: str | None,
    samples: int,
) -> tuple[AnyEvent, ...]:
    """The candidate judged at the settings file's numerics for its kernel."""
    kernel = store.find_kernel(given, recording)
    candidate = with_constants(candidate, fix, store, kernel, recording)
    entry = current_settings().for_kernel(kernel.name, kernel.demangled) or KernelSetting("")
    numerics = Numerics(entry.numerics or Numerics.ROUNDING)
    settings = EvaluatorSettings(numerics=numerics, rtol=entry.rtol, atol=entry.atol, compile_processes=1)
    return judge_by_hand(store, recording, kernel, candidate, settings, device, samples)


def _log(store: Store, search: str | None) -> Log:
    found = store.searches.find(search)
    return Log(found.id, read_log(found.events_path))


def _check_overwritten(path: Path, kept: Profile, newer: Profile) -> None:
    """A patch that holds what an earlier profile says of other kernels is not written over."""
    names = {entry.name for entry in newer.kernels}
    lost = [entry.demangled for entry in kept.kernels if entry.rewrites and entry.name not in names]
    if lost:
        raise UsageError(
            f"{path} holds the new source of {lost[0]} from an earlier `r3 apply`, which would be lost: name all "
            "searches in one call (--search ID --search ID), or write another file (-o)"
        )


def _check_device(log: Log, device: str | None) -> None:
    """Results of the cpu device are taken only when they are asked for by name."""
    search, begin = log.search, log.begin
    if begin.on_host and device != CPU:
        raise UsageError(
            f"the search {search} ran on the cpu device, which is no GPU; --device cpu takes it all the same"
        )
    if device is not None and not begin.on_host and device.split(":")[0] != begin.device.split(":")[0]:
        raise UsageError(f"the search {search} ran on {begin.device}, not on {device}; see `r3 report --search`")


def _write_patch(path: Path, patch: Patch) -> None:
    for reason in patch.left_out.values():
        say(f"left out of the patch: {reason}")
    if patch.kernels:
        write_patch(path, patch)
        kernels = counted(len(patch.kernels), "kernel")
        say(f"wrote the new source of {kernels} to {path}; review it, then `git apply {shlex.quote(str(path))}`")


def _say_entry(entry: Entry) -> None:
    ratio = entry.evidence.ratio
    say(f"{entry.demangled}: {1 / ratio.median:.3f}x ({1 / ratio.high:.3f} to {1 / ratio.low:.3f})")
    for part in entry.left_out:
        say(f"  left out: {part}")


def _say_written(output: Path, profile: Profile, kept: Profile | None) -> None:
    others = len(kept.merged(profile).kernels) - len(profile.kernels) if kept else 0
    more = f", beside {others} that were there" if others else ""
    say(f"wrote {counted(len(profile.kernels), 'kernel')} to {output}{more}; build with {how_to_use(output)}")


def how_to_use(profile: Path) -> str:
    """What a build is given for a profile: build tools take a flag apart at blanks, quoted or not."""
    path = str(profile.absolute())
    return f"--r3-use={path}" if path == shlex.quote(path) else f"R3_USE={shlex.quote(path)} in its environment"
