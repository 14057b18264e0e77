"""``r3 report``: what a search found."""

from __future__ import annotations

from pathlib import Path

import click

from r3cc.cli.options import json_option, store_option
from r3cc.cli.output import print_json, print_table
from r3cc.replay.events import read_log
from r3cc.report.search import SearchReport, summarise
from r3cc.report.table import headings, kernel_table, status_table
from r3cc.store import Store


@click.command()
@store_option
@click.option("--search", metavar="ID", help="Search to report on.  [default: the latest]")
@json_option
def report(store: Path, search: str | None, as_json: bool) -> None:
    """Print kernels with baseline, best, speedup and what changed; `r3 tune` makes what it reports."""
    with Store.open(store) as opened:
        found = opened.searches.find(search)
        summary = summarise(found.id, read_log(found.events_path))
    if as_json:
        print_json(summary)
    else:
        print_report(summary)


def print_report(summary: SearchReport) -> None:
    """Print a search's report as tables on standard output."""
    for line in headings(summary):
        click.echo(line)
    click.echo()
    print_table(kernel_table(summary))
    click.echo()
    print_table(status_table(summary))
