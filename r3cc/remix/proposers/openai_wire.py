"""OpenAI's chat interface, by its SDK 3; vLLM, llama.cpp, Ollama and others speak it as well."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import msgspec
import openai

from r3cc.remix.model import Prompt, ProposerError, TokenUsage
from r3cc.remix.proposers.failures import broken_answer, status_failure, transport_failure
from r3cc.remix.proposers.hosted import Piece

_STOPS = {"stop": "end", "length": "length", "content_filter": "refusal"}


class Capabilities(msgspec.Struct, frozen=True):
    """What a server understands beyond what all of them do."""

    limit_field: str
    """``max_tokens`` is refused by OpenAI's reasoning models, ``max_completion_tokens`` unknown to older servers."""
    cache_key: bool
    """``prompt_cache_key``, which sends equal prefixes to one machine."""
    seed: bool
    """Equal prompts get different, repeatable answers by ``seed``."""


OPENAI = Capabilities(limit_field="max_completion_tokens", cache_key=True, seed=False)
COMPATIBLE = Capabilities(limit_field="max_tokens", cache_key=False, seed=True)


class OpenAIWire:
    """Streams answers of a chat."""

    def __init__(
        self,
        model: str,
        key: str,
        base_url: str,
        effort: str | None,
        capabilities: Capabilities,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        self._model = model
        self._effort = effort
        self._capabilities = capabilities
        self._client = openai.AsyncOpenAI(api_key=key, base_url=base_url, max_retries=0, http_client=http_client)

    async def stream(self, prompt: Prompt, timeout_s: float) -> AsyncIterator[Piece]:
        """Ask once."""
        chunks = await self._client.chat.completions.create(**self.request(prompt), timeout=timeout_s, stream=True)
        try:
            yield Piece(request_id=chunks.response.headers.get("x-request-id"))
            async for chunk in chunks:
                yield _piece(chunk)
        finally:
            await chunks.close()

    def request(self, prompt: Prompt) -> dict[str, Any]:
        """The arguments of a call for ``prompt``."""
        can = self._capabilities
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": prompt.blocks[0].text},
                {"role": "user", "content": "\n\n".join(block.text for block in prompt.blocks[1:])},
            ],
            "stream_options": {"include_usage": True},
            can.limit_field: prompt.max_output_tokens,
        }
        if can.cache_key:
            request["prompt_cache_key"] = cache_key(prompt)
        if can.seed:
            request["seed"] = prompt.sample
        if self._effort:
            request["reasoning_effort"] = self._effort
        return request

    def failure(self, error: Exception) -> ProposerError:
        """What an exception of the SDK means."""
        if isinstance(error, openai.APIStatusError):
            return status_failure(error.status_code, error.message, error.response.headers, error.body)
        if isinstance(error, (openai.APIConnectionError, httpx2.HTTPError, OSError)):
            return transport_failure(error)
        if isinstance(error, openai.APIError):
            return status_failure(200, error.message, {}, error.body)
        return broken_answer(error)

    async def close(self) -> None:
        """Release connections."""
        await self._client.close()


def cache_key(prompt: Prompt) -> str:
    """Equal for prompts that begin alike: a hash of the blocks up to the second breakpoint, which a kernel's share."""
    breakpoints = [number for number, block in enumerate(prompt.blocks) if block.cached][:2]
    shared = prompt.blocks[: breakpoints[-1] + 1 if breakpoints else 1]
    return "r3-" + hashlib.sha256("\n\n".join(block.text for block in shared).encode()).hexdigest()[:24]


def usage_of(raw: Any) -> TokenUsage:
    """Tokens; ``prompt_tokens`` counts what the cache gave or took as well."""
    prompt, completion = raw.prompt_tokens_details, raw.completion_tokens_details
    read = (prompt and prompt.cached_tokens) or 0
    write = (prompt and prompt.cache_write_tokens) or 0
    return TokenUsage(
        uncached=max(0, (raw.prompt_tokens or 0) - read - write),
        cache_read=read,
        cache_write=write,
        output=raw.completion_tokens or 0,
        reasoning=(completion and completion.reasoning_tokens) or 0,
    )


def _piece(chunk: Any) -> Piece:
    usage = usage_of(chunk.usage) if chunk.usage else None
    if not chunk.choices:
        return Piece(usage=usage, model=chunk.model)
    choice = chunk.choices[0]
    refused = getattr(choice.delta, "refusal", None)
    stop = _STOPS.get(choice.finish_reason, "end") if choice.finish_reason else None
    return Piece(
        text=choice.delta.content or refused or "",
        usage=usage,
        stop="refusal" if refused else stop,
        model=chunk.model,
    )
