"""The page reads what remix really writes: a search over a synthetic world, folded twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from r3cc.remix.events import Source
from r3cc.report.archive import remix_report
from r3cc.report.page import page_of, render
from r3cc.store import Store
from r3cc.store.eventlog import read_events
from tests.remix.synthetic import Ran, Scribe, search

pytest.importorskip("jinja2")
KERNEL = "abc"


@pytest.fixture
def searched(tmp_path: Path) -> tuple[Store, Ran]:
    store = Store.create(tmp_path / "r3-store")
    made = store.searches.create()
    return store, search(made.events_path, [Scribe()])


def test_the_archive_is_the_one_that_remix_folds(searched: tuple[Store, Ran]) -> None:
    store, ran = searched
    found = remix_report(KERNEL, list(read_events(store.searches.find().events_path)))
    assert found is not None
    best: dict[frozenset[tuple[str, int]], float] = {}
    for elite in ran.states[KERNEL].archive:
        cell = frozenset(each for each in elite.features.bins if each[0] in found.archive.dimensions)
        best[cell] = min(elite.ratio.median, best.get(cell, 10.0))
    assert {frozenset(elite.bins.items()): elite.ratio.median for elite in found.archive.elites} == best
    assert sum(found.stages.values()) == 24


def test_a_lineage_leads_from_the_source_to_the_fastest(searched: tuple[Store, Ran]) -> None:
    store, ran = searched
    found = remix_report(KERNEL, list(read_events(store.searches.find().events_path)))
    assert found is not None
    assert found.lineage[0].parent is None
    assert [step.n for step in found.lineage[:-1]] == [step.parent for step in found.lineage[1:]]
    assert found.lineage[-1].ratio.median == min(step.ratio.median for step in found.lineage)
    assert all(line.startswith(("+", "-", "@", " ")) for step in found.lineage for line in step.diff.splitlines())
    assert ran.of(Source)


def test_its_page_is_drawn_without_the_recording(searched: tuple[Store, Ran]) -> None:
    store, _ = searched
    search = store.searches.find()
    begin, *others = [json.loads(line) for line in search.events_path.read_text().splitlines()]
    begin["kernels"] = [
        {"kernel": KERNEL, "module": "m", "name": "k", "demangled": "k(int)", "share": 1.0, "numerics": "rounding"}
    ]
    search.events_path.write_text("".join(json.dumps(line) + "\n" for line in (begin, *others)))
    page = render(page_of(store, search))
    assert "Lineage" in page
    (section,) = page_of(store, search).kernels
    assert section.answers
    said = {line["strategy"] for line in others if line["event"] == "verdict" and line.get("strategy")}
    texts = {text.split(",")[0] for *_, text in section.answers}
    assert texts & said, "a rewrite is said to be one"
    assert "the baseline's own options" not in texts
    assert "The recording is no longer in the store." in page
    assert f"r3 remix {KERNEL} --recording" in page
