"""Programs as proposers: what they say, how they fail, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.remix.model import Answer, FailureKind, ProposerError
from r3cc.remix.proposers.command import LONGEST_ANSWER, CommandProposer
from tests.remix.proposers.prompts import prompt


def program(folder: Path, text: str) -> str:
    path = folder / "agent"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def ask(command: str, deadline_s: float = 20.0, question: str = "faster?", sample: int = 0) -> Answer:
    return asyncio.run(CommandProposer(command).propose(prompt(question, sample), deadline_s))


def test_prompt_on_standard_input_answer_on_standard_output(tmp_path: Path) -> None:
    answer = ask(program(tmp_path, 'cat; echo " sample $R3_SAMPLE of $R3_PROMPT_ID"'), sample=3)
    assert answer.text == prompt(sample=3).text.replace("make it faster", "faster?") + (
        f" sample 3 of {prompt('faster?', 3).id}\n"
    )
    assert answer.usage.estimated and answer.usage.uncached > 100 and answer.cost_usd == 0.0


def test_a_long_prompt_that_nobody_reads_blocks_nothing(tmp_path: Path) -> None:
    assert ask(program(tmp_path, "echo done"), question="x" * 2_000_000).text == "done\n"


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("echo early; echo 'no quota' >&2; exit 3", FailureKind.INVALID, "status 3: no quota"),
        ("exit 0", FailureKind.INVALID, "printed nothing"),
        ("kill -SEGV $$", FailureKind.INVALID, "status -11"),
        (f"head -c {LONGEST_ANSWER + 1000} /dev/zero", FailureKind.INVALID, "longer than 4 MiB"),
    ],
)
def test_failures_have_a_reason(tmp_path: Path, text: str, kind: FailureKind, message: str) -> None:
    with pytest.raises(ProposerError, match=message) as caught:
        ask(program(tmp_path, text))
    assert caught.value.kind is kind


def test_the_whole_group_is_killed_at_the_deadline(tmp_path: Path) -> None:
    child = tmp_path / "child"
    with pytest.raises(ProposerError) as caught:
        ask(program(tmp_path, f"sleep 300 & echo $! > {child}; wait"), deadline_s=1.0)
    assert caught.value.kind is FailureKind.DEADLINE
    assert gone(int(child.read_text()))


def test_what_a_program_leaves_running_is_killed(tmp_path: Path) -> None:
    child = tmp_path / "child"
    answer = ask(program(tmp_path, f"sleep 300 >/dev/null 2>&1 & echo $! > {child}; echo fine"))
    assert answer.text == "fine\n" and gone(int(child.read_text()))


def gone(process: int) -> bool:
    """Whether a process ended, if need be as a zombie that its new parent has not yet seen."""
    for _ in range(200):
        try:
            os.kill(process, 0)
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


def test_secrets_in_complaints_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "my-very-own-key")
    with pytest.raises(ProposerError) as caught:
        ask(program(tmp_path, 'echo "bad key $OPENAI_API_KEY" >&2; exit 1'))
    assert "[key]" in str(caught.value) and "my-very-own-key" not in str(caught.value)


@pytest.mark.parametrize(
    ("command", "message"), [("no-such-agent", "not on the PATH"), ("'x", "no command line"), ("  ", "names no")]
)
def test_what_cannot_be_started_is_an_error_at_once(command: str, message: str) -> None:
    with pytest.raises(R3Error, match=message):
        CommandProposer(command)
