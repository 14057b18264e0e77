"""Compilation: from a kernel's recorded IR and a candidate's options to a code object that a device loads.

Runs in a compile process: LLVM may abort or never end. Nothing is built twice: code objects lie in the store's cache
by their hash, and an index there leads from a request, and from assembly text, to them.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import msgspec

from r3cc.llvm import CompileRequest, CompileResult
from r3cc.replay.codegen import LLVM_PREFIX, BuildOptions, Options
from r3cc.replay.facts import KernelFacts
from r3cc.replay.model import Candidate, Specialisation, Status
from r3cc.store.whole_file import write_whole


class CodeRequest(msgspec.Struct, frozen=True):
    """The part of a candidate that compiling depends on."""

    pipeline: str | None = None
    codegen: Options = ()
    variant: str | None = None
    specialisation: Specialisation = Specialisation()

    @classmethod
    def of(cls, candidate: Candidate) -> CodeRequest:
        """A candidate without its launch configuration."""
        return cls(candidate.pipeline, candidate.codegen, candidate.variant, candidate.specialisation)

    @property
    def llvm_options(self) -> tuple[str, ...]:
        """Options that are global to a process with LLVM in it."""
        return tuple(f"{key}={value}" for key, value in self.codegen if key.startswith(LLVM_PREFIX))


class CodeObject(msgspec.Struct, frozen=True):
    """What compiling gave: a code object, or the status of a candidate that has none."""

    status: Status
    message: str = ""
    path: Path | None = None
    object_hash: str | None = None
    """SHA-256 of the code object."""
    ir_hash: str | None = None
    resources: dict[str, int] = {}
    phases_ns: dict[str, int] = {}
    took_ns: int = 0
    """Time that compiling it took, whenever that was."""


class CompileSetup(msgspec.Struct, frozen=True):
    """What all compilations of a kernel share."""

    bitcode: Path
    """The module as it was captured."""
    info: dict[str, Any]
    """The module's JSON (docs/binary-format.md)."""
    kernel: str
    device: str
    """``cpu``, ``cuda:N`` or ``hip:N``: what the code is made for."""
    architecture: str
    """Of the device that it was recorded on."""
    cache: Path
    variants: Path | None = None
    """Folder of the source variants' bitcode; None where there are none."""
    ptx: Path | None = None
    """The PTX that a recorded cubin came with: what ptxas options act on. None where there is none."""
    llvm_options: tuple[str, ...] = ()
    """The one set of LLVM options of the process that gets this."""


def variant_setup(setup: CompileSetup, variant: str) -> CompileSetup:
    """The setup with a source variant's module in place of the captured one; all else is the original's.

    Raises :class:`CompileFailure` where the variant is not there.
    """
    path = setup.variants / f"{variant}.bc" if setup.variants and variant.isalnum() else None
    try:
        identity = digest(path.read_bytes()) if path else ""
    except OSError:
        identity = ""
    if path is None or not identity:
        raise CompileFailure(Status.REJECTED, f"the store holds no variant '{variant}'")
    return msgspec.structs.replace(setup, bitcode=path, info={**setup.info, "module": identity})


class Assembled(msgspec.Struct, frozen=True):
    """A code object and what the assembler says about it."""

    code: bytes
    resources: dict[str, int] = {}


class CompileFailure(Exception):
    """A tool refused its input; ``status`` says whose fault that is."""

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(message)
        self.status = status


class Target(Protocol):
    """How code is made for one kind of device."""

    @property
    def identity(self) -> str:
        """Versions of the tools: another identity, another cache entry."""
        ...

    def extract(self, specialisation: Specialisation) -> bytes:
        """The module with the kernel alone, specialised, ready for pipelines. Raises :class:`CompileFailure`."""
        ...

    def compile(self, bitcode: bytes, request: CompileRequest) -> CompileResult:
        """Run the pipeline and code generation. Raises :class:`CompileFailure`."""
        ...

    def finish(self, output: bytes, ptxas: Sequence[str]) -> Assembled:
        """Assemble or link what the compiler handed over. Raises :class:`CompileFailure`."""
        ...

    def facts(self) -> KernelFacts:
        """What the IR says about the kernel's memory."""
        ...

    def revised(self, setup: CompileSetup) -> Self:
        """The same tools for another revision of the module."""
        ...


class Compiler:
    """Compiles candidates of one kernel."""

    def __init__(self, setup: CompileSetup, target: Target) -> None:
        self._target = target
        self._cache = ObjectCache(setup.cache)
        self._recorded = BuildOptions.recorded(setup.info)
        self._identity = f"{target.identity} {setup.info['module']} {setup.kernel}"
        self._kernel = setup.kernel
        self._extracted: dict[Specialisation, bytes] = {}

    def compile(self, request: CodeRequest) -> CodeObject:
        """A request's code object, from the cache if it is there."""
        options = self._recorded.changed(request.pipeline, request.codegen)
        special = () if request.specialisation == Specialisation() else (msgspec.json.encode(request.specialisation),)
        key = digest(self._identity.encode(), msgspec.json.encode(options), *special)
        known = self._cache.get(key)
        if known:
            return known
        began = time.perf_counter_ns()
        try:
            made = self._build(options, request.specialisation)
        except CompileFailure as failure:
            return CodeObject(failure.status, str(failure))
        made = msgspec.structs.replace(made, took_ns=time.perf_counter_ns() - began)
        self._cache.put(key, made)
        return made

    def _build(self, options: BuildOptions, specialisation: Specialisation) -> CodeObject:
        if specialisation not in self._extracted:
            self._extracted[specialisation] = self._target.extract(specialisation)
        compiled = self._target.compile(self._extracted[specialisation], options.request)
        waves = compiled.occupancy.get(self._kernel)
        occupancy = {} if waves is None else {"occupancy": waves}
        phases = {"compile_ir": compiled.optimise_ns, "codegen": compiled.codegen_ns}
        flags = msgspec.json.encode(options.ptxas)
        key = digest(b"assembled", self._target.identity.encode(), flags, compiled.output)
        known = self._cache.get(key)
        if known is None:
            began = time.perf_counter_ns()
            assembled = self._target.finish(compiled.output, options.ptxas)
            phases["assemble"] = time.perf_counter_ns() - began
            known = self._cache.add(msgspec.structs.replace(assembled, resources=assembled.resources | occupancy))
            self._cache.put(key, known)
        return msgspec.structs.replace(known, ir_hash=compiled.ir_hash, phases_ns=phases)


class ObjectCache:
    """Code objects by hash, and what they were made of by key; shared by processes, may be deleted at any time."""

    def __init__(self, path: Path) -> None:
        self._objects = path / "objects"
        self._index = path / "code"

    def get(self, key: str) -> CodeObject | None:
        """What was put under a key, None if it or its code object is not there."""
        try:
            found = msgspec.json.decode((self._index / key[:2] / key).read_bytes(), type=_Entry)
        except (OSError, msgspec.DecodeError):
            return None
        path = self._object(found.object_hash)
        if not path.is_file():
            return None
        return CodeObject(Status.OK, "", path, found.object_hash, found.ir_hash, found.resources, took_ns=found.took_ns)

    def put(self, key: str, made: CodeObject) -> None:
        """Remember what a key leads to."""
        assert made.object_hash is not None
        entry = _Entry(made.object_hash, made.ir_hash, made.resources, made.took_ns)
        write_whole(self._index / key[:2] / key, msgspec.json.encode(entry))

    def add(self, assembled: Assembled) -> CodeObject:
        """Keep a code object."""
        name = digest(assembled.code)
        path = self._object(name)
        if not path.is_file():
            write_whole(path, assembled.code)
        return CodeObject(Status.OK, "", path, name, None, assembled.resources)

    def _object(self, name: str) -> Path:
        return self._objects / name[:2] / name


class _Entry(msgspec.Struct, frozen=True):
    object_hash: str
    ir_hash: str | None
    resources: dict[str, int]
    took_ns: int = 0


def digest(*parts: bytes) -> str:
    """SHA-256 over the parts and their lengths."""
    running = hashlib.sha256()
    for part in parts:
        if len(parts) > 1:
            running.update(len(part).to_bytes(8, "little"))
        running.update(part)
    return running.hexdigest()
