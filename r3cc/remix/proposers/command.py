"""Any program as a proposer: the prompt on its standard input, the answer on its standard output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import time
from asyncio.subprocess import PIPE, Process

from r3cc.errors import R3Error
from r3cc.remix.model import Answer, FailureKind, Prompt, ProposerError
from r3cc.remix.proposers.estimates import estimated_answer, most_tokens
from r3cc.remix.proposers.redaction import one_line, without_secrets

LONGEST_ANSWER = 4 << 20
_LONGEST_COMPLAINT = 64 << 10


class CommandProposer:
    """Starts the program anew for each prompt, in a process group that is killed as one.

    The program gets ``R3_PROMPT_ID`` and ``R3_SAMPLE`` in its environment, and must end with status 0.
    """

    def __init__(self, command: str) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise R3Error(f"--llm command: '{command}' is no command line: {error}") from None
        if not self._words:
            raise R3Error("--llm command: names no program; write --llm 'command:PROGRAM ARGUMENTS'")
        if shutil.which(self._words[0]) is None:
            raise R3Error(f"--llm command: the program {self._words[0]} is not on the PATH or not executable")
        self.name = f"command:{without_secrets(command)}"
        self.destination: str | None = f"the program {self._words[0]}"

    def worst_cost_usd(self, prompt: Prompt) -> float:
        """R3 doesn't know what the program spends."""
        return 0.0

    def worst_tokens(self, prompt: Prompt) -> int:
        """An estimate: an answer may be longer than asked for."""
        return most_tokens(prompt)

    async def propose(self, prompt: Prompt, deadline_s: float) -> Answer:
        """What the program prints within ``deadline_s`` seconds."""
        started = time.monotonic()
        process = await self._start(prompt)
        try:
            async with asyncio.timeout(deadline_s):
                text, complaint = await _talk(process, prompt.text)
                status = await process.wait()
        except TimeoutError:
            raise ProposerError(
                FailureKind.DEADLINE, f"{self._words[0]} gave no answer in {deadline_s:.0f} s"
            ) from None
        finally:
            await _kill_group(process)
        if status != 0 or not text.strip():
            raise ProposerError(FailureKind.INVALID, self._complaint(status, complaint))
        return estimated_answer(prompt, text, self.name, time.monotonic() - started)

    async def close(self) -> None:
        """Every program has ended with its request."""

    async def _start(self, prompt: Prompt) -> Process:
        environment = os.environ | {"R3_PROMPT_ID": prompt.id, "R3_SAMPLE": str(prompt.sample)}
        try:
            return await asyncio.create_subprocess_exec(
                *self._words, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, start_new_session=True
            )
        except OSError as error:
            raise ProposerError(FailureKind.BAD_REQUEST, f"cannot start {self._words[0]}: {error.strerror}") from None

    def _complaint(self, status: int, complaint: str) -> str:
        if status == 0:
            return f"{self._words[0]} printed nothing"
        last = complaint.strip().splitlines()[-1:] or ["it said nothing"]
        return one_line(f"{self._words[0]} ended with status {status}: {last[0]}")


async def _talk(process: Process, prompt: str) -> tuple[str, str]:
    """Write the prompt; read the answer, and the beginning of what the program complains about."""
    assert process.stdin and process.stdout and process.stderr
    _, answer, complaint = await asyncio.gather(
        _write(process.stdin, prompt),
        _read(process.stdout, LONGEST_ANSWER),
        _read(process.stderr, _LONGEST_COMPLAINT),
    )
    if len(answer) > LONGEST_ANSWER:
        raise ProposerError(FailureKind.INVALID, f"the answer is longer than {LONGEST_ANSWER >> 20} MiB")
    return answer.decode("utf-8", "replace"), complaint.decode("utf-8", "replace")


async def _write(pipe: asyncio.StreamWriter, text: str) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # a program may leave its input unread
        pipe.write(text.encode())
        await pipe.drain()
        pipe.close()


async def _read(pipe: asyncio.StreamReader, longest: int) -> bytes:
    """All of it, so that the program never blocks; what is beyond ``longest`` + 1 bytes is dropped."""
    kept = bytearray()
    while chunk := await pipe.read(1 << 16):
        kept += chunk[: max(0, longest + 1 - len(kept))]
    return bytes(kept)


async def _kill_group(process: Process) -> None:
    """Nothing that the program started outlives its request."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
