"""What ``r3 doctor`` knows: every tool that R3 uses, what it is for, and what brings it."""

from __future__ import annotations

import enum
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

import r3cc
from r3cc.errors import R3Error
from r3cc.toolchain.cuda import find_cuda, find_ptxas, missing_parts
from r3cc.toolchain.llvm import LLVM_MAJOR, find_clang, find_llvm_program
from r3cc.toolchain.native import native_library, native_program
from r3cc.toolchain.rocm import find_rocm_device_libraries
from r3cc.toolchain.tool import Tool, run_version


class Need(enum.StrEnum):
    """What fails without a tool."""

    BUILD = "build"
    """Building an application with R3."""
    OPTIONAL = "optional"
    """One part of R3; the rest works."""


class Finding(msgspec.Struct, frozen=True):
    """One tool: what is there of it, or what is wrong and how to mend that."""

    name: str
    purpose: str
    need: Need
    tool: Tool | None
    problem: str = ""
    """Empty when the tool serves."""
    remedy: str = ""
    """The one command that brings it."""


APT_LLVM = f"apt-get install clang-{LLVM_MAJOR} llvm-{LLVM_MAJOR} lld-{LLVM_MAJOR} clang-tools-{LLVM_MAJOR}"
PIP_CUDA = "pip install 'r3cc[toolchain]'"
PIP_R3 = "pip install ."
"""In a copy of R3's source."""


def diagnose() -> list[Finding]:
    """Look for everything."""
    return [
        _clang(),
        _llvm_program("ld.lld", "the cpu device, and linking with -fgpu-rdc", Need.OPTIONAL),
        _llvm_program("clang-offload-packager", "device code in host objects", Need.BUILD),
        _llvm_program("clang-linker-wrapper", "linking with -fgpu-rdc", Need.OPTIONAL),
        _cuda(),
        _ptxas(),
        _rocm(),
        _bubblewrap(),
        _native("r3-clang++", "the compiler that applications are built with", native_program, Need.BUILD),
        _native("cmake/R3Toolchain.cmake", "CMake: --toolchain with this path", native_library, Need.OPTIONAL),
        _native("libR3Passes.so", "capture of IR, replay compiler", native_library, Need.BUILD),
        _native("libr3record.so", "recording on NVIDIA GPUs", native_library, Need.OPTIONAL),
        _native("libr3cpu.so", "the cpu device", native_library, Need.OPTIONAL),
    ]


def build_works(findings: list[Finding]) -> bool:
    """Whether an application can be built with R3."""
    return not any(finding.problem and finding.need is Need.BUILD for finding in findings)


def _clang() -> Finding:
    tool = find_clang()
    problem = ""
    if tool is None:
        problem = "not found"
    elif tool.major != LLVM_MAJOR:
        problem = f"version {tool.version or 'unknown'}, R3 needs {LLVM_MAJOR}"
    return _finding("clang", "compiles applications", Need.BUILD, tool, problem, APT_LLVM)


def _llvm_program(name: str, purpose: str, need: Need) -> Finding:
    tool = find_llvm_program(name)
    problem = "" if tool else f"no version {LLVM_MAJOR} found"
    return _finding(name, purpose, need, tool, problem, APT_LLVM)


def _cuda() -> Finding:
    tool = find_cuda()
    if tool is None:
        return _finding("cuda", "headers and libdevice for CUDA", Need.BUILD, None, "not found", PIP_CUDA)
    lacking = missing_parts(tool.path)
    problem = f"lacks what these wheels bring: {', '.join(lacking)}" if lacking else ""
    return _finding("cuda", "headers and libdevice for CUDA", Need.BUILD, tool, problem, PIP_CUDA)


def _ptxas() -> Finding:
    tool = find_ptxas()
    return _finding("ptxas", "assembles PTX", Need.BUILD, tool, "" if tool else "not found", PIP_CUDA)


def _rocm() -> Finding:
    tool = find_rocm_device_libraries()
    problem = "" if tool else "not found"
    remedy = "apt-get install rocm-device-libs libamdhip64-dev"
    return _finding("rocm-device-libs", "HIP for AMD GPUs", Need.OPTIONAL, tool, problem, remedy)


def _bubblewrap() -> Finding:
    path = shutil.which("bwrap")
    version = run_version(Path(path), r"(\d[\d.]*)") if path else ""
    tool = Tool("bwrap", Path(path), version, "PATH") if path else None
    purpose = "confines the compiler while it reads rewritten kernels"
    return _finding("bwrap", purpose, Need.OPTIONAL, tool, "" if tool else "not found", "apt-get install bubblewrap")


def _native(name: str, purpose: str, find: Callable[[str], Path], need: Need) -> Finding:
    try:
        tool = Tool(name, find(name), r3cc.__version__, "R3")
    except R3Error:
        return _finding(name, purpose, need, None, "not found", PIP_R3)
    return _finding(name, purpose, need, tool, "", PIP_R3)


def _finding(name: str, purpose: str, need: Need, tool: Tool | None, problem: str, remedy: str) -> Finding:
    return Finding(name, purpose, need, tool, problem, remedy if problem else "")
