"""Compiling in fresh processes, as R3's compile processes do: LLVM's options and aborts belong to a process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from r3cc.errors import R3Error
from r3cc.llvm import CompileRequest, CompileResult, Passes, PassesError, PassesStatus

BASELINE_OPTIONS = ("-enable-memcpyopt-without-libcalls",)
"""What clang's driver gives every CUDA device compile with ``-mllvm``."""


class Failure(msgspec.Struct, frozen=True, tag=True):
    status: int
    message: str


class Success(msgspec.Struct, frozen=True, tag=True):
    result: CompileResult


class Job(msgspec.Struct, frozen=True):
    bitcode: bytes
    requests: tuple[CompileRequest, ...]


def baseline(level: int, **changes: Any) -> CompileRequest:
    """What the application's build at ``-O<level>`` did."""
    optimised = level > 1
    request = CompileRequest(
        pipeline=f"default<O{level}>",
        codegen_level=level,
        vectorize_loops=optimised,
        vectorize_slp=optimised,
        unroll_loops=optimised,
        mllvm=BASELINE_OPTIONS,
    )
    return msgspec.structs.replace(request, **changes)


class Outcome(msgspec.Struct, frozen=True):
    returncode: int
    answers: bytes
    log: str


class Compiler:
    """A process that has LLVM loaded and no option of it set, and makes a copy of itself for each job."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.llvm.compiler", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                cwd=_ROOT,
            )
        self._connection = Connection(ours.detach())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()
        self._process.wait()

    def compile_each(self, bitcode: bytes, requests: Sequence[CompileRequest]) -> list[CompileResult]:
        """Results of the requests, all in one copy. Raises what the first failing one raises."""
        self._connection.send_bytes(msgspec.msgpack.encode(Job(bitcode, tuple(requests))))
        outcome = msgspec.msgpack.decode(self._connection.recv_bytes(), type=Outcome)
        if outcome.returncode != 0:
            raise ProcessDied(outcome.returncode, outcome.log)
        answers = msgspec.msgpack.decode(outcome.answers, type=list[Failure | Success])
        for answer in answers:
            if isinstance(answer, Failure):
                raise PassesError(PassesStatus(answer.status), answer.message)
        return [answer.result for answer in answers if isinstance(answer, Success)]


@cache
def _shared_compiler() -> Compiler:
    return Compiler()


def compile_each(bitcode: bytes, requests: Sequence[CompileRequest]) -> list[CompileResult]:
    """Results of the requests, all in one process that did nothing before. Raises what the first failing one raises."""
    return _shared_compiler().compile_each(bitcode, requests)


def compile_one(bitcode: bytes, request: CompileRequest) -> CompileResult:
    return compile_each(bitcode, [request])[0]


class ProcessDied(R3Error):
    """LLVM ended the compile process."""

    def __init__(self, returncode: int, log: str) -> None:
        super().__init__(log)
        self.returncode = returncode


def code_lines(ptx: bytes) -> list[str]:
    """PTX without comments and empty lines."""
    lines = (line.split("//")[0].rstrip() for line in ptx.decode().splitlines())
    return [line for line in lines if line]


_ROOT = Path(__file__).parents[2]


def _answer(passes: Passes, bitcode: bytes, request: CompileRequest) -> Failure | Success:
    try:
        return Success(passes.compile(bitcode, request))
    except PassesError as error:
        return Failure(int(error.status), str(error))


def _in_a_copy(passes: Passes, job: Job) -> Outcome:
    with tempfile.TemporaryFile() as answers, tempfile.TemporaryFile() as log:
        child = os.fork()
        if child == 0:
            os.dup2(log.fileno(), sys.stderr.fileno())
            try:
                made = [_answer(passes, job.bitcode, request) for request in job.requests]
                answers.write(msgspec.msgpack.encode(made))
                answers.flush()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
                os._exit(1)
        _, status = os.waitpid(child, 0)
        answers.seek(0)
        log.seek(0)
        return Outcome(os.waitstatus_to_exitcode(status), answers.read(), log.read().decode(errors="replace"))


def main() -> None:
    """Serve jobs until the other end is closed."""
    passes = Passes()
    connection = Connection(int(sys.argv[1]))
    while True:
        try:
            job = msgspec.msgpack.decode(connection.recv_bytes(), type=Job)
        except EOFError:
            return
        connection.send_bytes(msgspec.msgpack.encode(_in_a_copy(passes, job)))


if __name__ == "__main__":
    main()
