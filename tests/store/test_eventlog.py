"""Event logs: whole lines only, one writer."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r3cc.errors import R3Error
from r3cc.store.eventlog import EventLog, read_events
from r3cc.store.search import Searches

events = st.lists(st.dictionaries(st.text(max_size=5), st.integers(-1000, 1000) | st.text(max_size=9), max_size=3))


@given(events, st.data())
@settings(max_examples=50)
def test_truncation_keeps_whole_events(
    tmp_path_factory: pytest.TempPathFactory, written: list[dict[str, int | str]], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("log") / "events.jsonl"
    with EventLog(path) as log:
        for event in written:
            log.append(event)
    assert list(read_events(path)) == written

    content = path.read_bytes()
    length = data.draw(st.integers(0, len(content)))
    path.write_bytes(content[:length])
    kept = content[:length].count(b"\n")
    assert list(read_events(path)) == written[:kept]
    with EventLog(path) as log:
        log.append({"after": "kill"})
    assert list(read_events(path)) == [*written[:kept], {"after": "kill"}]


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with EventLog(tmp_path / "events.jsonl"), pytest.raises(R3Error, match="running in another process"):
        EventLog(tmp_path / "events.jsonl")
    EventLog(tmp_path / "events.jsonl").close()


def test_a_damaged_line_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"a": 1}\n{"b"\n')
    with pytest.raises(R3Error, match="line 2 of the event log"):
        list(read_events(tmp_path / "events.jsonl"))


def test_searches(tmp_path: Path) -> None:
    searches = Searches(tmp_path / "searches")
    with pytest.raises(R3Error, match="holds no search"):
        searches.find()
    first = searches.create()
    assert searches.find() == first == searches.find(first.id)
    assert searches.all() == [first]
    with pytest.raises(R3Error, match="names no search"):
        searches.find("zzz")
