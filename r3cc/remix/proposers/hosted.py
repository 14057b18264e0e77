"""Models behind a network interface: one proposer for every wire format."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Protocol

import msgspec

from r3cc.remix.model import Answer, FailureKind, Prompt, ProposerError, TokenUsage
from r3cc.remix.prices import Price
from r3cc.remix.proposers.breaker import CircuitBreaker
from r3cc.remix.proposers.estimates import estimated_usage, most_tokens
from r3cc.remix.proposers.retry import BILLED_ATTEMPTS, ask_until


class Piece(msgspec.Struct, frozen=True):
    """What one message of a stream adds to an answer; what it doesn't say is None."""

    text: str = ""
    usage: TokenUsage | None = None
    """All tokens so far, not those of this piece."""
    stop: str | None = None
    """``end``, ``length`` or ``refusal``; every whole answer has one."""
    model: str | None = None
    request_id: str | None = None


class Wire(Protocol):
    """A wire format: a prompt becomes a stream of pieces, an SDK's exception a failure."""

    def stream(self, prompt: Prompt, timeout_s: float) -> AsyncIterator[Piece]:
        """Ask once; ``timeout_s`` is the longest silence."""
        ...

    def failure(self, error: Exception) -> ProposerError:
        """What an exception of :meth:`stream` means."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


class Patience(msgspec.Struct, frozen=True):
    """How long an attempt may be silent before it is given up and made again."""

    first_piece: float = 0.5
    """Part of the time left that may pass until the answer begins; what is left is for another attempt."""
    stall_s: float = 60.0
    """Seconds between two pieces of an answer that has begun."""


class HostedModel(msgspec.Struct, frozen=True):
    """Which model, where, at what price."""

    name: str
    """The specification as the user gave it: it holds no secrets."""
    model: str
    destination: str | None
    """Host that gets the source text; None for this machine."""
    price: Price | None
    """None when it is not known."""


class HostedProposer:
    """Asks a hosted model, with one deadline, one retry layer and a circuit breaker."""

    def __init__(
        self, hosted: HostedModel, wire: Wire, breaker: CircuitBreaker, patience: Patience | None = None
    ) -> None:
        self.hosted = hosted
        self._wire = wire
        self._breaker = breaker
        self._patience = patience or Patience()

    @property
    def name(self) -> str:
        """The specification as the user gave it."""
        return self.hosted.name

    @property
    def destination(self) -> str | None:
        """Host that gets the source text; None for this machine."""
        return self.hosted.destination

    def worst_cost_usd(self, prompt: Prompt) -> float:
        """The most that one request can cost, with the attempts that may be lost; infinite without a price."""
        if self.hosted.price is None:
            return float("inf")
        return BILLED_ATTEMPTS * self.hosted.price.worst_cost_usd(prompt)

    def worst_tokens(self, prompt: Prompt) -> int:
        """The most tokens of one request, with the attempts that may be lost."""
        return BILLED_ATTEMPTS * most_tokens(prompt)

    async def propose(self, prompt: Prompt, deadline_s: float) -> Answer:
        """One answer within ``deadline_s`` seconds, retries included."""

        async def attempt(left_s: float) -> Answer:
            return await self._attempt(prompt, left_s)

        return await ask_until(attempt, deadline_s, self._breaker)

    async def close(self) -> None:
        """Release connections."""
        await self._wire.close()

    async def _attempt(self, prompt: Prompt, left_s: float) -> Answer:
        gathered = _Gathered(prompt, self.hosted)
        stream = self._wire.stream(prompt, left_s)
        try:
            async with asyncio.timeout(left_s):
                return await self._gather(stream, gathered, left_s * self._patience.first_piece)
        except ProposerError as error:
            failure = error
        except TimeoutError:
            failure = ProposerError(FailureKind.DEADLINE, "no whole answer before the deadline")
        except Exception as error:  # whatever an SDK throws is an event of the search, not its end
            failure = self._wire.failure(error)
        finally:
            await _close(stream)
        failure.cost_usd, failure.tokens = gathered.lost()
        raise failure  # outside of the handlers: the SDK's exception, which holds the request, stays behind

    async def _gather(self, stream: AsyncIterator[Piece], gathered: _Gathered, wait_s: float) -> Answer:
        while (piece := await _next(stream, wait_s)) is not None:
            gathered.add(piece)
            wait_s = self._patience.stall_s if gathered.begun else wait_s
        return gathered.answer()


class _Gathered:
    """An answer under way."""

    def __init__(self, prompt: Prompt, hosted: HostedModel) -> None:
        self._prompt = prompt
        self._hosted = hosted
        self._started = time.monotonic()
        self._first: float | None = None
        self._parts: list[str] = []
        self._last = Piece()

    @property
    def begun(self) -> bool:
        return self._first is not None

    def add(self, piece: Piece) -> None:
        if piece.text:
            self._parts.append(piece.text)
            self._first = self._first or time.monotonic()
        said = {name: value for name in ("usage", "stop", "model", "request_id") if (value := getattr(piece, name))}
        if self._last.stop == "refusal":  # some servers say "stop" after it
            said.pop("stop", None)
        self._last = msgspec.structs.replace(self._last, **said)

    def answer(self) -> Answer:
        text, now = "".join(self._parts), time.monotonic()
        if self._last.stop is None:
            raise ProposerError(FailureKind.INVALID, "the answer broke off")
        usage = self._last.usage or estimated_usage(self._prompt.text, text)
        return Answer(
            text=text,
            model=self._last.model or self._hosted.model,
            usage=usage,
            stop=self._last.stop,
            first_token_s=(self._first or now) - self._started,
            total_s=now - self._started,
            cost_usd=self._hosted.price.cost_usd(usage) if self._hosted.price else 0.0,
            request_id=self._last.request_id or "",
        )

    def lost(self) -> tuple[float, int]:
        """What an attempt that broke off costs (US dollars, tokens): nothing before the provider began to answer."""
        if self._last == Piece() and not self._parts:
            return 0.0, 0
        known, guessed = self._last.usage, estimated_usage(self._prompt.text, "".join(self._parts))
        usage = guessed if known is None else msgspec.structs.replace(known, output=max(known.output, guessed.output))
        return (self._hosted.price.cost_usd(usage) if self._hosted.price else 0.0), usage.total


async def _next(stream: AsyncIterator[Piece], wait_s: float) -> Piece | None:
    """The next piece, None at the end."""
    try:
        async with asyncio.timeout(wait_s):
            return await anext(stream, None)
    except TimeoutError:
        raise ProposerError(FailureKind.DEADLINE, f"the server was silent for {wait_s:.0f} s") from None


async def _close(stream: AsyncIterator[Piece]) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()
