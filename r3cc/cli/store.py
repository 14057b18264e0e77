"""``r3 store``: list, remove, verify, clean, export and import what a store holds."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
from rich.table import Table

from r3cc.cli.options import DeviceName, json_option, store_option
from r3cc.cli.output import counted, human_bytes, human_time, print_json, print_table, say
from r3cc.errors import R3Error, UsageError
from r3cc.mlir.importing import import_mlir
from r3cc.mlir.translate import BITCODE, MLIR
from r3cc.record.run import choose_device
from r3cc.record.summary import Summary, summarise
from r3cc.store import Store
from r3cc.store.eventlog import is_written
from r3cc.store.exchange import Memory, export, import_file, recording_of, searches_of
from r3cc.store.gc import collect, is_running, measure
from r3cc.store.model import Recording
from r3cc.store.recordings import DamagedRecording, Recordings
from r3cc.store.search import Search
from r3cc.store.verify import StoreReport
from r3cc.store.verify import verify as verify_store


@click.group()
def store() -> None:
    """List, remove, verify, clean, export and import recordings."""


@store.command()
@store_option
@json_option
def ls(store: Path, as_json: bool) -> None:
    """List the recordings, the oldest first."""
    with Store.open(store) as opened:
        entries = [(recording, summarise(opened, recording.id)) for recording in opened.recordings()]
        searches = len(opened.searches.all())
    if as_json:
        print_json({"recordings": [recording_document(*entry) for entry in entries], "searches": searches})
        return
    if not entries:
        say(f"the store {store} is empty: record a run with `r3 record -- app` first")
        return
    print_table(recording_table(entries))


@store.command()
@store_option
@click.argument("recordings", nargs=-1, required=True, metavar="RECORDING...")
def rm(store: Path, recordings: tuple[str, ...]) -> None:
    """Remove recordings, each named by its id or a unique part of it."""
    with Store.open(store) as opened:
        held = Recordings(opened.path / "recordings")
        chosen = dict.fromkeys(held.choose(given) for given in recordings)
        for identifier in chosen:
            _check_removable(opened, identifier)
        for identifier in chosen:
            held.remove(identifier)
            say(f"removed the recording {identifier}")


def _check_removable(store: Store, identifier: str) -> None:
    """Raise R3Error where it may still be written; of a damaged one nobody knows."""
    try:
        recording = store.recording(identifier)
    except DamagedRecording:
        return
    if is_running(recording, store.processes(identifier)):
        raise R3Error(
            f"the recording {identifier} may still be written on {recording.host}; if nothing runs there any more, "
            f"delete the folder {store.recording_path(identifier)}"
        )
    for search in searches_of(store, identifier):
        if is_written(search.events_path):
            raise R3Error(f"the search {search.id} is running over the recording {identifier}")


@store.command()
@store_option
@json_option
@click.pass_context
def verify(ctx: click.Context, store: Path, as_json: bool) -> None:
    """Check every record; exit with 1 when something that was complete cannot be read."""
    with Store.open(store) as opened:
        report = verify_store(opened)
    if as_json:
        print_json({"sound": report.sound, "report": report})
    else:
        _say_report(report)
    ctx.exit(0 if report.sound else 1)


@store.command()
@store_option
@click.option("--dry-run", is_flag=True, help="Say what would be freed, and change nothing.")
def gc(store: Path, dry_run: bool) -> None:
    """Free what nothing names any more, torn tails, and the cache."""
    with Store.open(store) as opened:
        collected = measure(opened) if dry_run else collect(opened)
    verb = "would free" if dry_run else "freed"
    say(f"{verb} {human_bytes(collected.packs)} in packs and {human_bytes(collected.cache)} in the cache")
    if collected.cache_in_use:
        say("left the cache alone: something is being recorded, searched or replayed")
    for identifier in collected.running:
        say(f"left the recording {identifier} alone: it may still be written")


@store.command("export")
@store_option
@click.argument("given", metavar="ID")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="[default: ID.r3.tar]")
@click.option(
    "--redact", is_flag=True, help="Leave memory contents out: it can be listed and reported on, not replayed."
)
def export_(store: Path, given: str, output: Path | None, redact: bool) -> None:
    """Write a recording with all its searches, or a search with its recording, to one file.

    Memory contents of the application, sources in search logs, host names and command lines are in it; with --redact
    everything but the memory contents. `r3 store import` takes it into another store.
    """
    with Store.open(store) as opened:
        recording, searches = _chosen(opened, given)
        target = output or Path(f"{given}.r3.tar")
        head = export(opened, recording, searches, target, Memory.REDACTED if redact else Memory.WHOLE)
    kept = (Memory.REDACTED if head.redacted else Memory.WHOLE).value
    what = f"recording {head.recording} and {counted(len(head.searches), 'search')}"
    say(f"wrote {what} to {target}, {human_bytes(target.stat().st_size)}, {kept}")


@store.command("import")
@store_option
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--launches",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="For MLIR and bitcode: how the kernels are launched, and on what.",
)
@click.option("--device", type=DeviceName(), envvar="R3_DEVICE", help="For MLIR and bitcode: where.  [default: cuda:0]")
def import_(store: Path, file: Path, launches: Path | None, device: str | None) -> None:
    """Take a file of `r3 store export` into the store; what the store has already stays as it is.

    A file of MLIR (`.mlir`), or of LLVM bitcode (`.bc`), becomes a recording: its kernels are launched once, as the
    JSON of --launches says.
    """
    if file.suffix in (MLIR, BITCODE):
        _import_mlir(store, file, launches, device)
        return
    if launches or device:
        raise UsageError(f"--launches and --device are for files of MLIR and bitcode, and {file} is neither")
    with Store.create(store) as opened:
        found = import_file(opened, file)
    for name in found.known:
        say(f"{name} was in the store already")
    say(f"imported recording {found.recording} and {counted(len(found.searches), 'search')} into {store}")
    if found.redacted:
        say("it holds no memory contents: it can be listed and reported on, not replayed")


def _import_mlir(store: Path, file: Path, launches: Path | None, device: str | None) -> None:
    if launches is None:
        raise UsageError(f"{file} needs --launches FILE.json, which says how its kernels are launched (docs/mlir.md)")
    with Store.create(store) as opened:
        recording = import_mlir(opened, file, launches, choose_device(device))
        kernels = opened.kernels(recording.id)
    recorded = sum(kernel.recorded for kernel in kernels)
    say(
        f"recording {recording.id} of {file} on {recording.device}: {counted(len(kernels), 'kernel')}, "
        f"{counted(recorded, 'launch')}"
    )
    say("next: `r3 ls`, then `r3 tune`")


def _chosen(store: Store, given: str) -> tuple[Recording, list[Search]]:
    """A recording with its searches, or a search with its recording, by id or a unique part of it."""
    matches = [search for search in store.searches.all() if given in search.id]
    recordings = [recording for recording in store.recordings() if given in recording.id]
    if len(matches) == 1 and not recordings:
        return store.recording(recording_of(matches[0])), matches
    recording = store.recording(given)
    return recording, searches_of(store, recording.id)


def recording_document(recording: Recording, summary: Summary) -> dict[str, object]:
    """The JSON of one recording; times in milliseconds."""
    return {
        "id": recording.id,
        "command": list(recording.command),
        "start": recording.start,
        "host": recording.host,
        "device": recording.device,
        "wall_ms": recording.wall_ns / 1e6,
        "exit_status": recording.exit_status,
        "processes": summary.processes,
        "kernels": summary.kernels,
        "launches": summary.launches,
        "recorded": summary.recorded,
        "bytes": summary.bytes,
    }


def recording_table(entries: list[tuple[Recording, Summary]]) -> Table:
    """One row a recording."""
    table = Table(box=None, pad_edge=False)
    table.add_column("recording", no_wrap=True)
    table.add_column("command", overflow="fold")
    for name in ("host", "device", "wall", "exit"):
        table.add_column(name, no_wrap=True)
    for name in ("processes", "kernels", "launches", "recorded", "size"):
        table.add_column(name, justify="right", no_wrap=True)
    for recording, summary in entries:
        table.add_row(
            recording.id,
            shlex.join(recording.command),
            recording.host,
            recording.device,
            human_time(recording.wall_ns),
            "-" if recording.exit_status is None else str(recording.exit_status),
            *map(str, (summary.processes, summary.kernels, summary.launches, summary.recorded)),
            human_bytes(summary.bytes),
        )
    return table


def _say_report(report: StoreReport) -> None:
    for pack in report.packs:
        for problem in pack.damaged:
            say(f"{pack.recording}/{pack.pack}: damaged: {problem}")
        if pack.torn is not None:
            say(
                f"{pack.recording}/{pack.pack}: torn tail: the last {pack.torn.bytes} bytes are dropped: "
                f"{pack.torn.reason}"
            )
    for name in report.killed:
        say(f"{name}: the process did not end by itself; what it had recorded by then is there")
    for problem in report.missing:
        say(f"missing: {problem}")
    chunks = sum(pack.chunks for pack in report.packs)
    verdict = "sound" if report.sound else "damaged"
    size = human_bytes(sum(pack.bytes for pack in report.packs))
    say(f"{verdict}: {counted(len(report.packs), 'pack')}, {counted(chunks, 'chunk')}, {size}")
