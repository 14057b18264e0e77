"""The one retry loop: all attempts of a request under one deadline."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import msgspec

from r3cc.remix.model import Answer, FailureKind, ProposerError
from r3cc.remix.proposers.breaker import CircuitBreaker

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
PROVIDER_AT_FAULT = (FailureKind.OVERLOADED, FailureKind.UNREACHABLE, FailureKind.INVALID, FailureKind.DEADLINE)
WORTH_A_RETRY = (FailureKind.RATE_LIMITED, *PROVIDER_AT_FAULT)
BILLED_ATTEMPTS = 2
"""Attempts that may end in an answer that is paid for and lost; a request's worst cost counts each of them."""


async def ask_until(
    attempt: Callable[[float], Awaitable[Answer]],
    deadline_s: float,
    breaker: CircuitBreaker,
    jitter: Callable[[], float] = random.random,
) -> Answer:
    """The first good answer of ``attempt(seconds left)`` before ``deadline_s`` has passed.

    Waits between attempts grow, have jitter, and are at least what the provider asked for. A wait that does not fit
    ends the request at once. Raises :class:`ProposerError`, whose cost is that of all lost attempts.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + deadline_s
    wait_s, spent_usd, billed = FIRST_WAIT_S, 0.0, 0
    while True:
        await _pause(breaker.wait_s(), end, ProposerError(FailureKind.OVERLOADED, "the provider is parked"), spent_usd)
        try:
            answer = await _attempt(attempt, end - loop.time())
        except ProposerError as error:
            spent_usd += error.cost_usd
            billed += error.cost_usd > 0.0
            _note(breaker, error)
            if error.kind not in WORTH_A_RETRY or billed >= BILLED_ATTEMPTS:
                raise _with_cost(error, spent_usd) from None
            pause_s = max(error.retry_after_s or 0.0, wait_s * (0.5 + jitter()))
            await _pause(pause_s, end, error, spent_usd)
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)
        else:
            breaker.succeeded()
            return _charged(answer, spent_usd)


async def _attempt(attempt: Callable[[float], Awaitable[Answer]], left_s: float) -> Answer:
    try:
        async with asyncio.timeout(left_s):
            return await attempt(left_s)
    except TimeoutError:
        raise ProposerError(FailureKind.DEADLINE, "no answer before the deadline") from None


async def _pause(seconds: float, end: float, reason: ProposerError, spent_usd: float) -> None:
    """Sleep, unless the deadline would pass meanwhile: then ``reason`` is final."""
    if seconds <= 0.0:
        return
    if asyncio.get_running_loop().time() + seconds >= end:
        reason.retry_after_s = max(seconds, reason.retry_after_s or 0.0)
        raise _with_cost(reason, spent_usd)
    await asyncio.sleep(seconds)


def _note(breaker: CircuitBreaker, error: ProposerError) -> None:
    if error.kind in PROVIDER_AT_FAULT:
        breaker.failed()
    if error.retry_after_s is not None:
        breaker.park(error.retry_after_s)


def _with_cost(error: ProposerError, spent_usd: float) -> ProposerError:
    error.cost_usd = spent_usd
    return error


def _charged(answer: Answer, spent_usd: float) -> Answer:
    """The answer, with what was lost on the way to it."""
    return msgspec.structs.replace(answer, cost_usd=answer.cost_usd + spent_usd)
