"""Which search a new session belongs to: an interrupted one of the same question, or a new one."""

from __future__ import annotations

import msgspec

from r3cc.errors import R3Error
from r3cc.replay.events import AnyEvent, Begin, End, read_log
from r3cc.store.search import Search, Searches


class Resumed(msgspec.Struct, frozen=True):
    """A search to go on with, and what its log says so far."""

    search: Search
    events: tuple[AnyEvent, ...]


def unfinished(searches: Searches, begin: Begin) -> Resumed | None:
    """The latest search of the same question that has no end; None when there is none."""
    for search in reversed(searches.all()):
        events = _events(search)
        if events and isinstance(events[0], Begin) and same_question(events[0], begin):
            return None if any(isinstance(event, End) for event in events) else Resumed(search, events)
    return None


def same_question(one: Begin, other: Begin) -> bool:
    """Whether two searches would take the same course: all is equal but time, and versions of others than LLVM.

    Edits name passes of LLVM's own pipeline, and equal candidates are other code with another LLVM.
    """
    return _bare(one) == _bare(other)


def _bare(begin: Begin) -> Begin:
    return msgspec.structs.replace(begin, at=0.0, versions={"llvm": begin.versions.get("llvm", "")})


def _events(search: Search) -> tuple[AnyEvent, ...]:
    """Events of a search's log; none for one that this R3 cannot read: a new search begins beside it."""
    try:
        return read_log(search.events_path)
    except R3Error:
        return ()
