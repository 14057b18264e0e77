"""Processes for single calls of LLVM, which may abort or never end, and whose options hold for a process's life."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Any, Self

from r3cc.errors import R3Error


class OwnProcesses:
    """A few processes, each for one call; a context manager that leaves none behind.

    An interrupt at the terminal reaches this process alone, which ends the others.
    """

    def __init__(self, count: int) -> None:
        self._pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), max_tasks_per_child=1)

    def submit(self, work: Callable[..., bytes], *arguments: Any) -> Future[bytes | str]:
        """Queue a call of a function that another process can import; ``answer_of`` has what it gives."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which what starts here inherits
        try:
            return self._pool.submit(_guarded, work, *arguments)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            for process in list((self._pool._processes or {}).values()):
                process.kill()
        self._pool.shutdown(cancel_futures=True)


def answer_of(job: Future[bytes | str], module: str, seconds: float) -> bytes:
    """What a call on a module gave. Raises R3Error with its own sentence, or where LLVM aborts or takes longer."""
    try:
        answer = job.result(seconds)
    except BrokenProcessPool:
        raise R3Error(f"LLVM aborted on {module}") from None
    except TimeoutError:
        raise R3Error(f"LLVM did not end within {seconds:g} s on {module}") from None
    if isinstance(answer, str):
        raise R3Error(answer)
    return answer


def _guarded(work: Callable[..., bytes], *arguments: Any) -> bytes | str:
    """The work's bytes, or the sentence of its error: an exception with a status of its own can't be sent."""
    try:
        return work(*arguments)
    except R3Error as error:
        return str(error)
