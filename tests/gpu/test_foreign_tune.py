"""``r3 tune`` on kernels that a compiler without R3 built, recorded by ``--foreign``."""

import os
import subprocess
import sys

import pytest

from r3cc.devices import open_device
from r3cc.replay.events import Answer, Baseline, Proposal, Result, read_log
from r3cc.replay.model import Status
from r3cc.store import Store
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.llvm import require_clang
from r3cc.tune.foreign import PTXAS_KNOBS
from tests.examples.programs import runtime_name

pytestmark = pytest.mark.gpu

BUDGET = 40
PROGRAM = """
#include <cstdio>
#include <cuda_runtime.h>

__device__ double weights[4];

__global__ void smooth(double *to, const double *from, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  double sum = 0.0;
  for (int k = -8; k <= 8; ++k) {
    int at = i + k < 0 ? 0 : i + k >= n ? n - 1 : i + k;
    sum += weights[k & 3] * from[at];
  }
  to[i] = sum;
}

int main() {
  const int n = 1 << 20;
  double *a, *b, host[4] = {0.1, 0.2, 0.3, 0.4};
  cudaMalloc(&a, n * sizeof(double));
  cudaMalloc(&b, n * sizeof(double));
  cudaMemset(a, 0x3f, n * sizeof(double));
  cudaMemcpyToSymbol(weights, host, sizeof(host));
  for (int step = 0; step < 10; ++step)
    smooth<<<(n + 255) / 256, 256>>>(step % 2 ? a : b, step % 2 ? b : a, n);
  cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s\\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}
"""


def r3(*arguments, store):
    command = [sys.executable, "-c", "from r3cc.cli import main; main()", *arguments]
    environment = {**os.environ, "R3_STORE": str(store), "R3_LIBRARY": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def number():
    """The architecture of the GPU, "90"."""
    device = open_device("cuda:0")
    found = device.properties.architecture.removeprefix("sm_")
    device.close()
    return found


def run(*command):
    subprocess.run(list(map(str, command)), check=True, timeout=200)


def link(objects, program):
    cuda = find_cuda().path
    library = cuda / "lib64" if (cuda / "lib64").is_dir() else cuda / "lib"
    runtime = f"-l:{runtime_name(library)}"
    run("g++", objects, "-o", program, f"-L{library}", f"-Wl,-rpath,{library}", runtime)


def nvcc(source, program, number, codes):
    compiler = find_cuda().path / "bin/nvcc"
    if not compiler.is_file():
        pytest.skip("needs nvcc")
    kinds = ",".join(f"{code}_{number}" for code in codes)
    run(compiler, "-O2", f"-gencode=arch=compute_{number},code=[{kinds}]", "-c", source, "-o", f"{program}.o")
    link(f"{program}.o", program)


def clang(source, program, number):
    options = ["-O2", f"--cuda-path={find_cuda().path}", f"--offload-arch=sm_{number}", "-Wno-unknown-cuda-version"]
    run(require_clang().path, *options, "-c", "-x", "cuda", source, "-o", f"{program}.o")
    link(f"{program}.o", program)


BUILDS = {
    "nvcc, machine code and PTX": lambda *paths: nvcc(*paths, ("sm", "compute")),
    "nvcc, machine code": lambda *paths: nvcc(*paths, ("sm",)),
    "nvcc, PTX": lambda *paths: nvcc(*paths, ("compute",)),
    "clang": clang,
}


@pytest.mark.parametrize("build", BUILDS)
def test_a_kernel_of_another_compiler_is_tuned(build, tmp_path, number):
    source, program, folder = tmp_path / "smooth.cu", tmp_path / "smooth", tmp_path / "r3-store"
    source.write_text(PROGRAM)
    BUILDS[build](source, program, number)
    r3("record", "--foreign", "--", str(program), store=folder)
    r3("tune", "--budget", str(BUDGET), "--time", "2m", store=folder)
    with Store.open(folder) as store:
        (kernel,) = [each for each in store.kernels() if "smooth" in each.name]
        module = store.module(kernel.module)
        (search,) = store.searches.all()
        events = read_log(search.events_path)
    assert not kernel.has_ir and kernel.recorded
    (baseline,) = [event.evaluation for event in events if isinstance(event, Baseline)]
    assert baseline.status is Status.OK, (baseline.status, baseline.message, baseline.mismatches)
    answers = [event.evaluation for event in events if isinstance(event, Answer)]
    valid = [each.candidate for each in answers if each.status is Status.OK]
    assert any(candidate.launch.block for candidate in valid), sorted({(a.status, a.message) for a in answers})
    tried = {key for candidate in valid for key, _ in candidate.codegen}
    has_ptx = module.info["format"] == "ptx" or module.ptx is not None
    assert has_ptx == ("PTX" in build), module.info
    assert bool(tried & {knob.key for knob in PTXAS_KNOBS}) == has_ptx
    assert all(event.candidate.pipeline is None for event in events if isinstance(event, Proposal))
    assert len([event for event in events if isinstance(event, Result)]) == 1
    assert "smooth" in r3("report", store=folder).stdout
