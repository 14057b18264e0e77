"""What every verb prints: messages on standard error, one JSON document on standard output."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

FOLDED = 20
"""Fewest columns of a cell that may be folded."""
BETWEEN = 3
"""Most columns between two of a table's."""

DEFAULT_STORE = Path("r3-store")

PIPE_WIDTH = 100_000
"""Columns for a table that does not go to a terminal: no cell is folded there, so that each row is one line to grep."""


def say(message: str) -> None:
    """Print R3's own message: each line on standard error begins with ``r3:``."""
    for line in message.splitlines() or [""]:
        click.echo(f"r3: {line}", err=True)


def system_error(error: OSError) -> str:
    """What the operating system refused, and for which file, in a sentence."""
    return f"{error.filename or 'cannot write'}: {error.strerror or error}"


def on_store(command: str, store: Path) -> str:
    """A command for the user to run next, on the store at hand."""
    return command if store.absolute() == DEFAULT_STORE.absolute() else f"{command} --store {shlex.quote(str(store))}"


def print_json(document: Any) -> None:
    """Print one JSON document on standard output; data classes become objects."""
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())


def print_table(table: Table) -> None:
    """Print a table on standard output, as wide as the terminal; wider where cells would be cut off."""
    from rich.console import Console  # here, for its import takes longer than what most verbs do

    console = Console(markup=False)  # names of kernels may have brackets
    width = max(console.width, _least_width(table, console)) if console.is_terminal else PIPE_WIDTH
    Console(width=width, markup=False).print(table)


def _least_width(table: Table, console: Console) -> int:
    """Columns with which nothing is cut off, and folded cells can still be read."""
    from rich.measure import Measurement

    options = console.options.update(width=PIPE_WIDTH)
    total = 0
    for column in table.columns:
        widest = max(Measurement.get(console, options, cell).maximum for cell in (column.header, *column.cells))
        total += BETWEEN + (widest if column.no_wrap else min(widest, FOLDED))
    return total


def counted(count: int, noun: str) -> str:
    """``1 kernel``, ``2 kernels``."""
    return f"{count} {noun}" + ("" if count == 1 else "es" if noun.endswith(("s", "ch")) else "s")


def human_bytes(size: float) -> str:
    """Bytes with a binary unit: ``1.5 GiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def human_time(nanoseconds: float) -> str:
    """A time with three or four digits and its unit: ``12.3 us``."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= scale:
            return f"{nanoseconds / scale:.4g} {unit}"
    return f"{nanoseconds:.0f} ns"


def human_dimensions(dimensions: Iterable[int]) -> str:
    """``(4, 1, 1)`` as ``4,1,1``, the form that options take."""
    return ",".join(map(str, dimensions))
