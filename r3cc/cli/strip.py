"""``r3 strip``: a binary without what R3's compilers put into it."""

from __future__ import annotations

from pathlib import Path

import click

from r3cc.cli.output import counted, human_bytes, say
from r3cc.errors import UsageError
from r3cc.store.strip import strip as strip_file


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write there instead.")
def strip(files: tuple[Path, ...], output: Path | None) -> None:
    """Take R3's notes, IR and descriptions out of programs, libraries, objects and archives, in place.

    The program runs as before; it can no longer be recorded with its IR, nor run on the cpu device.
    """
    if output is not None and len(files) > 1:
        raise UsageError("--output takes one file; without it, all are stripped in place")
    for file in files:
        done = strip_file(file, output or file)
        if done.bytes == 0:
            say(f"{file}: carries nothing of R3's")
            continue
        what = f"{counted(done.notes, 'note')} and their payload" if done.notes else "R3's sections"
        say(f"{output or file}: {what} removed, {human_bytes(done.bytes)}")
