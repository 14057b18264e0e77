"""A process with LLVM in it that says what a variant's IR holds: LLVM may abort on anything."""

from __future__ import annotations

import re
import sys

import msgspec

from r3cc.errors import R3Error
from r3cc.farm.process import Failed, open_line
from r3cc.llvm import Passes
from r3cc.remix import artefact
from r3cc.remix.artefact import Artefact
from r3cc.remix.source.integers import StructReads, integers_used, struct_reads

MODULE = "r3cc.remix.source.ir_worker"
OPTIMISED = "default<O3>"
_ASSEMBLY = re.compile(r'\basm (?:[a-z]+ )*"((?:[^"\\]|\\[0-9A-Fa-f]{2})*)"')
_GRID_SIZE = re.compile(r"\bcall [^\n]*@llvm\.nvvm\.read\.ptx\.sreg\.nctaid\.")
_DECLARED = re.compile(r'^declare .*?@("(?:[^"\\]|\\.)*"|[\w.$-]+)\(', re.MULTILINE)
_EXTERNAL = re.compile(r'^@("(?:[^"\\]|\\.)*"|[\w.$-]+) = (?:external|extern_weak) (?!.*addrspace\(3\))', re.MULTILINE)


class Inspect(msgspec.Struct, frozen=True):
    """Request: look at a kernel of a module. Answered by :class:`IrFacts`, or Failed."""

    bitcode: bytes
    kernel: str


class IrFacts(msgspec.Struct, frozen=True):
    """What a kernel's closure holds that its module's JSON doesn't say."""

    digest: str
    """Kernel digest."""
    externals: frozenset[str]
    """Functions and variables that are declared only, LLVM's intrinsics left out."""
    assembly: frozenset[str]
    """Inline assembly."""
    static_shared: int
    """Bytes."""
    max_threads: int | None
    """Threads a block that the launch bounds allow."""
    reads_block_size: bool
    reads_grid_size: bool
    integers: frozenset[int]
    """Positions of the integer parameters that its results depend on."""
    structs: StructReads
    artefact: Artefact


def main() -> None:
    """Answer requests until the supervisor is gone."""
    line = open_line(sys.argv)
    line.receive()
    passes = Passes()
    while True:
        try:
            request: Inspect = line.receive()
        except EOFError:
            return
        try:
            line.answer(_inspect(passes, request))
        except R3Error as error:
            line.answer(Failed(str(error)))


def _inspect(passes: Passes, request: Inspect) -> IrFacts:
    alone = passes.extract(request.bitcode, request.kernel)
    text, optimised = passes.text(alone), passes.text(alone, OPTIMISED)
    described = passes.describe_kernel(request.bitcode, request.kernel).kernel(request.kernel)
    externals = {*_DECLARED.findall(text), *_EXTERNAL.findall(text)}
    return IrFacts(
        digest=passes.kernel_digest(request.bitcode, request.kernel),
        externals=frozenset(name for name in externals if not name.startswith("llvm.")),
        assembly=frozenset(_ASSEMBLY.findall(text)),
        static_shared=described.static_shared,
        max_threads=described.max_threads,
        reads_block_size=described.reads_block_size,
        reads_grid_size=_GRID_SIZE.search(optimised) is not None,
        integers=integers_used(optimised, request.kernel),
        structs=struct_reads(optimised, request.kernel),
        artefact=artefact.read(optimised, request.kernel),
    )
