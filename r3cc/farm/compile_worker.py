"""A process with LLVM in it. It never touches a device."""

from __future__ import annotations

import sys
from collections import OrderedDict

from r3cc.errors import R3Error
from r3cc.farm.process import Failed, open_line
from r3cc.replay.compile import CodeObject, CodeRequest, CompileFailure, Compiler, CompileSetup, variant_setup
from r3cc.replay.facts import KernelFacts
from r3cc.replay.model import Status
from r3cc.replay.targets import open_target

_KEPT_VARIANTS = 8
"""Variants whose extracted module stays in memory: the tuner compiles an elite many times."""


def main() -> None:
    """Answer requests until the supervisor is gone."""
    line = open_line(sys.argv)
    setup: CompileSetup = line.receive()
    try:
        revisions = _Revisions(setup)
    except R3Error as error:
        line.receive()
        line.answer(Failed(str(error)))
        return
    while True:
        try:
            request = line.receive()
        except EOFError:
            return
        line.answer(_answer(revisions, request))


class _Revisions:
    """Compilers by module revision: the captured module and the variants that came along, the latest few of them."""

    def __init__(self, setup: CompileSetup) -> None:
        self._setup = setup
        self.target = open_target(setup)
        self._captured = Compiler(setup, self.target)
        self._variants: OrderedDict[str, Compiler] = OrderedDict()

    def compiler(self, variant: str | None) -> Compiler:
        """The compiler of a revision. Raises CompileFailure for a variant that is not there."""
        if variant is None:
            return self._captured
        if variant not in self._variants:
            setup = variant_setup(self._setup, variant)
            self._variants[variant] = Compiler(setup, self.target.revised(setup))
        self._variants.move_to_end(variant)
        if len(self._variants) > _KEPT_VARIANTS:
            self._variants.popitem(last=False)
        return self._variants[variant]


def _answer(revisions: _Revisions, request: object) -> CodeObject | KernelFacts | Failed:
    try:
        if isinstance(request, CodeRequest):
            return revisions.compiler(request.variant).compile(request)
        return revisions.target.facts()
    except CompileFailure as failure:
        return CodeObject(failure.status, str(failure))
    except OSError as error:  # a full disk, say: no fault of the candidate, which may be asked for again
        return CodeObject(Status.WORKER_LOST, f"the cache of code objects cannot be written: {error}")
    except R3Error as error:
        return Failed(str(error))
