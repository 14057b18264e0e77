"""What a program needs to run its kernels on the host: its modules lowered, and a CUDA or HIP runtime of the host."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from r3cc.errors import R3Error
from r3cc.record.application import LoadedLibrary, loaded_libraries
from r3cc.record.cpu_modules import prepare_modules
from r3cc.record.linked_modules import link_programs
from r3cc.record.preload import preload
from r3cc.store import Store
from r3cc.store.binary import read_binary
from r3cc.store.elf import is_elf

CUDART = re.compile(r"libcudart\.so\.(\d+)")
DRIVER = "cpu/driver/libcuda.so.1"
"""Stands in for the CUDA driver in programs that are linked with it."""
ENGINE = "libr3cpu.so"
"""What stands behind both. Named itself, it comes before the C library, whose _exit it has to see."""
HIP = re.compile(r"libamdhip64\.so\.(\d+)")
SYSTEM_FOLDERS = (Path("/lib"), Path("/usr/lib"), Path("/lib64"), Path("/usr/lib64"))


def cpu_environment(program: Path, store: Store) -> dict[str, str]:
    """Variables under which ``program`` runs on the cpu device; builds the modules that the store's cache lacks.

    Raises R3Error with the reason when the program can't run there.
    """
    libraries = loaded_libraries(program)
    binaries = binaries_with_modules(program, libraries)
    runtime = runtime_of(libraries)
    if not binaries:
        raise R3Error(
            f"neither {program} nor a library that it loads at start carries device code built by R3: build it with "
            "r3-clang++ (CMake: -DCMAKE_CXX_COMPILER=r3-clang++ -DCMAKE_CUDA_COMPILER=r3-clang++)"
        )
    if runtime is None:
        raise R3Error(
            f"{program} does not load the shared CUDA runtime, which the cpu device replaces: link with -lcudart "
            "(CMake: -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared) instead of the static one (CMake's FindCUDA, BLT: "
            "-DCUDA_USE_STATIC_CUDA_RUNTIME=OFF); or HIP's, with -lamdhip64"
        )
    preloaded = [runtime, *(DRIVER for library in libraries if library.name == "libcuda.so.1"), ENGINE]
    return prepare_modules(binaries, store) | link_programs(binaries, store).environment | preload(*preloaded)


def runtime_of(libraries: Sequence[LoadedLibrary]) -> str | None:
    """R3's stand-in for the CUDA or HIP runtime that is asked for, found or not; None without one."""
    for pattern, place in ((CUDART, "cpu/cuda{0}/libcudart.so.{0}"), (HIP, "cpu/hip{0}/libamdhip64.so.{0}")):
        matches = (pattern.fullmatch(library.name) for library in libraries)
        major = next((match[1] for match in matches if match is not None), None)
        if major is not None:
            return place.format(major)
    return None


def binaries_with_modules(program: Path, libraries: Sequence[LoadedLibrary]) -> list[Path]:
    """Those of a program and its libraries that carry R3 notes; the system's own libraries are not read."""
    paths = [library.path for library in libraries if library.path is not None]
    candidates = [program, *(path for path in paths if path.parent not in SYSTEM_FOLDERS)]
    return [path for path in candidates if is_elf(path) and read_binary(path)]
