"""Programs of relocatable device code (-fgpu-rdc), whose kernels use functions and variables of other units."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from r3cc.llvm.inspect import kernel_identity
from r3cc.record.linked_modules import whole_modules
from r3cc.store import Store
from r3cc.store.binary import read_binary
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.llvm import require_clang
from r3cc.toolchain.native import native_program
from tests.cpu.test_hip import hipcc
from tests.examples.programs import DEVICES, r3, runtime_name
from tests.replay.cpu_kernels import built

pytestmark = pytest.mark.skipif(
    find_cuda() is None or not (built("libr3cpu.so") and built("libR3Passes.so")), reason="needs CUDA and R3's parts"
)

COUNT = 1000
MAIN = """
#include <cstdio>
#include <cuda_runtime.h>

__device__ double weight(int i);
extern __device__ double table[16];
static __device__ int calls;
__device__ static int used = 7;
__device__ static double local(double x) { return x + 1.0; }

__global__ void apply(double *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = local(weight(i) * table[i & 15]);
  if (i == 0) {
    ++calls;
    used += 1;
  }
}
void other(double *y, int n);

int main() {
  const int n = 1000;
  double *y, host[n], sum = 0;
  cudaMalloc(&y, sizeof(host));
  cudaMemset(y, 0, sizeof(host));
  other(y, n);
  apply<<<(n + 127) / 128, 128>>>(y, n);
  other(y, n);
  cudaMemcpy(host, y, sizeof(host), cudaMemcpyDeviceToHost);
  for (double v : host)
    sum += v;
  int count = 0;
  cudaMemcpyFromSymbol(&count, calls, sizeof(int));
  std::printf("%.6f %d %s\\n", sum, count, cudaGetErrorString(cudaGetLastError()));
}
"""
OTHER = """
#include <cuda_runtime.h>

__device__ double table[16];
__device__ static int used = 1;
__device__ static double local(double x) { return x * used; }
__device__ double weight(int i) { return 1.0 + i * 0.001; }

__global__ void fill(double *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < 16)
    table[i] += i;
  if (i < n)
    y[i] = local(y[i]);
  if (i == 0)
    used = 2;
}
__global__ void spread(double *y) { y[threadIdx.x] += table[threadIdx.x & 15]; }
void other(double *y, int n) {
  fill<<<1, 1024>>>(y, n);
  if (n < 0)
    spread<<<1, 32>>>(y);
}
"""


def expected() -> str:
    total = sum(2 * ((1 + i * 0.001) * (i % 16) + 1) for i in range(COUNT))
    return f"{total:.6f} 1 no error"


def build(folder: Path, main: str, other: str) -> Path:
    compiler = command_of(folder, main, other)
    run(folder, *compiler, "--offload-link", "main.o", "other.o", "-o", "app", *runtime_flags())
    return folder / "app"


def command_of(folder: Path, main: str, other: str) -> list[str]:
    """The compiler with its options, after it has made main.o and other.o."""
    cuda = find_cuda()
    assert cuda is not None
    compiler = [str(native_program("r3-clang++")), "--r3-compat", f"--cuda-path={cuda.path}", "--offload-arch=sm_90"]
    compiler += ["-O2", "-fgpu-rdc", "-Wno-unknown-cuda-version"]
    (folder / "main.cu").write_text(main)
    (folder / "other.cu").write_text(other)
    for unit in ("main", "other"):
        run(folder, *compiler, "-c", f"{unit}.cu", "-o", f"{unit}.o")
    return compiler


def runtime_flags() -> list[str]:
    cuda = find_cuda()
    assert cuda is not None
    library = cuda.path / "lib64" if (cuda.path / "lib64").is_dir() else cuda.path / "lib"
    return [f"-L{library}", f"-Wl,-rpath,{library}", f"-l:{runtime_name(library)}"]


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("rdc"), MAIN, OTHER)


@pytest.fixture(scope="module")
def programs(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A program for each kind of device: a GPU's driver cannot tell private variables of one name apart."""

    def of(device: str) -> Path:
        if device == "cpu":
            return program
        main, other = (text.replace("__device__ static int", "__device__ int") for text in (MAIN, OTHER))
        return build(tmp_path_factory.mktemp("rdc"), main.replace("used", "seen"), other)

    return of


def test_units_become_one_module(program: Path, tmp_path: Path) -> None:
    units = read_binary(program)
    assert len(units) == 2
    with Store.create(tmp_path / "store") as store:
        (module,) = whole_modules(program, store)
        assert whole_modules(program, store)[0].info == module.info
    assert [Path(unit["source"]).name for unit in module.info["units"]] == ["main.cu", "other.cu"]
    kernels = {kernel["name"]: kernel for kernel in module.info["kernels"]}
    assert set(kernels) == {"_Z5applyPdi", "_Z4fillPdi", "_Z6spreadPd"}
    assert "table" in kernels["_Z5applyPdi"]["globals"]
    assert module.info["undefined"] == []
    private = [each["name"] for each in module.info["globals"] if "used" in each["name"]]
    assert len(private) == 2 and len(set(private)) == 2
    (other,) = [unit for unit in units if Path(unit.info["source"]).name == "other.cu"]
    alone = kernel_identity(other.bitcode, "_Z6spreadPd")
    assert alone == kernel_identity(module.bitcode, "_Z6spreadPd")


@pytest.mark.parametrize("device", DEVICES)
def test_a_program_of_units_records_and_replays(programs: Callable[[str], Path], tmp_path: Path, device: str) -> None:
    folder = tmp_path / "store"
    done = r3("record", "--device", device, "--", str(programs(device)), store=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() == expected()
    with Store.open(folder) as store:
        kernels = {kernel.name: kernel for kernel in store.kernels()}
        assert {name: kernel.launches for name, kernel in kernels.items()} == {"_Z5applyPdi": 1, "_Z4fillPdi": 2}
        (identity,) = {kernel.module for kernel in kernels.values()}
        module = store.module(identity)
        (launch, *_) = store.launches(kernels["_Z5applyPdi"])
    assert len(module.info["units"]) == 2
    assert "table" in {variable.name for variable in launch.globals}
    for name in kernels:
        judged = r3("replay", name, "--json", store=folder)
        assert judged.returncode == 0, judged.stderr
        assert json.loads(judged.stdout)["status"] == "ok", judged.stdout


WHOLE = MAIN.replace("void other(double *y, int n);", "void other(double *, int) {}").replace("table[i & 15]", "2.0")
FUNCTIONS = "__device__ double weight(int i) { return 1.0 + i * 0.001; }\n"


def test_functions_of_an_archive_are_there(tmp_path: Path) -> None:
    """Nothing but device functions is in the archive's unit, so the host's part of the link has no need of it."""
    compiler = command_of(tmp_path, main=WHOLE, other=FUNCTIONS)
    run(tmp_path, "ar", "rcs", "libother.a", "other.o")
    run(tmp_path, *compiler, "--offload-link", "main.o", "-L.", "-lother", "-o", "app", *runtime_flags())
    assert [Path(unit.info["source"]).name for unit in read_binary(tmp_path / "app")] == ["main.cu", "other.cu"]
    done = r3("record", "--device", "cpu", "--", str(tmp_path / "app"), store=tmp_path / "store")
    total = sum((1 + i * 0.001) * 2 + 1 for i in range(COUNT))
    assert done.stdout.strip() == f"{total:.6f} 1 no error", done.stderr


def test_a_function_that_the_program_does_not_carry_is_named(tmp_path: Path) -> None:
    compiler = command_of(tmp_path, main=WHOLE, other=FUNCTIONS)
    plain = [str(require_clang().path), *compiler[2:]]
    run(tmp_path, *plain, "-c", "other.cu", "-o", "other.o")
    run(tmp_path, *compiler, "--offload-link", "main.o", "other.o", "-o", "app", *runtime_flags())
    done = r3("record", "--device", "cpu", "--", str(tmp_path / "app"), store=tmp_path / "store")
    assert "it uses the function 'weight(int)', which this unit does not define" in done.stderr


def test_hip_units_become_one_module_as_well(tmp_path: Path) -> None:
    compiler = [str(hipcc()), "-w", "-O2", "--offload-arch=gfx90a", "-fgpu-rdc"]
    for name, text in (("main", MAIN), ("other", OTHER)):
        (tmp_path / f"{name}.hip").write_text(in_hip(text))
        run(tmp_path, *compiler, "-c", f"{name}.hip", "-o", f"{name}.o")
    run(tmp_path, *compiler, "main.o", "other.o", "-o", "app")
    done = r3("record", "--device", "cpu", "--", str(tmp_path / "app"), store=tmp_path / "store")
    assert done.stdout.strip() == expected(), done.stderr
    with Store.open(tmp_path / "store") as store:
        modules = {kernel.module for kernel in store.kernels()}
    assert len(modules) == 1


def in_hip(text: str) -> str:
    """A CUDA source as a HIP one."""
    symbol = text.replace("(&count, calls,", "(&count, HIP_SYMBOL(calls),").replace("static __device__", "__device__")
    return symbol.replace("<cuda_runtime.h>", "<hip/hip_runtime.h>").replace("cuda", "hip")
