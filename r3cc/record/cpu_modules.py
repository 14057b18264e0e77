"""Lowers the modules of a program to the host, so that libr3cpu.so can run them in the program's process."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from r3cc.devices.host_processor import processor_description
from r3cc.errors import R3Error
from r3cc.llvm import CompileRequest, Passes
from r3cc.llvm.processes import OwnProcesses, answer_of
from r3cc.record.linked_modules import whole_modules
from r3cc.store import Store
from r3cc.store.binary import EmbeddedModule
from r3cc.store.demangle import demangle
from r3cc.toolchain.llvm import require_linker
from r3cc.toolchain.native import native_library

MODULES_VARIABLE = "R3_CPU_MODULES"
COMPILE_VARIABLE = "R3_CPU_COMPILE"
"""The Python that compiles what a program loads later (r3cc.record.late_modules)."""
TIMEOUT_S = 600
LLVM_PREFIX = "mllvm:"
"""Of a profile's module-scope values that are options of LLVM."""


def prepare_modules(binaries: Sequence[Path], store: Store) -> dict[str, str]:
    """Variables under which libr3cpu.so finds the modules of ``binaries``, compiled at their recorded options.

    Objects are cached in the store by content. Raises R3Error, with the reason, when a module cannot run there.
    """
    modules = [module for binary in binaries for module in newest(whole_modules(binary, store))]
    folder = store.cache / "cpu" / _program_key(modules)
    folder.mkdir(parents=True, exist_ok=True)
    build_modules(modules, folder)
    return {MODULES_VARIABLE: str(folder.resolve()), COMPILE_VARIABLE: sys.executable}


def newest(modules: Sequence[EmbeddedModule]) -> list[EmbeddedModule]:
    """Of each source's modules those for its newest architecture, which is the one that libr3cpu.so takes.

    All of them where a source was compiled more than once: nothing says then which belong together.
    """
    of_source: dict[str, list[EmbeddedModule]] = {}
    for module in modules:
        of_source.setdefault(str(module.info.get("source", "")), []).append(module)
    return [module for group in of_source.values() for module in _newest_of(group)]


def _newest_of(group: list[EmbeddedModule]) -> list[EmbeddedModule]:
    architectures = [str(module.info.get("architecture", "")) for module in group]
    if len(set(architectures)) < len(group):
        return group
    numbers = [_architecture_number(name) for name in architectures]
    return [module for module, number in zip(group, numbers, strict=True) if number == max(numbers)]


def _architecture_number(architecture: str) -> int:
    """90 of ``sm_90a``, as libr3cpu.so reads it."""
    digits = re.search(r"\d+", architecture)
    return int(digits[0]) if digits else 0


def build_modules(modules: Iterable[EmbeddedModule], folder: Path) -> None:
    """Write ``<module id>.so`` into ``folder`` for each module that it lacks.

    Compiles in processes of their own, as many at once as there are cores. Raises R3Error that names the source.
    """
    named = {str(module.info["module"]): module for module in modules}
    wanted = {name: module for name, module in named.items() if not (folder / f"{name}.so").is_file()}
    parts = [part for module in wanted.values() for part in parts_of(module)]
    if not parts:
        return
    workers = min(len(parts), _cores())
    with OwnProcesses(workers) as processes:
        jobs = [(part, processes.submit(compile_part, part)) for part in parts]
        objects: dict[str, list[bytes]] = {name: [] for name in wanted}
        for part, job in jobs:
            objects[part.module].append(_finish(job, part))
    for name, (rest, *tuned) in objects.items():
        with TemporaryDirectory(prefix=".link-", dir=folder) as work:
            link_module(rest, Path(work), *tuned).replace(folder / f"{name}.so")


class Part(msgspec.Struct, frozen=True):
    """What is compiled at once of a module: everything but the tuned kernels, or one of those."""

    module: str
    source: str
    bitcode: bytes
    request: CompileRequest
    kernel: str | None = None
    """The tuned kernel; None for the rest."""
    tuned: tuple[str, ...] = ()
    """Kernels that the rest leaves out."""


def parts_of(module: EmbeddedModule) -> list[Part]:
    """The parts of a module; more than one where a profile gives kernels pipelines of their own."""
    recorded = CompileRequest.from_recorded(module.info["codegen"])
    request = msgspec.structs.replace(recorded, emit="object", cpu=None, features=None)
    identity, source = str(module.info["module"]), str(module.info.get("source", "a module"))
    tuned = [kernel for kernel in module.info.get("kernels", []) if _has_own_code(kernel)]
    names = tuple(str(kernel["name"]) for kernel in tuned)
    own = [
        Part(identity, source, module.bitcode, _tuned_request(request, kernel), kernel=str(kernel["name"]))
        for kernel in tuned
    ]
    return [Part(identity, source, module.bitcode, request, tuned=names), *own]


def compile_part(part: Part) -> bytes:
    """The part's object file. Runs in a process of its own."""
    passes = Passes()
    if part.kernel is not None:
        lowered = passes.lower_to_host(passes.extract(part.bitcode, part.kernel))
        return passes.compile(passes.host_alone(lowered, part.kernel), part.request).output
    lowered = passes.lower_to_host(part.bitcode)
    for kernel in part.tuned:
        lowered = passes.host_without(lowered, kernel)
    return passes.compile(lowered, part.request).output


def link_module(code: bytes, folder: Path, *tuned: bytes) -> Path:
    """A shared object of a module's object file and those of its tuned kernels, in ``folder``.

    What it calls of libr3cpu is found when it is loaded.
    """
    linker = require_linker()
    target = folder / "module.so"
    sources = [folder / f"part{number}.o" for number in range(1 + len(tuned))]
    for source, content in zip(sources, (code, *tuned), strict=True):
        source.write_bytes(content)
    command = [str(linker.path), "-shared", "--build-id=none", "-o", str(target), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise R3Error(f"cannot link a lowered module: {done.stderr.strip().splitlines()[0]}")
    return target


def _has_own_code(kernel: Mapping[str, Any]) -> bool:
    """Whether a profile gave a kernel of a tuned build (docs/binary-format.md) a pipeline or options.

    Where they are those of its second version, that is a kernel of the module by itself.
    """
    if kernel.get("profile") not in ("tuned", "version") or kernel.get("specialised"):
        return False
    return bool(kernel.get("pipeline") or kernel.get("module"))


def _tuned_request(recorded: CompileRequest, kernel: Mapping[str, Any]) -> CompileRequest:
    """The recorded build's options with those of a kernel's entry put over them, as replay does."""
    module: Mapping[str, str] = kernel.get("module") or {}
    flags = tuple(f"-{key[len(LLVM_PREFIX) :]}={value}" for key, value in module.items() if key.startswith(LLVM_PREFIX))
    given = {
        "pipeline": kernel.get("pipeline") or recorded.pipeline,
        "codegen_level": module.get("opt-level", recorded.codegen_level),
        "fp_contract": module.get("fp-contract", recorded.fp_contract),
        "mllvm": recorded.mllvm + flags,
    }
    return msgspec.convert(msgspec.to_builtins(recorded) | given, CompileRequest, strict=False)


def _program_key(modules: Sequence[EmbeddedModule]) -> str:
    """Names everything that decides the code: the modules, their options, the compiler, this machine's processor."""
    parts = sorted(_key(module) for module in modules)
    library = hashlib.sha256(native_library("libR3Passes.so").read_bytes()).hexdigest()
    return hashlib.sha256("\n".join([library, processor_description(), *parts]).encode()).hexdigest()[:32]


def _key(module: EmbeddedModule) -> str:
    """A module with all that decides its code."""
    tuned = [kernel for kernel in module.info.get("kernels", []) if _has_own_code(kernel)]
    own = [[kernel["name"], kernel.get("pipeline"), kernel.get("module")] for kernel in tuned]
    return f"{module.info['module']} {msgspec.json.encode([module.info['codegen'], own])!r}"


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _finish(job: Future[bytes | str], part: Part) -> bytes:
    try:
        return answer_of(job, "this module", TIMEOUT_S)
    except R3Error as error:
        tuned = f"{demangle(part.kernel)} of {part.source} with its profile's options" if part.kernel else ""
        raise R3Error(f"{tuned or part.source} cannot run on the cpu device: {error}") from None
