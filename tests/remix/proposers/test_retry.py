"""One deadline, one retry layer, one breaker a provider."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import pytest

from r3cc.remix.model import Answer, FailureKind, ProposerError
from r3cc.remix.proposers import retry
from r3cc.remix.proposers.breaker import FAILURES_TO_OPEN, FIRST_PAUSE_S, CircuitBreaker
from r3cc.remix.proposers.failures import retry_after_s
from r3cc.remix.proposers.retry import ask_until


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def scripted(outcomes: Sequence[ProposerError | Answer]) -> Callable[[float], object]:
    left = list(outcomes)

    async def attempt(left_s: float) -> Answer:
        outcome = left.pop(0)
        if isinstance(outcome, ProposerError):
            raise outcome
        return outcome

    return attempt


def ask(
    outcomes: Sequence[ProposerError | Answer], deadline_s: float = 5.0, breaker: CircuitBreaker | None = None
) -> Answer:
    return asyncio.run(ask_until(scripted(outcomes), deadline_s, breaker or CircuitBreaker()))  # type: ignore[arg-type]


def error(kind: FailureKind, retry_after: float | None = None, cost: float = 0.0, tokens: int = 0) -> ProposerError:
    return ProposerError(kind, "no", retry_after, cost, tokens)


GOOD = Answer("text", "m", cost_usd=1.0)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.001)


def test_passing_failures_are_asked_again_and_paid() -> None:
    answer = ask([error(FailureKind.OVERLOADED), error(FailureKind.INVALID, cost=0.5, tokens=70), GOOD])
    assert answer.text == "text" and answer.cost_usd == 1.5 and answer.lost_tokens == 70


def test_lasting_failures_are_not_asked_again() -> None:
    for kind in (FailureKind.BAD_REQUEST, FailureKind.REFUSED, FailureKind.EXHAUSTED):
        with pytest.raises(ProposerError) as caught:
            ask([error(kind), GOOD])
        assert caught.value.kind is kind


def test_retry_after_is_waited_for() -> None:
    begun = time.monotonic()
    ask([error(FailureKind.RATE_LIMITED, retry_after=0.3), GOOD])
    assert time.monotonic() - begun >= 0.3


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    begun = time.monotonic()
    with pytest.raises(ProposerError) as caught:
        ask([error(FailureKind.RATE_LIMITED, retry_after=60.0)])
    assert time.monotonic() - begun < 5.0
    assert caught.value.retry_after_s == pytest.approx(60.0)


@pytest.mark.parametrize("cost", [0.5, 0.0])
def test_at_most_two_paid_attempts_are_lost(cost: float) -> None:
    """Tokens of a server that is free count as well."""
    with pytest.raises(ProposerError) as caught:
        ask([*(error(FailureKind.INVALID, cost=cost, tokens=30) for _ in range(2)), GOOD])
    assert (caught.value.cost_usd, caught.value.tokens) == (2 * cost, 60)


def test_an_attempt_that_hangs_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(left_s: float) -> Answer:
        await asyncio.sleep(60)
        return GOOD

    monkeypatch.setattr(retry, "OVERTIME_S", 0.0)
    with pytest.raises(ProposerError) as caught:
        asyncio.run(ask_until(hang, 0.2, CircuitBreaker()))
    assert caught.value.kind is FailureKind.DEADLINE


def test_cancelling_is_not_a_failure() -> None:
    async def run() -> CircuitBreaker:
        breaker = CircuitBreaker()

        async def hang(left_s: float) -> Answer:
            await asyncio.sleep(60)
            return GOOD

        task = asyncio.create_task(ask_until(hang, 30.0, breaker))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return breaker

    assert asyncio.run(run()).wait_s() == 0.0


def test_breaker_opens_after_failures_in_a_row_and_for_ever_longer() -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock)
    for _ in range(FAILURES_TO_OPEN - 1):
        breaker.failed()
    assert breaker.wait_s() == 0.0
    breaker.failed()
    assert breaker.wait_s() == FIRST_PAUSE_S
    breaker.failed()
    assert breaker.wait_s() == FIRST_PAUSE_S, "failures of what was under way change nothing"
    clock.now += FIRST_PAUSE_S
    breaker.failed()
    assert breaker.wait_s() == 2 * FIRST_PAUSE_S
    clock.now += 2 * FIRST_PAUSE_S
    breaker.succeeded()
    breaker.failed()
    assert breaker.wait_s() == 0.0


def test_a_parked_provider_is_not_asked() -> None:
    breaker = CircuitBreaker()
    breaker.park(100.0)
    with pytest.raises(ProposerError) as caught:
        ask([], breaker=breaker)
    assert caught.value.kind is FailureKind.OVERLOADED and (caught.value.retry_after_s or 0) > 90


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after_in_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds
