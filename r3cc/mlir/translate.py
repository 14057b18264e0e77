"""From a file of MLIR to LLVM IR at the capture point, by LLVM's own programs (Debian: mlir-22-tools).

Compilers that have LLVM IR already give its bitcode.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from r3cc.errors import R3Error
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.llvm import LLVM_MAJOR, find_llvm_program
from r3cc.toolchain.tool import Tool

MLIR, BITCODE = ".mlir", ".bc"
"""Suffixes of the files that are taken."""
FEATURES = "+ptx87"
"""PTX that ptxas of CUDA 12.9 and later reads."""
_TIMEOUT_S = 300
_OBJECT = re.compile(rb'offload = "((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(rb"\\([0-9A-F]{2}|.)", re.DOTALL)
_NAMED = {b"n": b"\n", b"t": b"\t"}


def require_mlir() -> Tool:
    """``mlir-opt`` of R3's LLVM. Raises R3Error with what brings it."""
    found = find_llvm_program("mlir-opt")
    if found is None:
        raise R3Error(f"mlir-opt {LLVM_MAJOR} was not found; install it with `apt-get install mlir-{LLVM_MAJOR}-tools`")
    return found


def compiler_of(source: Path) -> str:
    """What made the IR of a file, as far as it is known."""
    return "" if source.suffix == BITCODE else f"mlir-opt {require_mlir().version}"


def translate(source: Path, architecture: str) -> list[bytes]:
    """Bitcode of each GPU module of a file, not optimised: of its ``gpu.module``s, else of itself as LLVM dialect.

    A file of bitcode is one module as it is. Raises R3Error with the tool's own first error.
    """
    if source.suffix == BITCODE:
        return [source.read_bytes()]
    options = f"cubin-chip={architecture} cubin-features={FEATURES} cubin-format=offloading opt-level=0"
    cuda = find_cuda()
    environment = {**os.environ, **({"CUDA_ROOT": str(cuda.path)} if cuda else {})}  # where it looks for libdevice
    lowered = _run(require_mlir(), [f"--gpu-lower-to-nvvm-pipeline={options}", str(source)], b"", environment)
    return [_unescaped(match[1]) for match in _OBJECT.finditer(lowered)] or [_translate_llvm_dialect(source)]


def _translate_llvm_dialect(source: Path) -> bytes:
    tools = [find_llvm_program(name) for name in ("mlir-translate", "llvm-as")]
    missing = next((name for name, tool in zip(("mlir-translate", "llvm-as"), tools, strict=True) if tool is None), "")
    if tools[0] is None or tools[1] is None:
        raise R3Error(f"{missing} was not found; install mlir-{LLVM_MAJOR}-tools and llvm-{LLVM_MAJOR}")
    text = _run(tools[0], ["--mlir-to-llvmir", str(source)], b"", dict(os.environ))
    return _run(tools[1], ["-o", "-", "-"], text, dict(os.environ))


def _run(tool: Tool, arguments: list[str], given: bytes, environment: dict[str, str]) -> bytes:
    try:
        done = subprocess.run(
            [tool.path, *arguments], input=given, capture_output=True, env=environment, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise R3Error(f"{tool.name} did not end within {_TIMEOUT_S} seconds") from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").splitlines()
        problem = next((line for line in lines if "error" in line.lower()), f"ended with status {done.returncode}")
        raise R3Error(f"{tool.name}: {problem}")
    return done.stdout


def _unescaped(text: bytes) -> bytes:
    """The bytes of an MLIR string."""
    return _ESCAPE.sub(
        lambda match: bytes.fromhex(match[1].decode()) if len(match[1]) == 2 else _NAMED.get(match[1], match[1]), text
    )
