"""HIP programs on the cpu device: built by r3-hipcc, recorded, replayed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.llvm import Passes
from r3cc.store import Store
from r3cc.store.binary import read_binary
from r3cc.store.verify import verify
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_library
from r3cc.toolchain.rocm import find_rocm_device_libraries

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).parent / "programs/waves.hip"


def hipcc() -> Path:
    """The wrapper, beside the native libraries' prefix."""
    try:
        compiler = native_library("libR3Passes.so").parents[2] / "bin/r3-hipcc"
    except R3Error as missing:
        pytest.skip(str(missing))
    headers = Path("/usr/include/hip/hip_runtime.h").is_file() or Path("/opt/rocm/include/hip/hip_runtime.h").is_file()
    if not compiler.is_file() or not headers or find_rocm_device_libraries() is None:
        pytest.skip("needs HIP's headers and ROCm's device libraries (Debian: libamdhip64-dev rocm-device-libs)")
    return compiler


def build(source: Path, target: Path, *flags: str) -> Path:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HIP", "ROCM"))}
    command = [str(hipcc()), "-w", *flags, str(source), "-o", str(target)]
    subprocess.run(command, check=True, env=environment)
    return target


def record(program: Path, store: Path) -> subprocess.CompletedProcess[str]:
    """``r3 record --device cpu`` of a program."""
    command = [sys.executable, "-c", "from r3cc.cli import main; main()", "record", "--store", str(store)]
    return subprocess.run(
        [*command, "--device", "cpu", "--", str(program)], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("architecture", ["gfx90a", "gfx1030"])
def test_waves_of_either_width(tmp_path: Path, architecture: str) -> None:
    program = build(PROGRAM, tmp_path / "waves", f"--offload-arch={architecture}")
    done = record(program, tmp_path / "store")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"wave {64 if architecture == 'gfx90a' else 32}: passed" in done.stdout
    assert "thread 7 of 100: 1.50 words" in done.stdout
    with Store.open(tmp_path / "store") as store:
        kernels = {kernel.demangled.split("(")[0]: kernel for kernel in store.kernels(None)}
    assert kernels.keys() == {"sums", "votes", "other"}
    assert all(kernel.recorded == 1 for kernel in kernels.values())


@pytest.mark.parametrize("example", ["first-steps/saxpy.cu", "first-steps/constant_tables.cu", "cg/cg.cu"])
def test_the_examples_are_hip_programs_too(tmp_path: Path, example: str) -> None:
    flags = ("-x", "hip", "--offload-arch=gfx90a", "-I", str(ROOT / "examples/hip"))
    command = [str(hipcc()), "-w", *flags, str(ROOT / "examples" / example), "-o", str(tmp_path / "app")]
    subprocess.run(command, check=True)
    done = record(tmp_path / "app", tmp_path / "store")
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_old_code_object_version_is_refused(tmp_path: Path) -> None:
    program = build(PROGRAM, tmp_path / "waves", "--offload-arch=gfx90a", "-mcode-object-version=4")
    (module,) = read_binary(program)
    with pytest.raises(R3Error, match="mcode-object-version=5"):
        Passes().lower_to_host(module.bitcode)


def test_layouts_are_those_of_rocms_headers() -> None:
    hipcc()
    includes = [f"-I{ROOT / folder}" for folder in ("record_runtime/cpu", "record_runtime/core/include")]
    rocm = ["-I/opt/rocm/include"]
    command = ["g++", "-std=c++17", "-fsyntax-only", *includes, *rocm, str(Path(__file__).parent / "hip_layouts.cpp")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_operations_without_a_mask_are_among_those_who_are_there(tmp_path: Path) -> None:
    """HIP for NVIDIA's GPUs: the same source as a CUDA program, whose votes ask which lanes are active."""
    cuda = find_cuda()
    if cuda is None:
        pytest.skip("needs CUDA's headers and ptxas")
    environment = {"HIP_PLATFORM": "nvidia", "NVCC_APPEND_FLAGS": "--cudart shared", "CUDA_PATH": str(cuda.path)}
    source = tmp_path / "waves.cpp"
    source.write_text(PROGRAM.read_text())
    command = [str(hipcc()), "-w", "--offload-arch=sm_90", str(source), "-o", str(tmp_path / "waves")]
    subprocess.run(command, check=True, env=os.environ | environment)
    done = record(tmp_path / "waves", tmp_path / "store")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wave 32: passed" in done.stdout


def test_a_program_that_ends_by_exit_alone_is_recorded_whole(tmp_path: Path) -> None:
    source = tmp_path / "leaving.cpp"
    source.write_text("""
        #include <hip/hip_runtime.h>
        #include <unistd.h>
        __global__ void filled(float *x) { x[threadIdx.x] = 1; }
        int main() {
          float *x;
          if (hipMalloc(&x, 128)) return 2;
          for (int i = 0; i < 5; ++i) filled<<<1, 32>>>(x);
          _exit(0);
        }""")
    done = record(build(source, tmp_path / "leaving", "--offload-arch=gfx90a"), tmp_path / "store")
    assert done.returncode == 0, done.stdout + done.stderr
    with Store.open(tmp_path / "store") as store:
        assert store.find_kernel("filled").launches == 5
        assert not verify(store).killed
