"""Compiling in fresh processes, as R3's compile processes do: LLVM's options and aborts belong to a process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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


def compile_each(bitcode: bytes, requests: Sequence[CompileRequest]) -> list[CompileResult]:
    """Results of the requests, all in one fresh process. Raises what the first failing one raises."""
    job = msgspec.msgpack.encode(Job(bitcode, tuple(requests)))
    done = subprocess.run([sys.executable, "-m", "tests.llvm.compiler"], input=job, capture_output=True, cwd=_ROOT)
    if done.returncode != 0:
        raise ProcessDied(done.returncode, done.stderr.decode(errors="replace"))
    answers = msgspec.msgpack.decode(done.stdout, type=list[Failure | Success])
    for answer in answers:
        if isinstance(answer, Failure):
            raise PassesError(PassesStatus(answer.status), answer.message)
    return [answer.result for answer in answers if isinstance(answer, Success)]


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


def main() -> None:
    job = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Job)
    passes = Passes()
    answers = [_answer(passes, job.bitcode, request) for request in job.requests]
    sys.stdout.buffer.write(msgspec.msgpack.encode(answers))


if __name__ == "__main__":
    main()
