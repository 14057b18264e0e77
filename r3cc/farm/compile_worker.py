"""A process with LLVM in it. It never touches a device."""

from __future__ import annotations

import sys

from r3cc.errors import R3Error
from r3cc.farm.process import Failed, open_line
from r3cc.replay.compile import CodeObject, CodeRequest, CompileFailure, Compiler, CompileSetup, Target
from r3cc.replay.facts import KernelFacts
from r3cc.replay.targets import open_target


def main() -> None:
    """Answer requests until the supervisor is gone."""
    line = open_line(sys.argv)
    setup: CompileSetup = line.receive()
    try:
        target = open_target(setup)
        compiler = Compiler(setup, target)
    except R3Error as error:
        line.receive()
        line.answer(Failed(str(error)))
        return
    while True:
        try:
            request = line.receive()
        except EOFError:
            return
        line.answer(_answer(compiler, target, request))


def _answer(compiler: Compiler, target: Target, request: object) -> CodeObject | KernelFacts | Failed:
    try:
        return compiler.compile(request) if isinstance(request, CodeRequest) else target.facts()
    except CompileFailure as failure:
        return CodeObject(failure.status, str(failure))
    except R3Error as error:
        return Failed(str(error))
