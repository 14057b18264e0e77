"""The recorder for AMD's GPUs, before the cpu device's own HIP runtime: its calls are real, the GPU is the host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from r3cc.errors import R3Error
from r3cc.store import Store
from r3cc.toolchain.native import native_library
from tests.cpu.test_hip import PROGRAM, ROOT, build

SOURCE = r"""
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
__device__ int calls;
__global__ void scale(float *out, const float *in, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = by * in[i];
  if (i == 0)
    ++calls;
}
__global__ void doubled(float *x) { x[threadIdx.x] *= 2; }
int main() {
  const int n = 1000;
  float host[n], *in, *out, *pinned;
  for (int i = 0; i < n; ++i)
    host[i] = i;
  if (hipMalloc(&in, sizeof host) || hipMalloc(&out, sizeof host) || hipHostMalloc(&pinned, 64 * sizeof(float)))
    return 2;
  hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice);
  hipMemset(out, 0, sizeof host);
  for (int round = 0; round < 3; ++round) {
    float by = round + 2;
    int count = n;
    void *arguments[] = {&out, &in, &by, &count};
    if (round < 2)
      scale<<<8, 128>>>(out, in, by, n);
    else
      hipExtLaunchKernel((void *)scale, dim3(8), dim3(128), arguments, 0, nullptr, nullptr, nullptr, 0);
  }
  for (int i = 0; i < 64; ++i)
    pinned[i] = 1;
  doubled<<<1, 64>>>(pinned);
  for (auto &file : std::filesystem::directory_iterator(std::getenv("R3_CPU_MODULES"))) {
    hipModule_t module;
    hipFunction_t function;
    void *arguments[] = {&out};
    if (file.path().extension() == ".so" && !hipModuleLoad(&module, file.path().c_str()) &&
        !hipModuleGetFunction(&function, module, "_Z7doubledPf"))
      hipModuleLaunchKernel(function, 1, 1, 1, 5, 1, 1, 0, nullptr, arguments, nullptr);
  }
  hipMemcpy(host, out, sizeof host, hipMemcpyDeviceToHost);
  std::printf("%g %g %g\n", host[4], host[5], pinned[63]);
  return hipFree(in) || hipFree(out) || hipHostFree(pinned) || hipFree(out) == hipSuccess;
}
"""


def environment(runtime: str) -> dict[str, str]:
    try:
        native_library("libr3record-hip.so")
        return os.environ | {"LD_LIBRARY_PATH": str(native_library(f"cpu/{runtime}/libamdhip64.so").parent)}
    except R3Error as missing:
        pytest.skip(str(missing))


def r3(runtime: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from r3cc.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, env=environment(runtime), cwd=ROOT, capture_output=True, text=True, check=False)


def test_launches_are_recorded_with_their_memory(tmp_path: Path) -> None:
    source, store = tmp_path / "scale.cpp", tmp_path / "store"
    source.write_text(SOURCE)
    program = build(source, tmp_path / "scale", "--offload-arch=gfx90a")
    done = r3("hip5", "record", "--every", 1, "--device", "hip:0", "--store", store, "--", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "32 20 2\n"
    with Store.open(store) as opened:
        (process,) = opened.processes(None)
        assert process.device == "hip:0" and process.architecture == "gfx90a"
        scale = opened.find_kernel("scale", None)
        doubled, loaded = sorted(
            (each for each in opened.kernels(None) if each.name == "_Z7doubledPf"), key=lambda each: -len(each.module)
        )
        assert (scale.launches, scale.recorded, scale.device, scale.not_recordable) == (3, 3, "hip:0", ())
        assert [(each.reason, each.launches) for each in doubled.not_recordable] == [("pinned host memory", 1)]
        assert [each.reason for each in loaded.not_recordable] == ["the program loaded its module itself"]
        for factor, launch in enumerate(opened.launches(scale), start=2):
            assert [each.address >> 30 for each in launch.regions] == [0x440000000000 >> 30] * 2
            assert launch.time_ns > 0
            content = opened.image(launch.regions[1].after, launch.regions[1].size)
            assert np.array_equal(content.view(np.float32), factor * np.arange(1000, dtype=np.float32))
            (calls,) = launch.globals
            before, after = (opened.image(key, 4).view(np.int32)[0] for key in (calls.before, calls.after))
            assert (before, after) == (factor - 2, factor - 1)


def test_a_recording_of_the_gpu_is_replayed_on_it(tmp_path: Path) -> None:
    if find_spec("hip") is None:
        pytest.skip("needs hip-python: pip install 'r3cc[hip]'")
    program, store = build(PROGRAM, tmp_path / "waves", "--offload-arch=gfx90a"), tmp_path / "store"
    done = r3("hip5", "record", "--device", "hip:0", "--store", store, "--", program)
    assert done.returncode == 0, done.stderr
    for kernel in ("sums", "votes", "other"):
        done = r3("hip6", "replay", "--store", store, "--samples", 1, "--json", kernel)
        answer = json.loads(done.stdout)
        assert (answer["status"], answer["device"]) == ("ok", "hip:0"), done.stdout + done.stderr


def test_a_program_without_hips_runtime_is_refused(tmp_path: Path) -> None:
    done = r3("hip5", "record", "--device", "hip:0", "--store", tmp_path / "store", "--", "/bin/true")
    assert done.returncode != 0
    assert "does not load HIP's shared runtime" in done.stderr
