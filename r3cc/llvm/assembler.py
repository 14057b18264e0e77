"""PTX to cubin, through ptxas."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from r3cc.errors import R3Error


class AssembleError(R3Error):
    """ptxas refused the PTX, or could not be run."""


class AssembleTimeoutError(AssembleError):
    """ptxas did not end within its deadline."""


class KernelResources(msgspec.Struct, frozen=True):
    """What one kernel needs, as ``ptxas -v`` says."""

    registers: int
    """A thread."""
    spill_stores: int
    """Bytes a thread; so are spill_loads and stack."""
    spill_loads: int
    stack: int
    shared: int
    """Static bytes a block."""
    constant: int
    """Bytes of all constant banks."""


class Assembled(msgspec.Struct, frozen=True):
    """A cubin and the resources of its kernels, by mangled name."""

    cubin: bytes
    resources: dict[str, KernelResources]


def assemble(
    ptx: bytes, ptxas: Path, architecture: str, flags: Sequence[str] = ("-O3",), timeout_s: float = 60.0
) -> Assembled:
    """The cubin of ``ptx`` for ``architecture`` ("sm_90").

    ``flags`` go to ptxas as they are. Raises AssembleTimeoutError after ``timeout_s`` seconds, AssembleError otherwise.
    """
    with tempfile.TemporaryDirectory(prefix="r3-ptxas-") as folder:
        source, target = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_bytes(ptx)
        command = [ptxas, "-m64", *flags, "-v", "--gpu-name", architecture, "--output-file", target, source]
        log = _run([str(part) for part in command], timeout_s)
        return Assembled(target.read_bytes(), _parse_resources(log))


def recorded_ptxas_flags(codegen: Mapping[str, Any]) -> tuple[str, ...]:
    """The flags that clang's driver gave ptxas, its optimisation level among them, from a recorded ``codegen``."""
    return tuple(str(flag) for flag in codegen["ptxas"])


def _run(command: Sequence[str], timeout_s: float) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise AssembleTimeoutError(f"ptxas did not end within {timeout_s:g} s") from error
    except OSError as error:
        raise AssembleError(f"cannot run {command[0]}: {error.strerror}") from error
    log = done.stderr + done.stdout
    if done.returncode != 0:
        raise AssembleError(f"ptxas failed with status {done.returncode}: {_first_complaint(log)}")
    return log


def _first_complaint(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line or "fatal" in line), lines[0] if lines else "no message")


_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_PROPERTIES_OF = re.compile(r"Function properties for '?([^'\s]+)'?")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")
_CONSTANT = re.compile(r"(\d+) bytes cmem\[\d+\]")


def _parse_resources(log: str) -> dict[str, KernelResources]:
    """Reads the verbose log: an entry's properties and its "Used" line follow its name."""
    resources: dict[str, KernelResources] = {}
    entry = described = ""
    stack: dict[str, tuple[int, int, int]] = {}
    for line in log.splitlines():
        if found := _ENTRY.search(line):
            entry = found[1]
        elif found := _PROPERTIES_OF.search(line):
            described = found[1]
        elif found := _STACK.search(line):
            stack[described] = (int(found[1]), int(found[2]), int(found[3]))
        elif found := _USED.search(line):
            resources[entry] = _kernel_resources(line, int(found[1]), stack.get(entry, (0, 0, 0)))
    return resources


def _kernel_resources(line: str, registers: int, stack: tuple[int, int, int]) -> KernelResources:
    shared = _SHARED.search(line)
    return KernelResources(
        registers=registers,
        stack=stack[0],
        spill_stores=stack[1],
        spill_loads=stack[2],
        shared=int(shared[1]) if shared else 0,
        constant=sum(int(size) for size in _CONSTANT.findall(line)),
    )
