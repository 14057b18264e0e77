"""What every verb prints: messages on standard error, one JSON document on standard output."""

from __future__ import annotations

from typing import Any

import click
import msgspec


def say(message: str) -> None:
    """Print R3's own message: each line on standard error begins with ``r3:``."""
    for line in message.splitlines() or [""]:
        click.echo(f"r3: {line}", err=True)


def print_json(document: Any) -> None:
    """Print one JSON document on standard output; data classes become objects."""
    click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
