"""A process that asks LLVM what a search space is made of: LLVM may abort, and then only this process does.

Run as ``python -m r3cc.tune.llvm_worker`` by ``r3cc.tune.llvm_facts``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from r3cc.errors import R3Error
from r3cc.farm.process import open_line
from r3cc.llvm import KernelDescription, Passes, PassList
from r3cc.llvm.model import TablesFound


class TargetRequest(msgspec.Struct, frozen=True):
    """Asks for the pipeline text and the passes of one target."""

    triple: str
    cpu: str
    pipeline: str


class TargetAnswer(msgspec.Struct, frozen=True):
    """The pipeline as LLVM prints it, LLVM's passes, LLVM's version."""

    pipeline: str
    passes: PassList
    version: str


class KernelRequest(msgspec.Struct, frozen=True):
    """Asks what the IR says about a kernel's launches."""

    bitcode: Path
    kernel: str


class TablesRequest(msgspec.Struct, frozen=True):
    """Asks what a kernel's code could take for constant, beside scalars."""

    bitcode: Path
    kernel: str


Request = TargetRequest | KernelRequest | TablesRequest


class Refused(msgspec.Struct, frozen=True):
    """The sentence of an error."""

    message: str


def answer(passes: Passes, request: Request) -> TargetAnswer | KernelDescription | TablesFound | Refused:
    """What LLVM says to a request."""
    try:
        if isinstance(request, KernelRequest):
            return passes.describe_kernel(request.bitcode.read_bytes(), request.kernel).kernel(request.kernel)
        if isinstance(request, TablesRequest):
            return passes.tables(request.bitcode.read_bytes(), request.kernel)
        text = passes.parse_pipeline(request.pipeline, request.triple, request.cpu)
        return TargetAnswer(text, passes.list_passes(request.triple, request.cpu), passes.llvm_version)
    except R3Error as error:
        return Refused(str(error))


def main() -> None:
    """Answer requests until the supervisor is gone."""
    line = open_line(sys.argv)
    line.receive()
    try:
        passes: Passes | Refused = Passes()
    except R3Error as error:
        passes = Refused(str(error))
    while True:
        try:
            request = line.receive()
        except EOFError:
            return
        line.answer(passes if isinstance(passes, Refused) else answer(passes, request))


if __name__ == "__main__":
    # Requests are pickled by this module's importable name.
    from r3cc.tune.llvm_worker import main as serve

    serve()
