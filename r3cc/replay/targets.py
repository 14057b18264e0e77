"""How code objects are made for each kind of device."""

from __future__ import annotations

import copy
import hashlib
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, TypeVar

import msgspec

from r3cc.devices.host_processor import processor_description
from r3cc.errors import R3Error
from r3cc.llvm import (
    AssembleError,
    AssembleTimeoutError,
    CompileRequest,
    CompileResult,
    LinkError,
    ModuleDescription,
    Passes,
    PassesError,
    PassesStatus,
    assemble,
    link_code_object,
    resources_of,
)
from r3cc.replay.compile import Assembled, CompileFailure, CompileSetup, Target
from r3cc.replay.facts import FLOATS, KernelFacts
from r3cc.replay.foreign import ForeignTarget, is_foreign
from r3cc.replay.model import Specialisation, Status
from r3cc.replay.specialise import request_of
from r3cc.toolchain.cuda import find_ptxas
from r3cc.toolchain.llvm import require_linker
from r3cc.toolchain.native import native_library

Value = TypeVar("Value")

_ASSEMBLE_TIMEOUT_S = 120.0
"""The compile process has its own, shorter deadline as a rule; this one leaves no ptxas behind."""

_REJECTED = (PassesStatus.BAD_PIPELINE, PassesStatus.BAD_REQUEST)
"""What makes a candidate no candidate: it cannot be read, nothing was compiled."""


def open_target(setup: CompileSetup) -> Target:
    """The target for a setup's device. Raises R3Error where a tool is missing."""
    if setup.device == "cpu":
        return HostTarget(setup)
    if is_foreign(setup.info):
        return ForeignTarget(setup)
    if str(setup.info["triple"]).startswith("amdgcn"):
        return AmdgcnTarget(setup)
    return NvptxTarget(setup)


class _ModuleTarget:
    """What targets share whose input is the captured module."""

    def __init__(self, setup: CompileSetup) -> None:
        self._module = _Module(setup)

    def extract(self, specialisation: Specialisation) -> bytes:
        """The kernel alone."""
        return self._module.extract(specialisation)

    def facts(self) -> KernelFacts:
        """Element types and constants."""
        return self._module.facts()

    def revised(self, setup: CompileSetup) -> Self:
        """The same tools for another revision of the module."""
        other = copy.copy(self)
        other._module = self._module.revised(setup)
        return other


class NvptxTarget(_ModuleTarget):
    """PTX from LLVM, cubins from ptxas."""

    def __init__(self, setup: CompileSetup) -> None:
        ptxas = find_ptxas()
        if ptxas is None:
            raise R3Error("ptxas was not found; `r3 doctor` says how to get it")
        super().__init__(setup)
        self._ptxas = ptxas
        own = str(setup.info["codegen"]["cpu"])
        self._architecture = machine_architecture(own, setup.architecture or own)

    @property
    def identity(self) -> str:
        """LLVM's and ptxas' versions and the architecture."""
        return f"{self._module.identity} ptxas {self._ptxas.version} {self._architecture}"

    def compile(self, bitcode: bytes, request: CompileRequest) -> CompileResult:
        """PTX."""
        return self._module.compile(bitcode, msgspec.structs.replace(request, emit="assembly"))

    def finish(self, output: bytes, ptxas: Sequence[str]) -> Assembled:
        """Cubin."""
        try:
            made = assemble(output, self._ptxas.path, self._architecture, ptxas, _ASSEMBLE_TIMEOUT_S)
        except AssembleTimeoutError as error:
            raise CompileFailure(Status.COMPILE_TIMEOUT, str(error)) from None
        except AssembleError as error:
            raise CompileFailure(Status.COMPILE_ERROR, str(error)) from None
        resources = made.resources.get(self._module.kernel)
        return Assembled(made.cubin, msgspec.structs.asdict(resources) if resources else {})


class AmdgcnTarget(_ModuleTarget):
    """Machine code from LLVM, code objects from ld.lld."""

    def __init__(self, setup: CompileSetup) -> None:
        self._linker = require_linker()
        super().__init__(setup)

    @property
    def identity(self) -> str:
        """LLVM's and the linker's versions."""
        return f"{self._module.identity} amdgcn {self._linker.version}"

    def compile(self, bitcode: bytes, request: CompileRequest) -> CompileResult:
        """Object."""
        return self._module.compile(bitcode, msgspec.structs.replace(request, emit="object"))

    def finish(self, output: bytes, ptxas: Sequence[str]) -> Assembled:
        """Code object; its own metadata says what the kernel needs."""
        try:
            code = link_code_object(output, self._linker.path, _ASSEMBLE_TIMEOUT_S)
        except LinkError as error:
            raise CompileFailure(Status.COMPILE_ERROR, str(error)) from None
        resources = resources_of(code).get(self._module.kernel)
        return Assembled(code, msgspec.structs.asdict(resources) if resources else {})


class HostTarget(_ModuleTarget):
    """Host objects from lowered IR, linked into shared objects for libr3cpu."""

    def __init__(self, setup: CompileSetup) -> None:
        self._linker = require_linker()
        super().__init__(setup)

    @property
    def identity(self) -> str:
        """LLVM's and the linker's versions, and the host that code is made for."""
        return f"{self._module.identity} host {self._linker.version} {_host()}"

    def extract(self, specialisation: Specialisation) -> bytes:
        """The kernel alone, lowered to the host: pipelines run on that."""
        extracted = self._module.extract(specialisation)
        return attempt(lambda: self._module.passes.lower_to_host(extracted))

    def compile(self, bitcode: bytes, request: CompileRequest) -> CompileResult:
        """Host object for this machine's processor."""
        host = msgspec.structs.replace(request, emit="object", cpu=None, features=None)
        return self._module.compile(bitcode, host)

    def finish(self, output: bytes, ptxas: Sequence[str]) -> Assembled:
        """Shared object; what it calls of libr3cpu is found when it is loaded."""
        with tempfile.TemporaryDirectory(prefix="r3-link-") as folder:
            source, target = Path(folder) / "kernel.o", Path(folder) / "kernel.so"
            source.write_bytes(output)
            flags = ["-shared", "--build-id=none", "-soname", "kernel.so"]
            command = [str(self._linker.path), *flags, "-o", str(target), str(source)]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
            if done.returncode != 0:
                raise CompileFailure(Status.COMPILE_ERROR, f"ld.lld: {done.stderr.strip().splitlines()[0]}")
            return Assembled(target.read_bytes())


class _Module:
    """The captured module in the replay compiler."""

    def __init__(self, setup: CompileSetup) -> None:
        self.passes = Passes()
        self.kernel = setup.kernel
        self._bitcode = setup.bitcode.read_bytes()
        library = native_library("libR3Passes.so")
        self.identity = f"LLVM {self.passes.llvm_version} R3 {hashlib.sha256(library.read_bytes()).hexdigest()[:16]}"

    def revised(self, setup: CompileSetup) -> _Module:
        other = copy.copy(self)
        other._bitcode = setup.bitcode.read_bytes()
        return other

    def extract(self, specialisation: Specialisation) -> bytes:
        alone = attempt(lambda: self.passes.extract(self._bitcode, self.kernel))
        if specialisation == Specialisation():
            return alone
        return attempt(lambda: self.passes.specialise(alone, request_of(self.kernel, specialisation)))

    def compile(self, bitcode: bytes, request: CompileRequest) -> CompileResult:
        return attempt(lambda: self.passes.compile(bitcode, request))

    def facts(self) -> KernelFacts:
        return kernel_facts(attempt(lambda: self.passes.describe_kernel(self._bitcode, self.kernel)), self.kernel)


def kernel_facts(module: ModuleDescription, name: str) -> KernelFacts:
    """What replay needs of a module's description."""
    kernel = module.kernel(name)
    return KernelFacts(
        name=name,
        parameter_elements={int(index): element for index, element in kernel.element_types.items()},
        global_elements=dict(kernel.global_element_types),
        constants=frozenset(each.name for each in module.globals if each.space == "constant"),
        globals=frozenset(kernel.globals),
        written_only=frozenset(kernel.written_only),
        scalars={number: each.type for number, each in enumerate(kernel.parameters) if each.type in FLOATS},
    )


def attempt(call: Callable[[], Value]) -> Value:
    """The value of a call to the replay compiler, its error as the status that it stands for."""
    try:
        return call()
    except PassesError as error:
        status = Status.REJECTED if error.status in _REJECTED else Status.COMPILE_ERROR
        raise CompileFailure(status, str(error)) from None


def machine_architecture(module: str, device: str) -> str:
    """What ptxas makes machine code for: the module's own architecture where the device runs it, else the device's.

    Machine code runs on devices of its major version from its minor version on; the driver compiles PTX for others.
    """
    own, given = (name.removeprefix("sm_").rstrip("af") for name in (module, device))
    runs = own[:-1] == given[:-1] and own[-1:] <= given[-1:]
    return module if runs else device


def _host() -> str:
    """What decides the code for this machine's own processor."""
    return hashlib.sha256(processor_description().encode()).hexdigest()[:16]
