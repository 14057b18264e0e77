"""Programs that are linked with the CUDA driver as well, on the cpu device."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.store import Store
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_library, native_program
from tests.examples.programs import r3, runtime_name
from tests.replay.cpu_kernels import built

pytestmark = pytest.mark.skipif(
    find_cuda() is None or not (built("libr3cpu.so") and built("libR3Passes.so")), reason="needs CUDA and R3's parts"
)

PROGRAM = """
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>

__global__ void twice(int *x) { x[threadIdx.x] *= 2; }

static int check(const char *what, CUresult error) {
  const char *text = "";
  if (error) {
    cuGetErrorName(error, &text);
    std::printf("%s: %s\\n", what, text);
  }
  return error;
}

int main() {
  CUdevice device;
  CUcontext context, current, streams;
  CUdeviceptr memory;
  char name[64];
  size_t bytes;
  int count, major, from[32], to[32], version;
  check("init", cuInit(0));
  check("version", cuDriverGetVersion(&version));
  check("count", cuDeviceGetCount(&count));
  check("device", cuDeviceGet(&device, 0));
  check("name", cuDeviceGetName(name, sizeof(name), device));
  check("memory", cuDeviceTotalMem(&bytes, device));
  check("attribute", cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  check("context", cuDevicePrimaryCtxRetain(&context, device));
  check("current", cuCtxGetCurrent(&current));
  check("stream", cuStreamGetCtx(nullptr, &streams));
  for (int i = 0; i < 32; ++i)
    from[i] = i;
  check("alloc", cuMemAlloc(&memory, sizeof(from)));
  check("to the device", cuMemcpyHtoD(memory, from, sizeof(from)));
  twice<<<1, 32>>>(reinterpret_cast<int *>(memory));
  check("wait", cuCtxSynchronize());
  check("back", cuMemcpyDtoH(to, memory, sizeof(to)));
  check("fill", cuMemsetD32(memory, 7, 32));
  cudaMemcpy(from, reinterpret_cast<void *>(memory), sizeof(from), cudaMemcpyDeviceToHost);
  check("free", cuMemFree(memory));
  bool same = context == current && current == streams;
  std::printf("%s: %d, %d, %d %d, %d, %d\\n", name, count, same, to[3], to[31], from[31], major);
  CUmodule module;
  check("module", cuModuleLoadData(&module, "none"));
  check("no device", cuDeviceGet(&device, 1));
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        driver = native_library("cpu/driver/libcuda.so.1").parent
    except R3Error as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("driver")
    cuda = find_cuda()
    assert cuda is not None
    library = cuda.path / "lib64" if (cuda.path / "lib64").is_dir() else cuda.path / "lib"
    (folder / "app.cu").write_text(PROGRAM)
    options = ["-O2", f"--cuda-path={cuda.path}", "--offload-arch=sm_90", "-Wno-unknown-cuda-version"]
    libraries = [f"-L{library}", f"-Wl,-rpath,{library}", f"-l:{runtime_name(library)}", f"-L{driver}", "-lcuda"]
    command = [str(native_program("r3-clang++")), *options, "app.cu", "-o", "app", *libraries]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "app"


def test_the_driver_answers_for_device_context_and_memory(program: Path, tmp_path: Path) -> None:
    done = r3("record", "--device", "cpu", "--", str(program), store=tmp_path / "store")
    assert done.returncode == 0, done.stderr
    first, module, device = done.stdout.splitlines()
    assert first == "R3 cpu device: 1, 1, 6 62, 7, 9"
    assert module == "module: CUDA_ERROR_NOT_SUPPORTED"
    assert device == "no device: CUDA_ERROR_INVALID_DEVICE"
    assert "r3: the cpu device has no cuModuleLoadData" in done.stderr
    with Store.open(tmp_path / "store") as store:
        (kernel,) = store.kernels()
        assert (kernel.launches, kernel.recorded) == (1, 1)
        (launch,) = store.launches(kernel)
        assert len(launch.regions) == 1
