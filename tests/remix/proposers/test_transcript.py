"""A recorded search has the answers that it recorded, and no more."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.remix.model import FailureKind, ProposerError
from r3cc.remix.proposers.transcript import TranscriptProposer
from tests.remix.proposers.prompts import prompt


def test_what_was_not_recorded_is_not_answered(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").touch()
    with pytest.raises(ProposerError, match="no answer") as caught:
        asyncio.run(TranscriptProposer(tmp_path / "events.jsonl").propose(prompt(), 1.0))
    assert caught.value.kind is FailureKind.EXHAUSTED


def test_what_is_no_transcript_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(R3Error, match="no transcript"):
        TranscriptProposer(tmp_path / "none.jsonl")
