"""Anthropic's Messages interface, by its SDK 2."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anthropic
import httpx2

from r3cc.remix.model import Block, Prompt, ProposerError, TokenUsage
from r3cc.remix.proposers.failures import broken_answer, status_failure, transport_failure
from r3cc.remix.proposers.hosted import Piece

MOST_BREAKPOINTS = 4
_STOPS = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "refusal"}


class AnthropicWire:
    """Streams answers; a block's ``cached`` becomes a cache breakpoint."""

    def __init__(
        self,
        model: str,
        key: str,
        base_url: str,
        effort: str | None,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        self._model = model
        self._effort = effort
        self._client = anthropic.AsyncAnthropic(api_key=key, base_url=base_url, max_retries=0, http_client=http_client)

    async def stream(self, prompt: Prompt, timeout_s: float) -> AsyncIterator[Piece]:
        """Ask once."""
        response = await self._client.messages.create(**self.request(prompt), timeout=timeout_s, stream=True)
        try:
            yield Piece(request_id=response.response.headers.get("request-id"))
            usage: dict[str, Any] = {}
            async for event in response:
                yield _piece(event, usage)
        finally:
            await response.close()

    def request(self, prompt: Prompt) -> dict[str, Any]:
        """The arguments of a call for ``prompt``."""
        blocks = _blocks(tuple(block for block in prompt.blocks if block.text))  # empty ones are refused
        extra: dict[str, Any] = {"output_config": {"effort": self._effort}} if self._effort else {}
        return {
            "model": self._model,
            "max_tokens": prompt.max_output_tokens,
            "system": blocks[:1],
            "messages": [{"role": "user", "content": blocks[1:]}],
            **extra,
        }

    def failure(self, error: Exception) -> ProposerError:
        """What an exception of the SDK means."""
        if isinstance(error, anthropic.APIStatusError):
            return status_failure(error.status_code, error.message, error.response.headers, error.body)
        if isinstance(error, (anthropic.APIConnectionError, httpx2.HTTPError, OSError)):
            return transport_failure(error)
        return broken_answer(error)

    async def close(self) -> None:
        """Release connections."""
        await self._client.close()


def usage_of(raw: dict[str, Any]) -> TokenUsage:
    """Tokens; ``input_tokens`` leaves out what the cache gave or took."""
    details = raw.get("output_tokens_details") or {}
    return TokenUsage(
        uncached=raw.get("input_tokens") or 0,
        cache_read=raw.get("cache_read_input_tokens") or 0,
        cache_write=raw.get("cache_creation_input_tokens") or 0,
        output=raw.get("output_tokens") or 0,
        reasoning=details.get("thinking_tokens") or 0,
    )


def _blocks(blocks: tuple[Block, ...]) -> list[dict[str, Any]]:
    """Content blocks; of more breakpoints than the interface takes the first ones go: later ones cover them."""
    marked = [number for number, block in enumerate(blocks) if block.cached][-MOST_BREAKPOINTS:]
    return [
        {"type": "text", "text": block.text} | ({"cache_control": {"type": "ephemeral"}} if number in marked else {})
        for number, block in enumerate(blocks)
    ]


def _piece(event: Any, usage: dict[str, Any]) -> Piece:
    """One event; ``usage`` gathers what the first and the last ones say."""
    match event.type:
        case "message_start":
            usage.update(_said(event.message.usage))
            return Piece(model=event.message.model, usage=_known(usage))
        case "content_block_delta" if event.delta.type == "text_delta":
            return Piece(text=event.delta.text)
        case "message_delta":
            usage.update(_said(event.usage))
            stop = event.delta.stop_reason
            return Piece(stop=_STOPS.get(stop, "end") if stop else None, usage=_known(usage))
    return Piece()


def _said(usage: Any) -> dict[str, Any]:
    return {key: value for key, value in usage.model_dump().items() if value is not None} if usage else {}


def _known(usage: dict[str, Any]) -> TokenUsage | None:
    return usage_of(usage) if usage else None
