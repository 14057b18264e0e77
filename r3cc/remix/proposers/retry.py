"""The one retry loop: all attempts of a request under one deadline."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from r3cc.remix.model import Answer, FailureKind, ProposerError
from r3cc.remix.proposers.breaker import CircuitBreaker

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
PROVIDER_AT_FAULT = (FailureKind.OVERLOADED, FailureKind.UNREACHABLE, FailureKind.INVALID, FailureKind.DEADLINE)
WORTH_A_RETRY = (FailureKind.RATE_LIMITED, *PROVIDER_AT_FAULT)
OVERTIME_S = 1.0
"""An attempt keeps the deadline itself, and says what it took by then; after so much more it is broken off."""
BILLED_ATTEMPTS = 2
"""Attempts that may end in an answer that is paid for and lost; a request's worst cost counts each of them."""


@dataclass
class _Lost:
    """What attempts without an answer took."""

    attempts: int = 0
    """Those that took something."""
    cost_usd: float = 0.0
    tokens: int = 0

    def add(self, error: ProposerError) -> None:
        self.attempts += error.cost_usd > 0.0 or error.tokens > 0
        self.cost_usd += error.cost_usd
        self.tokens += error.tokens

    def charged_to(self, error: ProposerError) -> ProposerError:
        error.cost_usd, error.tokens = self.cost_usd, self.tokens
        return error

    def before(self, answer: Answer) -> Answer:
        """The answer, with what was lost on the way to it."""
        return msgspec.structs.replace(answer, cost_usd=answer.cost_usd + self.cost_usd, lost_tokens=self.tokens)


async def ask_until(
    attempt: Callable[[float], Awaitable[Answer]],
    deadline_s: float,
    breaker: CircuitBreaker,
    jitter: Callable[[], float] = random.random,
) -> Answer:
    """The first good answer of ``attempt(seconds left)`` before ``deadline_s`` has passed.

    Waits between attempts grow, have jitter, and are at least what the provider asked for. A wait that does not fit
    ends the request at once. Raises :class:`ProposerError`, whose cost and tokens are those of all lost attempts.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + deadline_s
    wait_s, lost = FIRST_WAIT_S, _Lost()
    while True:
        await _pause(breaker.wait_s(), end, ProposerError(FailureKind.OVERLOADED, "the provider is parked"), lost)
        try:
            answer = await _attempt(attempt, end - loop.time())
        except ProposerError as error:
            lost.add(error)
            _note(breaker, error)
            if error.kind not in WORTH_A_RETRY or lost.attempts >= BILLED_ATTEMPTS:
                raise lost.charged_to(error) from None
            pause_s = max(error.retry_after_s or 0.0, wait_s * (0.5 + jitter()))
            await _pause(pause_s, end, error, lost)
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        else:
            breaker.succeeded()
            return lost.before(answer)


async def _attempt(attempt: Callable[[float], Awaitable[Answer]], left_s: float) -> Answer:
    try:
        async with asyncio.timeout(left_s + OVERTIME_S):
            return await attempt(left_s)
    except TimeoutError:
        raise ProposerError(FailureKind.DEADLINE, "no answer before the deadline") from None


async def _pause(seconds: float, end: float, reason: ProposerError, lost: _Lost) -> None:
    """Sleep, unless the deadline would pass meanwhile: then ``reason`` is final."""
    if seconds <= 0.0:
        return
    if asyncio.get_running_loop().time() + seconds >= end:
        reason.retry_after_s = max(seconds, reason.retry_after_s or 0.0)
        raise lost.charged_to(reason)
    await asyncio.sleep(seconds)


def _note(breaker: CircuitBreaker, error: ProposerError) -> None:
    if error.kind in PROVIDER_AT_FAULT:
        breaker.failed()
    if error.retry_after_s is not None:
        breaker.park(error.retry_after_s)
