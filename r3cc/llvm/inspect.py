"""One kernel of a module: its IR and PTX as text, for people to read, and what profiles know it by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from r3cc.llvm.model import CompileRequest, ModuleDescription, TablesFound
from r3cc.llvm.passes import Passes
from r3cc.llvm.processes import OwnProcesses, answer_of

TIMEOUT_S = 600


class KernelIdentity(msgspec.Struct, frozen=True):
    """How a profile finds a kernel again, and the launch bounds that its source gives it."""

    digest: str
    """Kernel digest."""
    max_threads: int | None
    """Threads a block, None without bounds."""


class LinkedUnits(msgspec.Struct, frozen=True):
    """The module that units of relocatable device code make together."""

    bitcode: bytes
    description: ModuleDescription
    undefined: tuple[str, ...]
    """Device functions and variables that none of the units defines."""


def kernel_ir(bitcode: bytes, kernel: str) -> str:
    """LLVM IR of a kernel and what it calls, before the optimisation pipeline."""
    return _in_process(_text, bitcode, kernel).decode()


def kernel_ptx(bitcode: bytes, kernel: str, codegen: Mapping[str, Any]) -> str:
    """PTX of a kernel at the recorded options: ``codegen`` is what docs/binary-format.md says."""
    return _in_process(_compile, bitcode, kernel, CompileRequest.from_recorded(codegen)).decode()


def kernel_remarks(bitcode: bytes, kernel: str, codegen: Mapping[str, Any]) -> tuple[str, ...]:
    """What the optimiser says about a kernel and its callees at the recorded options, in its order."""
    request = msgspec.structs.replace(CompileRequest.from_recorded(codegen), remarks=True)
    return msgspec.json.decode(_in_process(_remarks, bitcode, kernel, request), type=tuple[str, ...])


def kernel_identity(bitcode: bytes, kernel: str) -> KernelIdentity:
    """Digest and launch bounds of a kernel. Raises R3Error when the module has no such kernel."""
    return msgspec.json.decode(_in_process(_identify, bitcode, kernel), type=KernelIdentity)


def llvm_version() -> str:
    """Version of the LLVM that R3 belongs to."""
    return _in_process(_version).decode()


def kernel_tables(bitcode: bytes, kernel: str) -> TablesFound:
    """What a kernel's code could take for constant, beside scalars."""
    return msgspec.json.decode(_in_process(_tables, bitcode, kernel), type=TablesFound)


def link_units(units: Sequence[bytes]) -> LinkedUnits:
    """The units of relocatable device code as one module. Raises R3Error where they don't fit together."""
    head, _, bitcode = _in_process(_link, tuple(units)).partition(b"\n")
    undefined, description = msgspec.json.decode(head, type=tuple[tuple[str, ...], ModuleDescription])
    return LinkedUnits(bitcode, description, undefined)


def _link(units: tuple[bytes, ...]) -> bytes:
    passes = Passes()
    bitcode, undefined = passes.link(units)
    return msgspec.json.encode((undefined, passes.describe(bitcode))) + b"\n" + bitcode


def _text(bitcode: bytes, kernel: str) -> bytes:
    passes = Passes()
    return passes.text(passes.extract(bitcode, kernel)).encode()


def _identify(bitcode: bytes, kernel: str) -> bytes:
    passes = Passes()
    bounds = passes.describe_kernel(bitcode, kernel).kernel(kernel).max_threads
    return msgspec.json.encode(KernelIdentity(passes.kernel_digest(bitcode, kernel), bounds))


def _version() -> bytes:
    return Passes().llvm_version.encode()


def _tables(bitcode: bytes, kernel: str) -> bytes:
    return msgspec.json.encode(Passes().tables(bitcode, kernel))


def _compile(bitcode: bytes, kernel: str, request: CompileRequest) -> bytes:
    passes = Passes()
    return passes.compile(passes.extract(bitcode, kernel), request).output


def _remarks(bitcode: bytes, kernel: str, request: CompileRequest) -> bytes:
    passes = Passes()
    return msgspec.json.encode(passes.compile(passes.extract(bitcode, kernel), request).remarks)


def _in_process(work: Callable[..., bytes], *arguments: Any) -> bytes:
    """Run what may abort in LLVM in a process of its own."""
    with OwnProcesses(1) as processes:
        return answer_of(processes.submit(work, *arguments), "the kernel's module", TIMEOUT_S)
