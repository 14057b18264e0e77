"""Finds ROCm's device libraries, which HIP's device code is linked with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from r3cc.toolchain.tool import Tool

TREE_VARIABLES = ("ROCM_PATH", "HIP_PATH")
SYSTEM_TREES = (Path("/opt/rocm"), Path("/usr/lib/x86_64-linux-gnu"), Path("/usr"))
FOLDER = "amdgcn/bitcode"
LIBRARY = "ockl.bc"


def find_rocm_device_libraries() -> Tool | None:
    """The folder with ``ockl.bc`` and its like."""
    for tree, origin in _trees():
        if (tree / FOLDER / LIBRARY).is_file():
            return Tool("rocm-device-libs", tree / FOLDER, _version(tree), origin)
    return None


def _trees() -> Iterator[tuple[Path, str]]:
    for variable in TREE_VARIABLES:
        if os.environ.get(variable):
            yield Path(os.environ[variable]), f"variable {variable}"
    for tree in SYSTEM_TREES:
        yield tree, "system"


def _version(tree: Path) -> str:
    file = tree / ".info/version"
    return file.read_text(encoding="utf-8").strip() if file.is_file() else ""
