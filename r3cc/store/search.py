"""Searches of a store: a folder each, with an event log."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from r3cc.errors import R3Error
from r3cc.store.eventlog import EventLog
from r3cc.store.identifiers import PATTERN, choose_id, new_id


class Search(msgspec.Struct, frozen=True):
    """One run of tune over a recording: its id and its folder."""

    id: str
    path: Path

    @property
    def events_path(self) -> Path:
        """The event log's file; read it with ``r3cc.store.eventlog.read_events``."""
        return self.path / "events.jsonl"

    def open_log(self) -> EventLog:
        """The event log, to append to; raises R3Error when another process writes it."""
        return EventLog(self.events_path)


class Searches:
    """The folder ``searches`` of a store."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self) -> Search:
        """Make the folder of a new search."""
        while True:
            identifier = new_id()
            with contextlib.suppress(FileExistsError):
                (self.path / identifier).mkdir(parents=True)
                return Search(identifier, self.path / identifier)

    def all(self) -> list[Search]:
        """Every search, the oldest first."""
        if not self.path.is_dir():
            return []
        names = sorted(entry.name for entry in self.path.iterdir() if PATTERN.fullmatch(entry.name))
        return [Search(name, self.path / name) for name in names]

    def find(self, given: str | None = None) -> Search:
        """A search by its id or a unique part of it, the latest for None; raises R3Error when there is none."""
        searches = self.all()
        if given is not None:
            return Search(chosen := choose_id("search", given, [s.id for s in searches]), self.path / chosen)
        if not searches:
            raise R3Error(f"the store {self.path.parent} holds no search; run `r3 tune` first")
        return searches[-1]
