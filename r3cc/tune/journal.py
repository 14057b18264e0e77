"""The event log of a search as its writer sees it: what happened before, and one place that stamps and counts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from r3cc.replay.events import AnyEvent, Event, Grant, Proposal, Result
from r3cc.store.eventlog import EventLog

E = TypeVar("E", bound=Event)


class Journal:
    """Events of earlier sessions, and those that this one appends."""

    def __init__(self, log: EventLog, earlier: Sequence[AnyEvent]) -> None:
        self._log = log
        self._earlier = tuple(earlier)
        proposals = [event for event in earlier if isinstance(event, Proposal)]
        self._next = 1 + max((proposal.n for proposal in proposals), default=-1)
        self._spent = Counter(proposal.kernel for proposal in proposals if proposal.repeats is None)

    def add(self, kind: type[E], **fields: object) -> E:
        """Append an event of this kind, now, and return it."""
        event = kind(at=time.time(), **fields)
        self.append(event)
        return event

    def append(self, event: Event) -> None:
        """Append an event."""
        self._log.append(event)
        if isinstance(event, Proposal):
            self._next = max(self._next, event.n + 1)
            self._spent[event.kernel] += event.repeats is None

    @property
    def next_proposal(self) -> int:
        """Number of the next proposal."""
        return self._next

    def spent(self, kernel: str) -> int:
        """Evaluations asked for a kernel, in all sessions."""
        return self._spent[kernel]

    def earlier(self, kernel: str) -> list[AnyEvent]:
        """What earlier sessions wrote about a kernel, in order."""
        return [event for event in self._earlier if getattr(event, "kernel", None) == kernel]

    def result(self, kernel: str) -> Result | None:
        """The verdict that an earlier session reached."""
        return next((event for event in self.earlier(kernel) if isinstance(event, Result)), None)

    def grant(self, kernel: str) -> Grant | None:
        """What an earlier session granted a kernel for its second part."""
        return next((event for event in reversed(self.earlier(kernel)) if isinstance(event, Grant)), None)
