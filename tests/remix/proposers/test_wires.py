"""The wire formats themselves: what a request holds, and how each form of counts and errors is read. No server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from r3cc.remix.model import Block, FailureKind, Prompt, ProposerError, TokenUsage
from r3cc.remix.proposers.anthropic_wire import AnthropicWire
from r3cc.remix.proposers.hosted import Piece
from r3cc.remix.proposers.openai_wire import COMPATIBLE, OPENAI, OpenAIWire, cache_key
from tests.remix.proposers.prompts import prompt

Handler = Callable[[httpx2.Request], httpx2.Response]


def client(handler: Handler) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.MockTransport(handler))


def events(*payloads: dict[str, Any], last: str = "") -> Handler:
    """A stream of these events; Anthropic's name them twice, OpenAI's don't mind."""
    lines = [f"event: {payload.get('type', 'message')}\ndata: {json.dumps(payload)}\n\n" for payload in payloads]
    headers = {"content-type": "text/event-stream", "request-id": "r1", "x-request-id": "r2"}
    return lambda request: httpx2.Response(200, headers=headers, text="".join(lines) + last)


def anthropic(handler: Handler) -> AnthropicWire:
    return AnthropicWire("m", "key", "http://test", None, client(handler))


def openai(handler: Handler, **options: Any) -> OpenAIWire:
    return OpenAIWire("m", "key", "http://test/v1", None, options.get("capabilities", COMPATIBLE), client(handler))


def pieces(wire: AnthropicWire | OpenAIWire) -> list[Piece]:
    async def gather() -> list[Piece]:
        try:
            return [piece async for piece in wire.stream(prompt(), 5.0)]
        finally:
            await wire.close()

    return asyncio.run(gather())


def failure(wire: AnthropicWire | OpenAIWire) -> ProposerError:
    try:
        pieces(wire)
    except Exception as error:
        return wire.failure(error)
    raise AssertionError("it should have failed")


def last(found: list[Piece], name: str) -> Any:
    return [value for piece in found if (value := getattr(piece, name))][-1]


def message(usage: dict[str, int]) -> dict[str, Any]:
    inner = {"id": "m", "type": "message", "role": "assistant", "model": "m-1", "content": [], "usage": usage}
    return {"type": "message_start", "message": inner | {"stop_reason": None, "stop_sequence": None}}


def test_anthropic_counts_cached_tokens_apart() -> None:
    start = {"input_tokens": 10, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 40, "output_tokens": 1}
    end = {"output_tokens": 55, "output_tokens_details": {"thinking_tokens": 20}}
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": end}
    found = pieces(anthropic(events(message(start), delta, {"type": "message_stop"})))
    assert last(found, "usage") == TokenUsage(uncached=10, cache_read=300, cache_write=40, output=55, reasoning=20)
    assert (last(found, "stop"), last(found, "model"), last(found, "request_id")) == ("end", "m-1", "r1")


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("something_new", "end"),
    ],
)
def test_anthropic_stop_reasons(reason: str, stop: str) -> None:
    delta = {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": {"output_tokens": 1},
    }
    assert last(pieces(anthropic(events(message({"input_tokens": 1, "output_tokens": 1}), delta))), "stop") == stop


def test_anthropic_takes_four_breakpoints_at_most() -> None:
    many = Prompt(tuple(Block("b", f"text {n}", cached=True) for n in range(7)), {}, "f", 0)
    request = AnthropicWire("m", "key", "http://test", "high").request(many)
    content = [*request["system"], *request["messages"][0]["content"]]
    assert ["cache_control" in part for part in content] == [False] * 3 + [True] * 4
    assert request["output_config"] == {"effort": "high"} and request["max_tokens"] == many.max_output_tokens


def chunk(delta: dict[str, Any] | None, stop: str | None = None, **more: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": stop}]
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m-2", "choices": choices} | more


def test_openai_counts_cached_tokens_within() -> None:
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "total_tokens": 1050,
        "prompt_tokens_details": {"cached_tokens": 700, "cache_write_tokens": 200},
        "completion_tokens_details": {"reasoning_tokens": 30},
    }
    stream = events(chunk({"content": "a"}), chunk({}, "stop"), chunk(None, usage=usage), last="data: [DONE]\n\n")
    found = pieces(openai(stream))
    assert last(found, "usage") == TokenUsage(uncached=100, cache_read=700, cache_write=200, output=50, reasoning=30)
    assert "".join(piece.text for piece in found) == "a" and last(found, "request_id") == "r2"


def test_openai_counts_without_details() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    assert last(pieces(openai(events(chunk({}, "stop", usage=usage)))), "usage") == TokenUsage(uncached=10, output=5)


@pytest.mark.parametrize(("reason", "stop"), [("stop", "end"), ("length", "length"), ("content_filter", "refusal")])
def test_openai_stop_reasons(reason: str, stop: str) -> None:
    assert last(pieces(openai(events(chunk({"content": "a"}), chunk({}, reason)))), "stop") == stop


def test_openai_cache_key_is_shared_by_a_kernels_prompts() -> None:
    other = prompt("another question", sample=9)
    changed = Prompt((other.blocks[0], Block("kernel", "another kernel", cached=True), *other.blocks[2:]), {}, "f", 0)
    assert cache_key(prompt()) == cache_key(other) != cache_key(changed)
    assert len(cache_key(other)) <= 64


@pytest.mark.parametrize("make", [anthropic, openai])
@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, "invalid_request_error", FailureKind.BAD_REQUEST),
        (401, "authentication_error", FailureKind.BAD_REQUEST),
        (404, "not_found_error", FailureKind.BAD_REQUEST),
        (408, "timeout", FailureKind.UNREACHABLE),
        (409, "conflict", FailureKind.OVERLOADED),
        (429, "rate_limit_error", FailureKind.RATE_LIMITED),
        (429, "insufficient_quota", FailureKind.BAD_REQUEST),
        (500, "api_error", FailureKind.OVERLOADED),
        (503, "unavailable", FailureKind.OVERLOADED),
        (529, "overloaded_error", FailureKind.OVERLOADED),
    ],
)
def test_status_codes(make: Callable[[Handler], Any], status: int, body: str, kind: FailureKind) -> None:
    answer = {"error": {"type": body, "code": body, "message": "no"}}
    error = failure(make(lambda request: httpx2.Response(status, headers={"retry-after": "3"}, json=answer)))
    assert (error.kind, error.retry_after_s) == (kind, 3.0)


@pytest.mark.parametrize("make", [anthropic, openai])
def test_no_connection(make: Callable[[Handler], Any]) -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    assert failure(make(refuse)).kind is FailureKind.UNREACHABLE


def test_requests_carry_what_the_capabilities_allow() -> None:
    sent: list[dict[str, Any]] = []

    def keep(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        return events(chunk({}, "stop"))(request)

    pieces(openai(keep))
    pieces(openai(keep, capabilities=OPENAI))
    assert [("seed" in body, "prompt_cache_key" in body) for body in sent] == [(True, False), (False, True)]
    assert all(body["stream"] and body["stream_options"] == {"include_usage": True} for body in sent)
