"""Asking proposers within a search's limits: an answer, or a failure that is an event and never an exception."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from r3cc.remix.events import Failed, Reply
from r3cc.remix.loop.budget import UNCAPPED, Budget, Caps, worst_of
from r3cc.remix.loop.journal import Journal
from r3cc.remix.loop.memory import Memory
from r3cc.remix.model import FailureKind, Prompt, Proposer, ProposerError
from r3cc.remix.proposers.redaction import without_keys

HOPELESS = (FailureKind.BAD_REQUEST, FailureKind.EXHAUSTED)
"""Failures after which a proposer is not asked again in this session."""
FAILURES_IN_A_ROW = 20
"""Requests without an answer, one after another, that end a search."""
GRACE_S = 30.0
"""How long after the end of the search's time an answer is still waited for."""


@dataclass(frozen=True)
class Limits:
    """Where a kernel's search stops asking; None for no limit."""

    proposals: int | None = None
    """Of this kernel, over all sessions."""
    deadline: float | None = None
    """time.monotonic()."""
    caps: Caps = UNCAPPED
    """Of the whole search."""
    concurrency: int = 4
    """Requests under way at a time."""
    answer_deadline_s: float = 600.0

    @property
    def time_is_over(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def answer_within_s(self) -> float:
        """How long to wait for an answer that is asked for now: a little beyond the end of the search's time."""
        if self.deadline is None:
            return self.answer_deadline_s
        return min(self.answer_deadline_s, max(0.0, self.deadline - time.monotonic()) + GRACE_S)


class Asker:
    """Asks the proposers of one kernel's search, and knows who can still be asked."""

    def __init__(
        self,
        kernel: str,
        journal: Journal,
        own: Memory,
        script: Memory | None,
        proposers: Mapping[str, Proposer],
        limits: Limits,
    ) -> None:
        """``own`` is what this search's log holds already, ``script`` a transcript: what they answer is not asked."""
        self._kernel = kernel
        self._journal = journal
        self._own = own
        self._script = script
        self._proposers = proposers
        self._limits = limits
        self._budget = Budget(limits.caps, lambda: journal.spent)
        self._asking: Counter[str] = Counter()
        self._gone: set[str] = set()
        self._failures_in_a_row = 0
        self._latest: Prompt | None = None

    @property
    def under_way(self) -> dict[str, int]:
        """Requests that wait for their answer, by proposer."""
        return +self._asking

    @property
    def time_is_over(self) -> bool:
        """Whether nothing new should be asked for."""
        return self._limits.time_is_over

    def stop_reason(self) -> str | None:
        """Why nobody should be asked any more; None while somebody can be."""
        if self._budget.spent_up():
            return "cost"
        if not self._able():
            return "exhausted"
        return "failures" if self._failures_in_a_row >= FAILURES_IN_A_ROW else None

    def affordable(self, calls: int) -> tuple[str, ...]:
        """Who could answer so many prompts within what is left, at worst; the last prompt stands for the next."""
        prompt = self._latest
        if prompt is None:
            return self._able()
        worst = {name: worst_of(self._proposers[name], prompt) for name in self._able()}
        return tuple(name for name, each in worst.items() if self._budget.fits(each * calls))

    def fits(self, name: str, prompt: Prompt) -> bool:
        """Whether a prompt may go out, at its worst."""
        return self._budget.fits(worst_of(self.proposer(name), prompt))

    def proposer(self, name: str) -> Proposer:
        """Who is asked; a transcript answers for everyone that it names."""
        return self._proposers.get(name) or next(iter(self._proposers.values()))

    def prepare(self, prompt: Prompt) -> None:
        """A prompt is about to go out: its size is what the next one is reckoned by."""
        self._latest = prompt

    async def ask(self, n: int, round_: int, name: str, prompt: Prompt) -> Reply | Failed:
        """The answer to a prompt: what the log has, or what the proposer says. It never raises."""
        known = self._own.said(n, round_, prompt.id)
        if known is not None:
            return known
        common = {"n": n, "kernel": self._kernel, "round": round_, "proposer": name, "prompt": prompt.id}
        repeated = self._script.answer(n, round_) if self._script is not None else None
        if repeated is not None:
            return self._journal.append(msgspec.structs.replace(repeated, at=time.time(), prompt=prompt.id))
        if not self.fits(name, prompt):
            message = "what it could cost is more than is left of --max-cost or --max-tokens"
            return self._journal.add(Failed, **common, kind=FailureKind.EXHAUSTED, message=message)
        proposer = self.proposer(name)
        self._asking[name] += 1
        try:
            with self._budget.reserved(worst_of(proposer, prompt)):
                answer = await proposer.propose(prompt, self._limits.answer_within_s())
        except ProposerError as error:
            self._failed(name, error.kind)
            lost = {"cost_usd": error.cost_usd, "tokens": error.tokens}
            return self._journal.add(Failed, **common, kind=error.kind, message=str(error), **lost)
        except Exception as error:
            self._failed(name, FailureKind.INVALID)
            message = f"the proposer broke: {type(error).__name__}"
            return self._journal.add(Failed, **common, kind=FailureKind.INVALID, message=message)
        finally:
            self._asking[name] -= 1
        self._failures_in_a_row = 0
        # a program that was asked may print what its environment holds
        answer = msgspec.structs.replace(answer, text=without_keys(answer.text))
        return self._journal.add(Reply, **common, answer=answer)

    def _able(self) -> tuple[str, ...]:
        return tuple(name for name in self._proposers if name not in self._gone)

    def _failed(self, name: str, kind: FailureKind) -> None:
        self._failures_in_a_row += 1
        if kind in HOPELESS:
            self._gone.add(name)
