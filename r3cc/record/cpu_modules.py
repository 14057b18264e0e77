"""Lowers the modules of a program to the host, so that libr3cpu.so can run them in the program's process."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from r3cc.errors import R3Error
from r3cc.llvm import CompileRequest, Passes
from r3cc.store import Store
from r3cc.store.binary import EmbeddedModule, read_binary
from r3cc.toolchain.llvm import find_llvm_program
from r3cc.toolchain.native import native_library

MODULES_VARIABLE = "R3_CPU_MODULES"
TIMEOUT_S = 600


def prepare_modules(binaries: Sequence[Path], store: Store) -> dict[str, str]:
    """Variables under which libr3cpu.so finds the modules of ``binaries``, compiled at their recorded options.

    Objects are cached in the store by content. Raises R3Error, with the reason, when a module cannot run there.
    """
    modules = [module for binary in binaries for module in _own_modules(binary)]
    folder = store.cache / "cpu" / _program_key(modules)
    folder.mkdir(parents=True, exist_ok=True)
    missing = [module for module in modules if not (folder / f"{module.info['module']}.so").is_file()]
    build_modules(missing, folder)
    return {MODULES_VARIABLE: str(folder.resolve())}


def build_modules(modules: Iterable[EmbeddedModule], folder: Path) -> None:
    """Write ``<module id>.so`` into ``folder`` for each module.

    Compiles in processes of their own, as many at once as there are cores. Raises R3Error that names the source.
    """
    wanted = {str(module.info["module"]): module for module in modules}
    if not wanted:
        return
    with ProcessPoolExecutor(min(len(wanted), _cores()), multiprocessing.get_context("spawn")) as pool:
        jobs = {name: pool.submit(_guarded, build_module, module, folder) for name, module in wanted.items()}
        for name, job in jobs.items():
            _finish(job, wanted[name])


def build_module(module: EmbeddedModule, folder: Path) -> None:
    """Lower, compile and link one module; the file appears whole or not at all."""
    passes = Passes()
    recorded = CompileRequest.from_recorded(module.info["codegen"])
    request = msgspec.structs.replace(recorded, emit="object", cpu=None, features=None)
    code = passes.compile(passes.lower_to_host(module.bitcode), request).output
    with TemporaryDirectory(prefix=".link-", dir=folder) as work:
        linked = link_module(code, Path(work))
        linked.replace(folder / f"{module.info['module']}.so")


def link_module(code: bytes, folder: Path) -> Path:
    """A shared object of an object file, in ``folder``; what it calls of libr3cpu is found when it is loaded."""
    linker = find_llvm_program("ld.lld")
    if linker is None:
        raise R3Error("LLVM's linker ld.lld was not found; `r3 doctor` says how to get it")
    source, target = folder / "module.o", folder / "module.so"
    source.write_bytes(code)
    command = [str(linker.path), "-shared", "--build-id=none", "-o", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise R3Error(f"cannot link a lowered module: {done.stderr.strip().splitlines()[0]}")
    return target


def _own_modules(binary: Path) -> list[EmbeddedModule]:
    modules = read_binary(binary)
    if any(module.relocatable for module in modules):
        raise R3Error(f"{binary} was built with -fgpu-rdc, which the cpu device does not take: build it without")
    return modules


def _program_key(modules: Sequence[EmbeddedModule]) -> str:
    """Names everything that decides the code: the modules, their options, the compiler, this machine's processor."""
    parts = sorted(f"{module.info['module']} {msgspec.json.encode(module.info['codegen'])!r}" for module in modules)
    library = hashlib.sha256(native_library("libR3Passes.so").read_bytes()).hexdigest()
    return hashlib.sha256("\n".join([library, _processor(), *parts]).encode()).hexdigest()[:32]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    kept = [line for line in lines if line.startswith(("model name", "flags", "Features"))]
    return "\n".join(sorted(set(kept)))


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _guarded(work: Callable[[EmbeddedModule, Path], None], module: EmbeddedModule, folder: Path) -> str:
    """The sentence of the work's error, else an empty one: LLVM's own exceptions cannot be sent."""
    try:
        work(module, folder)
    except R3Error as error:
        return str(error)
    return ""


def _finish(job: Future[str], module: EmbeddedModule) -> None:
    source = module.info.get("source", "a module")
    try:
        problem = job.result(TIMEOUT_S)
    except BrokenProcessPool:
        raise R3Error(f"LLVM aborted while it compiled {source} for the cpu device") from None
    except TimeoutError:
        for process in multiprocessing.active_children():
            process.kill()
        raise R3Error(f"compiling {source} for the cpu device did not end within {TIMEOUT_S} s") from None
    if problem:
        raise R3Error(f"{source} cannot run on the cpu device: {problem}")
