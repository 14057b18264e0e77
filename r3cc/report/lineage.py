"""What a remix search has beyond every search, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from r3cc.replay.model import Interval
from r3cc.report.archive import RemixReport
from r3cc.report.proposal import Ancestor, ProposalReport

FACTOR = "{:.3f}x"


def stage_line(report: RemixReport) -> str:
    """Where proposals ended."""
    return "proposals: " + ", ".join(f"{count} {stage}" for stage, count in report.stages.items())


def lineage_table(report: RemixReport) -> Table:
    """From the original to the fastest rewrite."""
    return _table(Ancestor(step.n, step.operator, step.proposer, step.strategy, step.ratio) for step in report.lineage)


def archive_table(report: RemixReport) -> Table:
    """One row a cell."""
    table = Table(box=None, pad_edge=False)
    for name in (*report.archive.dimensions, "proposal", "speedup"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("strategy", overflow="fold", ratio=3)
    for elite in report.archive.elites:
        bins = [str(elite.bins.get(name, "-")) for name in report.archive.dimensions]
        table.add_row(*bins, str(elite.n), factor(elite.ratio), Text(elite.strategy))
    return table


def ancestor_table(report: ProposalReport) -> Table:
    """From the original to a proposal."""
    return _table(report.lineage)


def factor(ratio: Interval | None) -> str:
    """Speedup over the baseline, as it was seen in the search."""
    return FACTOR.format(1 / ratio.median) if ratio is not None and ratio.median > 0 else "-"


def _table(steps: Iterable[Ancestor]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("proposal", "by", "asked to", "speedup"):
        table.add_column(name, no_wrap=True)
    table.add_column("strategy", overflow="fold", ratio=3)
    for step in steps:
        table.add_row(str(step.n), Text(step.proposer), step.operator, factor(step.ratio), Text(step.strategy))
    return table
