"""A recorded search answers as it did."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from r3cc.errors import R3Error
from r3cc.remix.events import OPTIMIZER, Failed, Reply
from r3cc.remix.model import Answer, FailureKind, Prompt, ProposerError, TokenUsage
from r3cc.remix.proposers.transcript import TranscriptProposer
from r3cc.replay.events import VERSION, Begin
from tests.remix.proposers.prompts import prompt


def reply(asked: Prompt, text: str) -> Reply:
    answer = Answer(text, "m", TokenUsage(uncached=5, output=7), total_s=3.0, cost_usd=0.25, request_id="req")
    return Reply(at=1.0, n=0, kernel="k", round=0, proposer="m", prompt=asked.id, answer=answer)


def failed(asked: Prompt) -> Failed:
    kind = FailureKind.OVERLOADED
    return Failed(at=1.0, n=0, kernel="k", round=0, proposer="m", prompt=asked.id, kind=kind, message="busy")


def log(folder: Path, *events: object) -> Path:
    begin = Begin(
        at=0.0,
        version=VERSION,
        recording="r",
        device="cpu",
        device_name="c",
        optimizer=OPTIMIZER,
        seed=1,
        kernels=(),
        versions={},
    )
    path = folder / "events.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in (begin, *events)))
    return path


def ask(proposer: TranscriptProposer, asked: Prompt) -> Answer:
    return asyncio.run(proposer.propose(asked, 1.0))


def test_answers_by_text_and_sample_number(tmp_path: Path) -> None:
    recorded = TranscriptProposer(log(tmp_path, reply(prompt(sample=1), "one"), reply(prompt(sample=2), "two")))
    assert [ask(recorded, prompt(sample=n)).text for n in (2, 1, 2)] == ["two", "one", "two"]
    assert ask(recorded, prompt(sample=1)) == reply(prompt(sample=1), "one").answer
    with pytest.raises(ProposerError) as caught:
        ask(recorded, prompt("another question", sample=1))
    assert caught.value.kind is FailureKind.EXHAUSTED


def test_failures_are_repeated_in_their_order(tmp_path: Path) -> None:
    recorded = TranscriptProposer(log(tmp_path, failed(prompt()), reply(prompt(), "at last")))
    with pytest.raises(ProposerError, match="busy") as caught:
        ask(recorded, prompt())
    assert caught.value.kind is FailureKind.OVERLOADED
    assert ask(recorded, prompt()).text == "at last"


def test_what_is_no_transcript_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(R3Error, match="no transcript"):
        TranscriptProposer(tmp_path / "none.jsonl")
