"""One kernel of a module: its IR and PTX as text, for people to read, and what profiles know it by."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import msgspec

from r3cc.errors import R3Error
from r3cc.llvm.model import CompileRequest, ModuleDescription
from r3cc.llvm.passes import Passes

TIMEOUT_S = 120


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
    bounds = passes.describe(bitcode).kernel(kernel).max_threads
    return msgspec.json.encode(KernelIdentity(passes.kernel_digest(bitcode, kernel), bounds))


def _compile(bitcode: bytes, kernel: str, request: CompileRequest) -> bytes:
    passes = Passes()
    return passes.compile(passes.extract(bitcode, kernel), request).output


def _remarks(bitcode: bytes, kernel: str, request: CompileRequest) -> bytes:
    passes = Passes()
    return msgspec.json.encode(passes.compile(passes.extract(bitcode, kernel), request).remarks)


def _in_process(work: Callable[..., bytes], *arguments: Any) -> bytes:
    """Run what may abort in LLVM in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        try:
            answer = pool.submit(_guarded, work, *arguments).result(TIMEOUT_S)
        except BrokenProcessPool:
            raise R3Error("LLVM aborted while it worked on the kernel's module") from None
        except TimeoutError:
            for process in multiprocessing.active_children():
                process.kill()
            raise R3Error(f"LLVM did not end within {TIMEOUT_S} s on the kernel's module") from None
    if isinstance(answer, str):
        raise R3Error(answer)
    return answer


def _guarded(work: Callable[..., bytes], *arguments: Any) -> bytes | str:
    """The work's bytes, or the sentence of its error: an exception with a status of its own can't be sent."""
    try:
        return work(*arguments)
    except R3Error as error:
        return str(error)
