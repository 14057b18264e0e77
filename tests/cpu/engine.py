"""Lowered modules in a process of their own, called with numpy arrays: device memory is host memory there."""

from __future__ import annotations

import ctypes
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.python_path import python_path


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32)]


@dataclass
class Launch:
    """One kernel call; arrays among the arguments are passed by address and come back changed."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: Sequence[Any]
    shared: int = 0
    variables: dict[str, bytes] = field(default_factory=dict)
    """What is written to variables of the module before."""


@dataclass
class Answer:
    """What became of a list of launches."""

    status: int = 0
    message: str = ""
    arrays: list[list[Any]] = field(default_factory=list)
    globals: dict[str, bytes] = field(default_factory=dict)
    output: str = ""


def run(library: Path, module: Path, launches: Sequence[Launch], threads: int = 2) -> Answer:
    """Launch in order in a fresh process; stops at the first failure."""
    job = pickle.dumps((library, module, list(launches)))
    command = [sys.executable, "-m", "tests.cpu.engine"]
    environment = {"PYTHONPATH": python_path(), "R3_CPU_THREADS": str(threads)}
    done = subprocess.run(command, input=job, capture_output=True, env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    answer: Answer = pickle.loads(done.stdout[done.stdout.index(b"\x00ANSWER") + 7 :])
    answer.output = done.stdout[: done.stdout.index(b"\x00ANSWER")].decode()
    return answer


def pack(kernel: Any, library: Any, arguments: Sequence[Any]) -> ctypes.Array[ctypes.c_char]:
    """The argument buffer, each value at the offset that the kernel states."""
    offset, size = ctypes.c_uint32(), ctypes.c_uint32()
    buffer = bytearray()
    for index, value in enumerate(arguments):
        assert library.r3cpu_kernel_parameter(kernel, index, ctypes.byref(offset), ctypes.byref(size)) == 0
        raw = as_bytes(value)
        assert len(raw) == size.value, (index, len(raw), size.value)
        buffer.extend(bytes(offset.value - len(buffer)) + raw)
    return ctypes.create_string_buffer(bytes(buffer), max(1, len(buffer)))


def as_bytes(value: Any) -> bytes:
    """Arrays by address, tuples one after the other as a struct of 8-byte fields, numpy scalars by value."""
    if isinstance(value, np.ndarray):
        return value.ctypes.data.to_bytes(8, "little")
    if isinstance(value, tuple):
        return b"".join(as_bytes(part).ljust(8, b"\0") for part in value)
    return bytes(value.tobytes())


def arrays_of(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [array for part in value for array in arrays_of(part)]
    return [value] if isinstance(value, np.ndarray) else []


def serve() -> None:
    library_path, module_path, launches = pickle.load(sys.stdin.buffer)
    library = ctypes.CDLL(str(library_path))
    library.r3cpu_last_error.restype = ctypes.c_char_p
    module = ctypes.c_void_p()
    answer = Answer()
    answer.status = library.r3cpu_module_load(str(module_path).encode(), ctypes.byref(module))
    for launch in launches if answer.status == 0 else []:
        kernel = ctypes.c_void_p()
        answer.status = library.r3cpu_module_kernel(module, launch.kernel.encode(), ctypes.byref(kernel))
        if answer.status == 0:
            write_globals(library, module, launch.variables)
            buffer = pack(kernel, library, launch.arguments)
            grid, block, size = Dim3(*launch.grid), Dim3(*launch.block), ctypes.c_size_t(len(buffer))
            answer.status = library.r3cpu_launch(kernel, grid, block, launch.shared, buffer, size, None)
        answer.arrays.append([array for value in launch.arguments for array in arrays_of(value)])
        if answer.status != 0:
            break
    answer.message = (library.r3cpu_last_error() or b"").decode() if answer.status else ""
    if answer.status != 1:
        answer.globals = read_globals(library, module)
    ctypes.CDLL(None).fflush(None)
    sys.stdout.buffer.write(b"\x00ANSWER" + pickle.dumps(answer))


def write_globals(library: Any, module: Any, values: dict[str, bytes]) -> None:
    for name, content in values.items():
        address, size = ctypes.c_void_p(), ctypes.c_size_t()
        assert library.r3cpu_module_global(module, name.encode(), ctypes.byref(address), ctypes.byref(size)) == 0
        assert size.value == len(content)
        ctypes.memmove(address, content, len(content))


def read_globals(library: Any, module: Any) -> dict[str, bytes]:
    library.r3cpu_module_global_count.restype = ctypes.c_size_t
    library.r3cpu_module_global_name.restype = ctypes.c_char_p
    values = {}
    for index in range(library.r3cpu_module_global_count(module)):
        name = library.r3cpu_module_global_name(module, ctypes.c_size_t(index))
        address, size = ctypes.c_void_p(), ctypes.c_size_t()
        assert library.r3cpu_module_global(module, name, ctypes.byref(address), ctypes.byref(size)) == 0
        values[name.decode()] = ctypes.string_at(address, size.value)
    return values


if __name__ == "__main__":
    from tests.cpu.engine import serve as serve_job

    serve_job()
