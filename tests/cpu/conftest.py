from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.llvm import CompileRequest, Passes
from r3cc.record.cpu_modules import link_module
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.llvm import require_clang
from r3cc.toolchain.native import native_library
from tests.cpu.engine import Answer, Launch, run
from tests.once import once

KERNELS = Path(__file__).parent / "kernels"

Capture = Callable[..., bytes]
Build = Callable[..., Path]
Runner = Callable[..., Answer]


@pytest.fixture(scope="session")
def capture(shared: Path) -> Capture:
    """Device bitcode of a file of kernels/, as it is at the start of clang's pipeline."""
    tree = find_cuda()
    if tree is None:
        pytest.skip("needs a CUDA tree")

    @cache
    def compile_device(source: str, *flags: str) -> bytes:
        device = ["-x", "cuda", "--cuda-device-only", "--offload-arch=sm_90", f"--cuda-path={tree.path}"]
        device.append(f"-I{tree.path / 'include/cccl'}")  # of CUDA 13: what cooperative groups include
        unoptimised = ["-O3", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "-Wno-unknown-cuda-version"]

        def make(path: Path) -> None:
            command = [require_clang().path, *device, *unoptimised, *flags, "-o", path, KERNELS / source]
            subprocess.run([str(part) for part in command], check=True)

        name = Path(source).name  # of a source elsewhere, too: joined whole it would be where the result goes
        return once(shared / "cpu" / f"{name}{' '.join(flags)}", make).read_bytes()

    return compile_device


@pytest.fixture(scope="session")
def build(capture: Capture, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """A lowered module of a file of kernels/, compiled with a pipeline."""

    @cache
    def make(source: str, pipeline: str = "default<O3>") -> Path:
        passes = Passes()
        request = CompileRequest(pipeline=pipeline, emit="object")
        code = passes.compile(passes.lower_to_host(capture(source)), request).output
        return link_module(code, tmp_path_factory.mktemp("module"))

    return make


@pytest.fixture(scope="session")
def engine() -> Path:
    try:
        return native_library("libr3cpu.so")
    except R3Error as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def launch(build: Build, engine: Path) -> Runner:
    """Runs launches of a file of kernels/."""

    def launch_all(source: str, launches: Launch | Sequence[Launch], pipeline: str = "default<O3>") -> Answer:
        wanted = [launches] if isinstance(launches, Launch) else list(launches)
        return run(engine, build(source, pipeline), wanted)

    return launch_all
