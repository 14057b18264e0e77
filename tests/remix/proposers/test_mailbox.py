"""A folder as a proposer, with someone at the other side."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.remix.model import Answer, FailureKind, ProposerError
from r3cc.remix.proposers.mailbox import MailboxProposer
from tests.remix.fake_server import wait_for
from tests.remix.proposers.prompts import prompt


def ask(folder: Path, deadline_s: float = 10.0) -> Answer:
    return asyncio.run(MailboxProposer(folder, poll_s=0.01).propose(prompt(), deadline_s))


def answer_one(folder: Path, text: str) -> None:
    """As someone would: look for a prompt, write the answer beside, rename."""
    wait_for(lambda: any((folder / "prompts").glob("*.md")))
    question = next((folder / "prompts").glob("*.md"))
    unfinished = folder / "answers" / "unfinished"
    unfinished.write_text(text)
    unfinished.rename(folder / "answers" / question.name)


def test_prompts_out_answers_in(tmp_path: Path) -> None:
    MailboxProposer(tmp_path)
    other = threading.Thread(target=answer_one, args=(tmp_path, "STRATEGY: patience"))
    other.start()
    answer = ask(tmp_path)
    other.join()
    assert answer.text == "STRATEGY: patience" and answer.usage.estimated
    assert (tmp_path / "answered" / f"{prompt().id}.md").read_text() == prompt().text
    assert not list((tmp_path / "prompts").iterdir())


def test_an_answer_that_came_between_two_runs_is_taken(tmp_path: Path) -> None:
    async def interrupted() -> None:
        task = asyncio.create_task(MailboxProposer(tmp_path, poll_s=0.01).propose(prompt(), 10.0))
        await asyncio.sleep(0.1)
        task.cancel()

    asyncio.run(interrupted())
    assert [path.name for path in (tmp_path / "prompts").iterdir()] == [f"{prompt().id}.md"]
    answer_one(tmp_path, "late, but there")
    assert ask(tmp_path).text == "late, but there"
    assert ask(tmp_path).text == "late, but there", "the same prompt is not asked twice"


def test_a_file_that_grows_is_read_when_it_is_whole(tmp_path: Path) -> None:
    MailboxProposer(tmp_path)
    path = tmp_path / "answers" / f"{prompt().id}.md"

    def grow() -> None:
        with path.open("w", buffering=1) as file:
            for number in range(40):
                file.write(f"line {number}\n")
                file.flush()
                threading.Event().wait(0.005)

    writer = threading.Thread(target=grow)
    writer.start()
    answer = asyncio.run(MailboxProposer(tmp_path, poll_s=0.1).propose(prompt(), 10.0))
    writer.join()
    assert answer.text.endswith("line 39\n")


def test_a_prompt_whose_time_is_over_is_withdrawn(tmp_path: Path) -> None:
    with pytest.raises(ProposerError) as caught:
        ask(tmp_path, deadline_s=0.1)
    assert caught.value.kind is FailureKind.DEADLINE
    assert (tmp_path / "withdrawn" / f"{prompt().id}.md").exists() and not list((tmp_path / "prompts").iterdir())


def test_a_closed_mailbox_ends_the_search(tmp_path: Path) -> None:
    (tmp_path / "closed").touch()
    with pytest.raises(ProposerError) as caught:
        ask(tmp_path)
    assert caught.value.kind is FailureKind.EXHAUSTED


def prepare(folder: Path, kernel: str, **answers: str) -> None:
    place = folder / "prepared" / kernel
    place.mkdir(parents=True)
    for name, text in answers.items():
        (place / f"{name}.md").write_text(text)


def test_answers_written_beforehand_are_given_once_and_in_order(tmp_path: Path) -> None:
    asked = [prompt(sample=sample) for sample in range(3)]
    prepare(tmp_path, asked[0].kernel_region, b="second", a="first")
    prepare(tmp_path, "another_kernel", a="not for this one")
    (tmp_path / "closed").touch()
    box = MailboxProposer(tmp_path, poll_s=0.01)

    async def all_at_once() -> list[Answer | BaseException]:
        return await asyncio.gather(*(box.propose(each, 10.0) for each in asked), return_exceptions=True)

    first, second, third = asyncio.run(all_at_once())
    assert isinstance(first, Answer) and first.text == "first"
    assert isinstance(second, Answer) and second.text == "second"
    assert isinstance(third, ProposerError) and third.kind is FailureKind.EXHAUSTED
    again = asyncio.run(MailboxProposer(tmp_path, poll_s=0.01).propose(asked[0], 10.0))
    assert again.text == "first", "a search that goes on finds the answer that its prompt was given"
    assert [path.name for path in (tmp_path / "prepared" / "another_kernel").iterdir()] == ["a.md"]


def test_a_folder_that_cannot_be_made_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(R3Error, match="cannot make the folder"):
        MailboxProposer(tmp_path / "file" / "box")
