from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from r3cc.llvm import Passes
from r3cc.toolchain.cuda import find_cuda, find_ptxas
from r3cc.toolchain.llvm import require_clang
from tests.once import once

INPUTS = Path(__file__).parent / "inputs"

Capture = Callable[..., bytes]


@pytest.fixture(scope="session")
def passes() -> Passes:
    """For calls that leave LLVM's options alone; compiles go through tests.llvm.compiler."""
    return Passes()


@pytest.fixture(scope="session")
def device_compile(shared: Path) -> Capture:
    """clang's output for a file of inputs/, compiled for the device alone, once for each set of flags."""
    tree = find_cuda()
    if tree is None:
        pytest.skip("needs a CUDA tree")

    @cache
    def compile_device(source: str, *flags: str) -> bytes:
        device = ["-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_90", f"--cuda-path={tree.path}"]
        quiet = ["-Wno-unknown-cuda-version", "-Wno-cuda-compat"]

        def make(path: Path) -> None:
            command = [require_clang().path, *device, *quiet, *flags, "-o", path, INPUTS / source]
            subprocess.run([str(part) for part in command], check=True, cwd=INPUTS)

        return once(shared / "llvm" / f"{source}{' '.join(flags)}".replace("/", "_"), make).read_bytes()

    return compile_device


@pytest.fixture(scope="session")
def clang_ptx(device_compile: Capture) -> Capture:
    """PTX of a source at ``-O<level>`` with further flags."""

    def compile_ptx(source: str, level: int, *flags: str) -> bytes:
        return device_compile(source, f"-O{level}", "-S", *flags)

    return compile_ptx


@pytest.fixture(scope="session")
def pipeline_start(device_compile: Capture) -> Capture:
    """The module as it is at the start of clang's pipeline, libdevice linked in."""

    def capture(source: str, level: int, *flags: str) -> bytes:
        unoptimised = ["-Xclang", "-disable-llvm-passes", "-Xclang", "-emit-llvm-uselists"]
        return device_compile(source, f"-O{level}", "-emit-llvm", "-c", *unoptimised, *flags)

    return capture


@pytest.fixture(scope="session")
def ptxas() -> Path:
    tool = find_ptxas()
    if tool is None:
        pytest.skip("needs ptxas")
    return tool.path
