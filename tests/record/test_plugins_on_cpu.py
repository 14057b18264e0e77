"""Programs whose kernels are in libraries that they load by themselves, on the cpu device."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from r3cc.record.cpu_modules import COMPILE_VARIABLE
from r3cc.store import Store
from r3cc.toolchain.cuda import find_cuda
from tests.examples.programs import build_cuda, r3
from tests.replay.cpu_kernels import built

pytestmark = pytest.mark.skipif(
    find_cuda() is None or not (built("libr3cpu.so") and built("libR3Passes.so")), reason="needs CUDA and R3's parts"
)

APP = """
#include <cstdio>
#include <cuda_runtime.h>
#include <dlfcn.h>

__global__ void once(int *x) { x[threadIdx.x] += 1; }

int main(int, char **values) {
  int *device, host[32] = {};
  cudaMalloc(&device, sizeof(host));
  cudaMemcpy(device, host, sizeof(host), cudaMemcpyHostToDevice);
  once<<<1, 32>>>(device);
  void *library = dlopen(values[1], RTLD_NOW);
  if (!library) {
    std::puts(dlerror());
    return 2;
  }
  reinterpret_cast<void (*)(int *)>(dlsym(library, "run"))(device);
  cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost);
  std::printf("%d %s\\n", host[31], cudaGetErrorName(cudaGetLastError()));
}
"""
PLUGIN = """
#include <cuda_runtime.h>
__global__ void tenfold(int *x) { x[threadIdx.x] *= 10; }
extern "C" void run(int *x) { tenfold<<<1, 32>>>(x); }
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugins with a blank")
    build_cuda(folder, "app", APP, "-ldl")
    build_cuda(folder, "plugin.so", PLUGIN, "-shared", "-fPIC")
    return folder


def test_kernels_of_a_plugin_are_compiled_when_they_are_used(programs: Path, tmp_path: Path) -> None:
    for _ in range(2):  # the second finds them compiled
        command = ["--device", "cpu", "--", str(programs / "app"), str(programs / "plugin.so")]
        done = r3("record", *command, store=tmp_path / "store")
        assert (done.returncode, done.stdout) == (0, "10 cudaSuccess\n"), done.stderr
        with Store.open(tmp_path / "store") as store:
            counts = {kernel.name: (kernel.launches, kernel.recorded) for kernel in store.kernels()}
            assert counts == {"_Z4oncePi": (1, 1), "_Z7tenfoldPi": (1, 1)}
    assert "r3: compiling the kernels of" not in done.stderr


def test_where_no_r3_can_compile_the_module_is_named(programs: Path, tmp_path: Path) -> None:
    printed = r3("record", "--device", "cpu", "--print-env", "--", str(programs / "app"), store=tmp_path / "store")
    assert printed.returncode == 0, printed.stderr
    lines = [line.removeprefix("export ").split("=", 1) for line in printed.stdout.splitlines() if "=" in line]
    variables = {name: value.strip("'\"") for name, value in lines} | {COMPILE_VARIABLE: str(tmp_path / "none")}
    command = [str(programs / "app"), str(programs / "plugin.so")]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True)
    assert done.stdout == "1 cudaErrorInvalidKernelImage\n", done.stderr
    assert "plugin.so' has not been compiled for the cpu device" in done.stderr
