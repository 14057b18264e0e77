"""Code objects of kernels that carry no IR: the recorded cubin as it is, recorded PTX assembled again.

A cubin may have come with the PTX of the same source. A candidate that asks for ptxas options gets that PTX, assembled.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from r3cc.errors import R3Error
from r3cc.llvm import AssembleError, AssembleTimeoutError, CompileRequest, CompileResult, assemble
from r3cc.replay.codegen import BuildOptions
from r3cc.replay.compile import Assembled, CompileFailure, CompileSetup, digest
from r3cc.replay.facts import KernelFacts
from r3cc.replay.model import Specialisation, Status
from r3cc.store import Store
from r3cc.store.model import Kernel, Module
from r3cc.store.whole_file import write_whole
from r3cc.toolchain.cuda import find_ptxas

_ASSEMBLE_TIMEOUT_S = 120.0

CUBIN, PTX = "cubin", "ptx"


def is_foreign(info: dict[str, Any]) -> bool:
    """Whether a module's description is that of code without IR (docs/store-format.md)."""
    return info.get("format") in (CUBIN, PTX)


def foreign_setup(store: Store, module: Module, kernel: Kernel, device: str, architecture: str) -> CompileSetup:
    """What compile processes need of a module without IR; puts its code into the store's cache.

    Raises R3Error where the store has no code of it, or the device is another kind.
    """
    if module.image is None or device == "cpu":
        raise R3Error(f"the code of {kernel.demangled} cannot run on {device}: it carries no IR")
    code = _cached(store, module.image)
    ptx = None if module.ptx is None else _cached(store, module.ptx)
    info = module.info | {"module": module.module}
    return CompileSetup(code, info, kernel.name, device, architecture, store.cache, ptx=ptx)


def ptx_of(setup: CompileSetup) -> bytes | None:
    """The PTX of code without IR; None where there is machine code alone."""
    path = setup.bitcode if setup.info["format"] == PTX else setup.ptx
    return None if path is None else path.read_bytes().rstrip(b"\0")


def _cached(store: Store, key: str) -> Path:
    file = store.cache / "modules" / f"foreign-{key}"
    if not file.is_file():
        write_whole(file, store.blob(key))
    return file


class ForeignTarget:
    """Takes launch shapes, and where there is PTX what ptxas takes; every other candidate is rejected."""

    def __init__(self, setup: CompileSetup) -> None:
        self._setup = setup
        self._ptx = ptx_of(setup)
        self._ptxas = find_ptxas() if self._ptx is not None else None
        if setup.info["format"] == PTX and self._ptxas is None:
            raise R3Error("ptxas was not found; `r3 doctor` says how to get it")
        self._architecture = setup.architecture or str(setup.info.get("architecture", ""))
        self._baseline = BuildOptions.recorded(setup.info).request

    @property
    def identity(self) -> str:
        """The content, and what assembles it."""
        assembler = f"{digest(self._ptx)} {self._ptxas.version}" if self._ptx and self._ptxas else ""
        return f"{self._setup.info['module']} {assembler} {self._architecture}"

    def extract(self, specialisation: Specialisation) -> bytes:
        """The recorded code."""
        if specialisation != Specialisation():
            raise CompileFailure(Status.REJECTED, "a kernel without IR cannot be specialised")
        return self._setup.bitcode.read_bytes()

    def compile(self, bitcode: bytes, request: CompileRequest) -> CompileResult:
        """Nothing is left to compile."""
        if msgspec.structs.replace(request, emit=self._baseline.emit) != self._baseline:
            raise CompileFailure(Status.REJECTED, "a kernel without IR has neither a pipeline nor code generation")
        return CompileResult(bitcode, digest(bitcode), 0, 0)

    def finish(self, output: bytes, ptxas: Sequence[str]) -> Assembled:
        """The recorded cubin, or one that ptxas makes of the PTX with these options."""
        if not ptxas:
            return Assembled(output)
        if self._ptx is None or self._ptxas is None:
            lack = "PTX, and the recording has machine code alone" if self._ptx is None else "ptxas"
            raise CompileFailure(Status.REJECTED, f"options of ptxas need {lack}")
        try:
            made = assemble(self._ptx, self._ptxas.path, self._architecture, ptxas, _ASSEMBLE_TIMEOUT_S)
        except AssembleTimeoutError as error:
            raise CompileFailure(Status.COMPILE_TIMEOUT, str(error)) from None
        except AssembleError as error:
            raise CompileFailure(Status.COMPILE_ERROR, str(error)) from None
        resources = made.resources.get(self._setup.kernel)
        return Assembled(made.cubin, msgspec.structs.asdict(resources) if resources else {})

    def facts(self) -> KernelFacts:
        """Nothing but the name: memory is compared by bytes."""
        return KernelFacts(self._setup.kernel)

    def revised(self, setup: CompileSetup) -> Self:
        """The same tools for other code."""
        other = copy.copy(self)
        other._setup = setup
        return other
