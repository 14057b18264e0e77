"""``r3 report``: what a search found."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import click

from r3cc.cli.options import Duration, json_option, store_option
from r3cc.cli.output import on_store, print_json, print_table, say
from r3cc.errors import UsageError
from r3cc.replay.events import AnyEvent, read_log
from r3cc.report.bench import BenchReport
from r3cc.report.commands import apply_command
from r3cc.report.explain import explain, lines
from r3cc.report.export import commands, t4, table
from r3cc.report.page import read_bench, write_page
from r3cc.report.search import SearchReport, search_report
from r3cc.report.table import headings, kernel_table, spent_line, status_table
from r3cc.store import Store
from r3cc.store.search import Search

EXPORTS = ("t4", "csv", "commands")


@click.command()
@store_option
@click.option("--search", metavar="ID", help="Search to report on.  [default: the latest]")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write one HTML page.")
@click.option(
    "--follow", type=Duration(), metavar="DURATION", help="Write the page anew so often until the search ends."
)
@click.option(
    "--bench",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="What `r3 bench --json` printed, for the page.",
)
@click.option("--explain", "explained", is_flag=True, help="Print what each change of a winner buys.")
@click.option(
    "--export", type=click.Choice(EXPORTS), help="Print T4 JSON, CSV, or the commands that rebuild the winners."
)
@json_option
def report(
    store: Path,
    search: str | None,
    html: Path | None,
    follow: float | None,
    bench: Path | None,
    explained: bool,
    export: str | None,
    as_json: bool,
) -> None:
    """Print kernels with baseline, best, speedup and what changed; `r3 tune` makes what it reports.

    The page of --html has everything in itself: charts, tables, the commands that make each number again.
    """
    if html is None and (follow is not None or bench is not None):
        raise UsageError("--follow and --bench are about a page: name it with --html")
    measured = read_bench(bench) if bench is not None else None
    with Store.open(store) as opened:
        found = opened.searches.find(search)
        if export is not None or explained:
            _print_log(opened, read_log(found.events_path), export, as_json)
            return
        summary = search_report(opened, found) if html is None else _write(opened, found, html, follow, measured)
    if as_json:
        print_json(summary)
    elif html is None:
        print_report(summary)
        say_next(summary, store)


def _print_log(store: Store, events: Sequence[AnyEvent], export: str | None, as_json: bool) -> None:
    """Print what the event log alone says: an export, else an explanation."""
    if export == "t4":
        print_json(t4(events))
    elif export == "csv":
        click.echo(table(events), nl=False)
    elif export == "commands":
        click.echo(commands(store, events), nl=False)
    elif as_json:
        print_json({"explained": explain(events)})
    else:
        explanations = explain(events)
        for line in [line for each in explanations for line in lines(each)] or ["no kernel was improved"]:
            click.echo(line)


def print_report(summary: SearchReport) -> None:
    """Print a search's report as tables on standard output."""
    for line in headings(summary):
        click.echo(line)
    click.echo()
    print_table(kernel_table(summary))
    click.echo()
    print_table(status_table(summary))
    if (spent := spent_line(summary)) is not None:
        click.echo(spent)


def say_next(summary: SearchReport, store: Path) -> None:
    """How a search's winners get into the next build, if it has some."""
    if any(kernel.improved for kernel in summary.kernels):
        say(f"next: `{on_store(apply_command(summary), store)}` takes the winners into the next build")


def _write(store: Store, search: Search, path: Path, follow_s: float | None, bench: BenchReport | None) -> SearchReport:
    """Write the page once, or until the search is complete."""
    refresh = None if follow_s is None else max(1, round(follow_s))
    summary = write_page(store, search, path, refresh, bench)
    while follow_s is not None and not summary.complete:
        time.sleep(follow_s)
        summary = write_page(store, search, path, refresh, bench)
    say(f"wrote {path}: search {search.id}, {path.stat().st_size // 1024} KiB")
    return summary
