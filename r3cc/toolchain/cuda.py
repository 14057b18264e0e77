"""Finds a CUDA tree: a system toolkit, or the one that NVIDIA's wheels make in this Python environment."""

from __future__ import annotations

import os
import re
import shutil
import site
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from r3cc.toolchain.tool import Tool, run_version

TREE_VARIABLES = ("CUDAToolkit_ROOT", "CUDA_PATH", "CUDA_HOME")
PTXAS_VARIABLE = "R3_PTXAS"
SYSTEM_TREE = Path("/usr/local/cuda")
PTXAS_VERSION = r"V(\d+\.\d+\.\d+)"

PARTS = {
    "include/cuda.h": "nvidia-cuda-runtime",
    "include/crt/host_defines.h": "nvidia-cuda-crt",
    "nvvm/libdevice/libdevice.10.bc": "nvidia-nvvm",
    "bin/ptxas": "nvidia-cuda-nvcc",
    "include/curand_mtgp32_kernel.h": "nvidia-curand",
}
"""What clang needs of a tree, and the wheel that brings it."""


def find_cuda() -> Tool | None:
    """A CUDA tree: of a variable, of the wheels, of the system; a complete one before one that lacks parts."""
    trees = [Tool("cuda", path, cuda_version(path), origin) for path, origin in _trees()]
    return min(trees, key=lambda tree: len(missing_parts(tree.path)), default=None)


def find_ptxas() -> Tool | None:
    """The assembler: R3_PTXAS, else the one of the CUDA tree, else one on the PATH."""
    for path, origin in _assemblers():
        version = run_version(path, PTXAS_VERSION)
        if version:
            return Tool("ptxas", path, version, origin)
    return None


def missing_parts(tree: Path) -> list[str]:
    """Wheels whose files a tree lacks."""
    return [wheel for part, wheel in PARTS.items() if not (tree / part).exists()]


def cuda_version(tree: Path) -> str:
    """``13.0`` of a tree's cuda.h; empty without one."""
    header = tree / "include/cuda.h"
    if not header.is_file():
        return ""
    match = re.search(r"#define CUDA_VERSION (\d+)", header.read_text(encoding="utf-8", errors="replace"))
    return f"{int(match[1]) // 1000}.{int(match[1]) % 1000 // 10}" if match else ""


def _trees() -> Iterator[tuple[Path, str]]:
    for variable in TREE_VARIABLES:
        if os.environ.get(variable):
            yield Path(os.environ[variable]), f"variable {variable}"
    for folder in _site_packages():
        for tree in sorted(folder.glob("nvidia/cu1[2-9]"), reverse=True):
            yield tree, "wheel"
    compiler = shutil.which("nvcc")
    if compiler is not None:
        yield Path(compiler).resolve().parents[1], "PATH"
    if SYSTEM_TREE.is_dir():
        yield SYSTEM_TREE.resolve(), "system"


def _assemblers() -> Iterator[tuple[Path, str]]:
    named = shutil.which(os.environ.get(PTXAS_VARIABLE) or "")
    if named is not None:
        yield Path(named), f"variable {PTXAS_VARIABLE}"
    for tree, origin in _trees():
        if (tree / "bin/ptxas").is_file():
            yield tree / "bin/ptxas", origin
    on_path = shutil.which("ptxas")
    if on_path is not None:
        yield Path(on_path), "PATH"


def _site_packages() -> list[Path]:
    folders = [sysconfig.get_path("purelib"), *site.getsitepackages(), site.getusersitepackages()]
    return [Path(folder) for folder in dict.fromkeys(folders)]
