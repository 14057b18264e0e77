"""Caps on what answers may take, checked before a call with the worst of it and of all calls under way."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import msgspec

from r3cc.remix.model import Prompt, Proposer


class Spending(msgspec.Struct, frozen=True):
    """What answers took, or may take at worst."""

    cost_usd: float = 0.0
    tokens: int = 0
    """Input, cached or not, and output."""

    def __add__(self, other: Spending) -> Spending:
        return Spending(self.cost_usd + other.cost_usd, self.tokens + other.tokens)

    def __mul__(self, calls: int) -> Spending:
        return Spending(self.cost_usd * calls, self.tokens * calls)


class Caps(msgspec.Struct, frozen=True):
    """The most that all answers of a search may take; None for no limit."""

    cost_usd: float | None = None
    tokens: int | None = None

    def allow(self, spending: Spending) -> bool:
        """Whether so much may be spent."""
        dear = self.cost_usd is not None and spending.cost_usd > self.cost_usd
        return not dear and (self.tokens is None or spending.tokens <= self.tokens)


UNCAPPED = Caps()


class Budget:
    """Caps, what was spent, and what is reserved for calls under way."""

    def __init__(self, caps: Caps, spent: Callable[[], Spending]) -> None:
        self._caps = caps
        self._spent = spent
        self._reserved: list[Spending] = []

    def fits(self, worst: Spending) -> bool:
        """Whether a call may go out that takes ``worst`` at most."""
        return self._caps.allow(sum(self._reserved, self._spent() + worst))

    def spent_up(self) -> bool:
        """Whether a cap is reached."""
        spent = self._spent()
        dear = self._caps.cost_usd is not None and spent.cost_usd >= self._caps.cost_usd
        return dear or (self._caps.tokens is not None and spent.tokens >= self._caps.tokens)

    @contextlib.contextmanager
    def reserved(self, worst: Spending) -> Iterator[None]:
        """Keep ``worst`` for a call, until it is known what the call took."""
        self._reserved.append(worst)
        try:
            yield
        finally:
            self._reserved.remove(worst)


def worst_of(proposer: Proposer, prompt: Prompt) -> Spending:
    """The most that one answer to ``prompt`` can take."""
    return Spending(proposer.worst_cost_usd(prompt), proposer.worst_tokens(prompt))
