"""The event log of a remix search as its writer sees it: what came before, and one place that stamps and counts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from r3cc.remix.events import AnyEvent, Failed, PromptBlock, Reply, Request
from r3cc.remix.loop.budget import Spending
from r3cc.remix.model import Prompt
from r3cc.remix.prompts.layout import block_id
from r3cc.replay.events import Event, Result
from r3cc.store.eventlog import EventLog

E = TypeVar("E", bound=Event)


class Journal:
    """Events of earlier sessions, and those that this one appends."""

    def __init__(self, log: EventLog, earlier: Sequence[AnyEvent]) -> None:
        self._log = log
        self.earlier = tuple(earlier)
        self._events: list[Event] = [*earlier]
        self._proposals: Counter[str] = Counter()
        self.next = 0
        """Number of the next proposal."""
        self.spent = Spending()
        """What answers took in all sessions."""
        self._blocks: set[str] = set()
        for event in earlier:
            self._count(event)

    def add(self, kind: type[E], /, **fields: object) -> E:
        """Append an event of this kind, now, and return it."""
        return self.append(kind(at=time.time(), **fields))

    def append(self, event: E) -> E:
        """Append an event and return it."""
        self._log.append(event)
        self._events.append(event)
        self._count(event)
        return event

    @property
    def events(self) -> Sequence[Event]:
        """All events, those of this session included."""
        return self._events

    def proposals(self, kernel: str) -> int:
        """Proposals made for a kernel, in all sessions."""
        return self._proposals[kernel]

    def blocks(self, prompt: Prompt) -> tuple[str, ...]:
        """Ids of a prompt's blocks, each written down when it is first used."""
        ids = []
        for block in prompt.blocks:
            ids.append(block_id(block.text))
            if ids[-1] not in self._blocks:
                self.add(PromptBlock, id=ids[-1], name=block.name, text=block.text)
        return tuple(ids)

    def result(self, kernel: str) -> Result | None:
        """The verdict on a kernel that an earlier session reached."""
        return next((each for each in self.earlier if isinstance(each, Result) and each.kernel == kernel), None)

    def _count(self, event: object) -> None:
        match event:
            case Request():
                self.next = max(self.next, event.n + 1)
                self._proposals[event.kernel] += event.round == 0
            case Reply():
                answer = event.answer
                self.spent += Spending(answer.cost_usd, answer.usage.total + answer.lost_tokens)
            case Failed():
                self.spent += Spending(event.cost_usd, event.tokens)
            case PromptBlock():
                self._blocks.add(event.id)
