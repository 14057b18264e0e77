"""docs/settings.md has every option of every verb."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from r3cc.cli import VERBS, r3

PAGE = Path(__file__).parents[2] / "docs/settings.md"
IN_HELP = "replay"
"""The page leaves its options to --help."""
WITHOUT_STORE = ("doctor", "strip")
"""As the row of --store says."""


def options(command: click.Command, verb: str) -> Iterator[tuple[str, str]]:
    """Verb and long option of a command and those below it."""
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield from ((verb, spelling) for spelling in parameter.opts if spelling.startswith("--"))
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from options(child, f"{verb} {name}")


def listed() -> set[tuple[str, str]]:
    """The rows of the page, verb by verb."""
    rows = re.findall(r"^\| ([^|]+) \| (`-.*?) \| ", PAGE.read_text().split("## Options of the verbs")[1], re.MULTILINE)
    return {
        (verb, option)
        for verbs, text in rows
        for verb in verbs.split(", ")
        for option in re.findall(r"--[a-z0-9-]+", text)
    }


def test_every_option_is_on_the_page() -> None:
    context = click.Context(r3)
    commands = {verb: r3.get_command(context, verb) for verb in VERBS}
    had = {pair for verb, command in commands.items() if command is not None for pair in options(command, verb)}
    page = listed() - {("all but doctor and strip", "--store")}
    page |= {(verb, option) for verb, option in had if option == "--store" and verb not in WITHOUT_STORE}
    assert sorted(pair for pair in had - page if pair[0] != IN_HELP) == []
    assert sorted(page - had) == []
