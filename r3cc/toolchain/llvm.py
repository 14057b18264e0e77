"""Finds clang and the programs of its LLVM."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from r3cc.errors import R3Error
from r3cc.toolchain.tool import Tool, run_version

LLVM_MAJOR = 22
"""The one version that R3's passes are built with."""

CLANG_VARIABLE = "R3_CLANG"
LLVM_VARIABLE = "R3_LLVM"
"""Names the folder of an LLVM that stands neither on the PATH nor where Debian has it."""
DEBIAN_FOLDER = Path(f"/usr/lib/llvm-{LLVM_MAJOR}/bin")
LLVM_VERSION = r"(?:version|LLD) (\d+\.\d+\.\d+)"


def find_clang() -> Tool | None:
    """The compiler that the wrappers use: R3_CLANG, else clang 22 of R3_LLVM, of the PATH, of Debian."""
    named = os.environ.get(CLANG_VARIABLE)
    if named:
        path = shutil.which(named)
        return _tool("clang", Path(path), f"variable {CLANG_VARIABLE}") if path else None
    return find_llvm_program("clang")


def find_llvm_program(name: str) -> Tool | None:
    """A program of LLVM 22, such as ``llc``, ``FileCheck`` or ``ld.lld``; None when there is none of that version."""
    for path, origin in _candidates(name):
        tool = _tool(name, path, origin)
        if tool.major == LLVM_MAJOR:
            return tool
    return None


def require_clang() -> Tool:
    """``find_clang``; raises R3Error when there is none of version 22."""
    found = find_clang()
    if found is None or found.major != LLVM_MAJOR:
        what = f"{found.path} is version {found.version}" if found else "it was not found"
        raise R3Error(f"R3 needs clang {LLVM_MAJOR}: {what}; install it, or set {CLANG_VARIABLE}; see `r3 doctor`")
    return found


def require_linker() -> Tool:
    """LLVM's ``ld.lld``; raises R3Error when there is none of version 22."""
    found = find_llvm_program("ld.lld")
    if found is None:
        raise R3Error("LLVM's linker ld.lld was not found; `r3 doctor` says how to get it")
    return found


def _candidates(name: str) -> Iterator[tuple[Path, str]]:
    folder = os.environ.get(LLVM_VARIABLE)
    if folder and (Path(folder) / "bin" / name).is_file():
        yield Path(folder) / "bin" / name, f"variable {LLVM_VARIABLE}"
    for spelling in (f"{name}-{LLVM_MAJOR}", name):
        found = shutil.which(spelling)
        if found is not None:
            yield Path(found), "PATH"
    beside = DEBIAN_FOLDER / name
    if beside.is_file():
        yield beside, str(DEBIAN_FOLDER.parent)


def _tool(name: str, path: Path, origin: str) -> Tool:
    return Tool(name, path, run_version(path, LLVM_VERSION), origin)
