"""What a remix search adds to the report on a terminal, and ``r3 remix --show``."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from r3cc.errors import R3Error
from r3cc.remix.search import Allowed
from r3cc.report.archive import remix_report
from r3cc.report.lineage import ancestor_table, archive_table, factor, lineage_table, stage_line
from r3cc.report.proposal import proposal_report
from r3cc.store.eventlog import read_events
from tests.remix.synthetic import Scribe, search


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    path = Path(tmp_path_factory.mktemp("search")) / "log"

    def spoil(prompt: object) -> str | None:
        return "```r3 region=k\nsyntax error\n```" if getattr(prompt, "sample", 0) % 7 == 3 else None

    search(path, [Scribe(spoil=spoil)], allowed=Allowed(proposals=30))
    return list(read_events(path))


def text_of(table: Table) -> str:
    console = Console(width=200, record=True, file=None)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_lineage_and_archive(lines: list[dict[str, object]]) -> None:
    report = remix_report("abc", lines)
    assert report is not None
    assert "time" in stage_line(report) and "compile" in stage_line(report)
    shown = text_of(lineage_table(report))
    assert report.lineage[-1].strategy in shown
    assert factor(report.lineage[-1].ratio) in shown
    cells = text_of(archive_table(report))
    assert all(elite.strategy in cells for elite in report.archive.elites)


def test_a_proposal_that_was_measured(lines: list[dict[str, object]]) -> None:
    report = remix_report("abc", lines)
    assert report is not None
    best = report.lineage[-1]
    found = proposal_report(str(best.n), lines)
    assert [each.n for each in found.lineage] == [step.n for step in report.lineage]
    assert found.diff.startswith("--- k\n+++ k\n")
    assert found.ratio == best.ratio
    assert proposal_report(str(found.variant)[:8], lines).variant == found.variant
    assert best.strategy in text_of(ancestor_table(found))


def test_a_proposal_that_failed(lines: list[dict[str, object]]) -> None:
    found = proposal_report("3", lines)
    assert (found.stage, found.reason) == ("compile", "does_not_compile")
    assert found.ratio is None and "+syntax error" in found.diff
    assert factor(found.ratio) == "-"


@pytest.mark.parametrize("name", ["999", "zzzz", "a"])
def test_no_such_proposal(lines: list[dict[str, object]], name: str) -> None:
    with pytest.raises(R3Error, match="no proposal and no variant"):
        proposal_report(name, lines)
