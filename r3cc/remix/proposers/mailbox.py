"""A folder as a proposer: prompts go out as files, answers come in as files, by whatever way people find.

``DIR/prompts/ID.md`` is a prompt that waits; who answers writes ``DIR/answers/ID.md`` (under another name first, then
renamed). An answered prompt moves to ``DIR/answered``, one whose time is over to ``DIR/withdrawn``. A file
``DIR/closed`` says that no more answers will come. Answers that were written beforehand wait in
``DIR/prepared/KERNEL/*.md``: each is given once, in the order of the names.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path

from r3cc.errors import R3Error
from r3cc.remix.model import Answer, FailureKind, Prompt, ProposerError
from r3cc.remix.proposers.estimates import estimated_answer, most_tokens
from r3cc.store.whole_file import write_whole

LONGEST_ANSWER = 4 << 20
POLL_S = 0.2


class MailboxProposer:
    """Waits for answers, also over restarts: a prompt keeps its id, so an answer that came meanwhile is found."""

    destination = None

    def __init__(self, folder: Path, poll_s: float = POLL_S) -> None:
        self._folder = folder
        self._poll_s = poll_s
        self.name = f"mailbox:{folder}"
        try:
            for name in ("prompts", "answers", "answered", "withdrawn"):
                (folder / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise R3Error(f"--llm mailbox: cannot make the folder {folder}: {error.strerror}") from None

    def worst_cost_usd(self, prompt: Prompt) -> float:
        """R3 doesn't know who answers, and what that costs."""
        return 0.0

    def worst_tokens(self, prompt: Prompt) -> int:
        """An estimate: an answer may be longer than asked for."""
        return most_tokens(prompt)

    async def propose(self, prompt: Prompt, deadline_s: float) -> Answer:
        """The answer's file, once it is whole."""
        started = time.monotonic()
        question = self._folder / "prompts" / f"{prompt.id}.md"
        if not self._answer(prompt).exists() and not self._give_prepared(prompt):
            write_whole(question, prompt.text.encode())
        try:
            async with asyncio.timeout(deadline_s):
                text = await self._wait(prompt)
        except TimeoutError:
            self._move(question, "withdrawn")
            raise ProposerError(FailureKind.DEADLINE, f"no answer to prompt {prompt.id}") from None
        self._move(question, "answered")
        return estimated_answer(prompt, text, self.name, time.monotonic() - started)

    async def close(self) -> None:
        """Prompts under way stay: the next run waits for their answers."""

    def _answer(self, prompt: Prompt) -> Path:
        return self._folder / "answers" / f"{prompt.id}.md"

    def _give_prepared(self, prompt: Prompt) -> bool:
        """Make the next prepared answer this prompt's; another search that shares the folder may be quicker."""
        for prepared in sorted((self._folder / "prepared" / prompt.kernel_region).glob("*.md")):
            with contextlib.suppress(FileNotFoundError):
                prepared.rename(self._answer(prompt))
                return True
        return False

    async def _wait(self, prompt: Prompt) -> str:
        """Two looks at the same size stand between a writer that doesn't rename and half an answer."""
        path, last = self._answer(prompt), -1
        while True:
            size = path.stat().st_size if path.is_file() else -1
            if size > LONGEST_ANSWER:
                raise ProposerError(FailureKind.INVALID, f"the answer is longer than {LONGEST_ANSWER >> 20} MiB")
            if size > 0 and size == last:
                return path.read_text(encoding="utf-8", errors="replace")
            if size < 0 and (self._folder / "closed").exists():
                raise ProposerError(FailureKind.EXHAUSTED, f"the mailbox {self._folder} is closed")
            last = size
            await asyncio.sleep(self._poll_s)

    def _move(self, question: Path, folder: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            question.rename(self._folder / folder / question.name)
