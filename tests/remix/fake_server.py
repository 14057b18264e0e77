"""A server that speaks both wire formats, caches prefixes as the providers do, and fails as told.

It is real HTTP on a loopback port, so that the SDKs' own transport, streams and errors are in the tests.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

CHARACTERS_PER_TOKEN = 4


class Fault(Enum):
    """What a request meets instead of an answer."""

    RATE_LIMITED = "429 with retry-after"
    OVERLOADED = "529"
    SERVER_ERROR = "500"
    UNAUTHORIZED = "401 that echoes the key"
    STALL_BEFORE_HEADERS = "silence"
    STALL_MID_STREAM = "silence after the first words"
    DISCONNECT = "the connection closes before headers"
    CUT_STREAM = "the connection closes in the middle"
    CUT_JSON = "an event that is half a JSON document"
    ERROR_MID_STREAM = "an error event after 200"
    NO_USAGE = "an answer without token counts"
    LENGTH_STOP = "an answer cut by the token limit"
    REFUSAL = "a refusal"
    GARBAGE = "HTML with status 200"


@dataclass
class Seen:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class FakeServer:
    """``with FakeServer() as server:`` serves at ``server.url``; ``script`` holds what the next requests meet."""

    answer: Callable[[str], str] = lambda prompt: "fine"
    script: deque[Fault | None] = field(default_factory=deque)
    retry_after: str = "0.05"
    stall_s: float = 30.0
    seen: list[Seen] = field(default_factory=list)
    _prefixes: dict[str, list[str]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closing: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                try:
                    fake.serve(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, *_: Any) -> None:
                """Silent."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._http.block_on_close = False
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def serve(self, request: BaseHTTPRequestHandler) -> None:
        body = json.loads(request.rfile.read(int(request.headers["content-length"])))
        with self._lock:
            self.seen.append(Seen(request.path, {k.lower(): v for k, v in request.headers.items()}, body))
            fault = self.script.popleft() if self.script else None
        if fault is not None and self._refuse(request, fault):
            return
        wire = _anthropic_events if request.path.endswith("/messages") else _openai_events
        prompt = _prompt_of(body)
        read, write = self._cached(body, prompt)
        words = "" if fault is Fault.REFUSAL else self.answer(prompt)
        if body.get("stream") is False:
            _send(request, 200, _openai_whole(_Reply(words, prompt, read, write, fault), body))
            return
        events = wire(_Reply(words, prompt, read, write, fault), body)
        self._stream(request, events, fault)

    def _refuse(self, request: BaseHTTPRequestHandler, fault: Fault) -> bool:
        """Faults that need no stream."""
        match fault:
            case Fault.RATE_LIMITED:
                _send(request, 429, _error("rate_limit_error", "slow down"), {"retry-after": self.retry_after})
            case Fault.OVERLOADED:
                _send(request, 529, _error("overloaded_error", "overloaded"))
            case Fault.SERVER_ERROR:
                _send(request, 500, _error("api_error", "internal"))
            case Fault.UNAUTHORIZED:
                _send(request, 401, _error("authentication_error", f"bad key {request.headers['authorization']}"))
            case Fault.GARBAGE:
                _send(request, 200, "<html>welcome to the hotel's network</html>", {"content-type": "text/html"})
            case Fault.STALL_BEFORE_HEADERS:
                self._closing.wait(self.stall_s)
                request.close_connection = True
            case Fault.DISCONNECT:
                request.close_connection = True
            case _:
                return False
        return True

    def _stream(self, request: BaseHTTPRequestHandler, events: Iterable[str], fault: Fault | None) -> None:
        request.send_response(200)
        for name, value in (("content-type", "text/event-stream"), ("request-id", "req_7"), ("x-request-id", "req_7")):
            request.send_header(name, value)
        request.send_header("connection", "close")
        request.end_headers()
        request.close_connection = True
        for number, event in enumerate(events):
            if number == 4 and fault is Fault.STALL_MID_STREAM:
                self._closing.wait(self.stall_s)
                return
            if number == 4 and fault is Fault.CUT_STREAM:
                return
            if number == 4 and fault is Fault.CUT_JSON:
                event = event[: len(event) // 2] + "\n\n"
            if number == 4 and fault is Fault.ERROR_MID_STREAM:
                event = f"event: error\ndata: {_error('overloaded_error', 'overloaded')}\n\n"
            request.wfile.write(event.encode())
            request.wfile.flush()

    def _cached(self, body: dict[str, Any], prompt: str) -> tuple[int, int]:
        """Tokens read from and written to the cache of the model: the longest prefix of an earlier prompt."""
        with self._lock:
            earlier = self._prefixes.setdefault(body["model"], [])
            marks = _breakpoints(body)
            if marks is None:
                shared = max((_common(prompt, each) for each in earlier), default=0)
                earlier.append(prompt)
                return shared // CHARACTERS_PER_TOKEN, 0
            read = max((mark for mark in marks if prompt[:mark] in earlier), default=0)
            earlier += [prompt[:mark] for mark in marks]
            last = max(marks, default=0)
            return read // CHARACTERS_PER_TOKEN, (last - read) // CHARACTERS_PER_TOKEN


@dataclass
class _Reply:
    text: str
    prompt: str
    read: int
    write: int
    fault: Fault | None

    @property
    def input(self) -> int:
        return len(self.prompt) // CHARACTERS_PER_TOKEN

    @property
    def output(self) -> int:
        return len(self.text) // CHARACTERS_PER_TOKEN + 7

    def pieces(self) -> list[str]:
        return [self.text[at : at + 64] for at in range(0, len(self.text), 64)] or [""]


def _anthropic_events(reply: _Reply, body: dict[str, Any]) -> Iterator[str]:
    before = {
        "input_tokens": reply.input - reply.read - reply.write,
        "cache_read_input_tokens": reply.read,
        "cache_creation_input_tokens": reply.write,
        "output_tokens": 1,
    }
    stop = {Fault.LENGTH_STOP: "max_tokens", Fault.REFUSAL: "refusal"}.get(reply.fault or Fault.GARBAGE, "end_turn")
    counted = reply.fault is not Fault.NO_USAGE
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": before if counted else None}
    yield _event("message_start", message=message)
    yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    yield _event("ping")
    for piece in reply.pieces():
        yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
    yield _event("content_block_stop", index=0)
    after = {"output_tokens": reply.output, "output_tokens_details": {"thinking_tokens": 3}}
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield _event("message_delta", delta=delta, usage=after if counted else None)
    yield _event("message_stop")


def _openai_events(reply: _Reply, body: dict[str, Any]) -> Iterator[str]:
    def chunk(delta: dict[str, Any], stop: str | None = None, **more: Any) -> str:
        head = {"id": "chat_1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        choice = {"index": 0, "delta": delta, "finish_reason": stop}
        return f"data: {json.dumps(head | {'choices': [choice]} | more)}\n\n"

    yield chunk({"role": "assistant", "content": ""})
    for piece in reply.pieces():
        yield chunk({"content": piece})
    if reply.fault is Fault.REFUSAL:
        yield chunk({"refusal": "I cannot help with that."})
    yield chunk({}, "length" if reply.fault is Fault.LENGTH_STOP else "stop")
    if reply.fault is not Fault.NO_USAGE and body.get("stream_options", {}).get("include_usage"):
        yield chunk({}, choices=[], usage=_openai_usage(reply))
    yield "data: [DONE]\n\n"


def _openai_whole(reply: _Reply, body: dict[str, Any]) -> str:
    """The answer in one piece, for clients that don't ask for a stream."""
    head = {"id": "chat_1", "object": "chat.completion", "created": 1, "model": body["model"]}
    message = {"role": "assistant", "content": reply.text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps(head | {"choices": [choice], "usage": _openai_usage(reply)})


def _openai_usage(reply: _Reply) -> dict[str, Any]:
    return {
        "prompt_tokens": reply.input,
        "completion_tokens": reply.output,
        "total_tokens": reply.input + reply.output,
        "prompt_tokens_details": {"cached_tokens": reply.read},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }


def _event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields)}\n\n"


def _error(kind: str, message: str) -> str:
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}})


def _send(request: BaseHTTPRequestHandler, status: int, text: str, headers: dict[str, str] | None = None) -> None:
    request.send_response(status)
    for name, value in ({"content-type": "application/json"} | (headers or {})).items():
        request.send_header(name, value)
    request.send_header("content-length", str(len(text)))
    request.end_headers()
    request.wfile.write(text.encode())


def _prompt_of(body: dict[str, Any]) -> str:
    parts = _parts(body)
    return "\n\n".join(part["text"] for part in parts)


def _parts(body: dict[str, Any]) -> list[dict[str, Any]]:
    """All content in order, as text blocks."""
    messages = [{"content": body.get("system", [])}, *body["messages"]]
    contents = [message["content"] for message in messages]
    return [part for content in contents for part in ([{"text": content}] if isinstance(content, str) else content)]


def _breakpoints(body: dict[str, Any]) -> list[int] | None:
    """Lengths of the prompt up to each cache breakpoint; None for the format without breakpoints."""
    if "max_tokens" not in body or "system" not in body:
        return None
    ends, length = [], 0
    for number, part in enumerate(_parts(body)):
        length += len(part["text"]) + (2 if number else 0)
        if "cache_control" in part:
            ends.append(length)
    return ends


def _common(one: str, other: str) -> int:
    """Length of the common prefix, by bisection: a loop over characters would be what the tests wait for."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def wait_for(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Poll until ``condition`` holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
