"""The recorder for AMD's GPUs, before the cpu device's own HIP runtime: its calls are real, the GPU is the host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from r3cc.errors import R3Error
from r3cc.record.cpu_modules import prepare_modules
from r3cc.store import Store
from r3cc.store.verify import verify
from r3cc.toolchain.native import native_library
from tests.cpu.test_hip import PROGRAM, ROOT, build
from tests.record_runtime.bench import Recorded
from tests.store.pack_writer import add_recording

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


@dataclass
class HipBench:
    """Runs programs with the recorder preloaded, before a runtime of which a test changes some entries."""

    folder: Path
    variables: dict[str, str]
    stores: list[Store] = field(default_factory=list)

    def compile(self, name: str, source: str, *flags: str) -> Path:
        path = self.folder / f"{name}.cpp"
        path.write_text(source)
        return build(path, self.folder / name, "--offload-arch=gfx90a", *flags)

    def scaling(self, main: str) -> Path:
        """A program with the kernels of ``SCALING``."""
        return self.compile("program", SCALING + main)

    def record(self, program: Path, changed: str = "", coded: Path | None = None, **variables: str) -> Recorded:
        """Runs it to its end; ``changed`` is C++ of other runtime entries, ``coded`` has the kernels."""
        preloaded = [str(native_library("libr3record-hip.so"))]
        if changed:
            source, library = self.folder / "changed.cpp", self.folder / "libchanged.so"
            source.write_text("#include <dlfcn.h>\n#include <unistd.h>\n" + changed)
            subprocess.run(["g++", "-shared", "-fPIC", source, "-o", library], check=True)
            preloaded.append(str(library))
        path = self.folder / f"store{len(self.stores)}"
        with Store.create(path) as store:
            settings = prepare_modules([coded or program], store)
        settings |= {"LD_PRELOAD": " ".join(preloaded), "R3_RECORD_DIR": str(add_recording(path)), **variables}
        done = subprocess.run(
            [program], env=self.variables | settings, capture_output=True, text=True, timeout=60, check=False
        )
        self.stores.append(Store.open(path))
        return Recorded(done.returncode, done.stdout, done.stderr, self.stores[-1])


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[HipBench]:
    made = HipBench(tmp_path, environment("hip5"))
    yield made
    for store in made.stores:
        store.close()


SCALING = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <unistd.h>
__device__ float factor = 2;
__global__ void scaled(float *x) { x[threadIdx.x] *= factor; factor += 1; }
__global__ void filled(float *x, float by) { x[threadIdx.x] = by; }
"""


def test_a_runtime_that_only_a_plugin_has(bench: HipBench) -> None:
    plugin = bench.compile(
        "plugin.so",
        SCALING
        + """
        extern "C" void run() {
          float *x, host[32];
          if (hipMalloc(&x, sizeof host)) return;
          filled<<<1, 32>>>(x, 3);
          hipMemcpy(host, x, sizeof host, hipMemcpyDeviceToHost);
          std::printf("%g\\n", host[31]);
        }""",
        *("-shared", "-fPIC"),
    )
    main = bench.folder / "main"
    source = f"""
        #include <dlfcn.h>
        int main() {{
          void *plugin = dlopen("{plugin}", RTLD_NOW | RTLD_LOCAL);
          reinterpret_cast<void (*)()>(dlsym(plugin, "run"))();
        }}"""
    subprocess.run(["g++", "-xc++", "-", "-o", main, "-ldl"], input=source, text=True, check=True)
    recorded = bench.record(main, coded=plugin)
    assert (recorded.status, recorded.output) == (0, "3\n"), recorded.messages
    assert recorded.kernel("_Z6filledPff").recorded == 1


def test_a_device_that_never_comes_to_rest_is_not_waited_for(bench: HipBench) -> None:
    program = bench.scaling("""
        int main() {
          float *x;
          if (hipMalloc(&x, 128)) return 2;
          for (int i = 0; i < 3; ++i) filled<<<1, 32>>>(x, i);
          std::printf("done\\n");
        }""")
    never = 'extern "C" int hipDeviceSynchronize() { for (;;) pause(); }'
    recorded = bench.record(program, never, R3_RECORD_DEADLINE_MS="300", R3_RECORD_EVERY="1")
    assert (recorded.status, recorded.output) == (0, "done\n"), recorded.messages
    assert recorded.refusals("_Z6filledPff") == {"the device wasn't idle within the deadline": 3}


def test_the_recorders_own_errors_are_not_the_programs(bench: HipBench) -> None:
    program = bench.scaling("""
        int main() {
          float *x;
          if (hipMalloc(&x, 128)) return 2;
          filled<<<1, 32>>>(x, 1);
          std::printf("%d %d", hipPeekAtLastError(), hipGetLastError());
          filled<<<1, 2000>>>(x, 1);
          std::printf(" %d", hipGetLastError() != hipSuccess);
          filled<<<1, 32>>>(x, 2);
          std::printf(" %d\\n", hipGetLastError());
        }""")
    failing = """
    extern "C" int hipFree(void *);
    extern "C" int hipEventQuery(void *) { return hipFree((void *)16); }
    extern "C" int hipMemAddressReserve(void **, unsigned long, unsigned long, void *, unsigned long long) {
      return hipFree((void *)16);
    }"""
    failing = failing.replace("hipFree((void *)16)", '((int (*)(void *))dlsym(RTLD_NEXT, "hipFree"))((void *)16)')
    recorded = bench.record(program, failing)
    assert (recorded.status, recorded.output) == (0, "0 0 1 0\n"), recorded.messages


def test_a_variable_that_cannot_be_found_is_not_recorded_around(bench: HipBench) -> None:
    program = bench.scaling("""
        int main() {
          float *x, host = 5;
          if (hipMalloc(&x, 128)) return 2;
          hipMemcpyToSymbol(HIP_SYMBOL(factor), &host, sizeof host);
          scaled<<<1, 1>>>(x);
          return hipFree(x);
        }""")
    recorded = bench.record(program, 'extern "C" int hipGetSymbolAddress(void **, const void *) { return 500; }')
    assert recorded.status == 0, recorded.messages
    assert recorded.refusals("_Z6scaledPf") == {"the runtime can't find its variable factor": 1}


def test_a_pointer_to_a_variable_is_not_recorded(bench: HipBench) -> None:
    program = bench.scaling("""
        int main() {
          float *x;
          if (hipGetSymbolAddress((void **)&x, HIP_SYMBOL(factor))) return 2;
          filled<<<1, 1>>>(x, 3);
          return 0;
        }""")
    recorded = bench.record(program)
    assert recorded.status == 0, recorded.messages
    assert recorded.refusals("_Z6filledPff") == {"a pointer to the device variable factor": 1}


def test_every_way_to_allocate_is_recorded_or_refused(bench: HipBench) -> None:
    program = bench.scaling("""
        int main() {
          void *pinned;
          float *ordered;
          hipPitchedPtr box;
          if (hipMalloc3D(&box, hipExtent{100, 3, 2}) || hipMemAllocHost(&pinned, 128)) return 2;
          hipMemset3D(box, 0, hipExtent{100, 3, 2});
          filled<<<1, 25>>>((float *)box.ptr, 1);
          filled<<<1, 26>>>((float *)pinned, 2);
          if (hipMallocAsync((void **)&ordered, 128, nullptr)) return 3;
          filled<<<1, 27>>>(ordered, 3);
          void *base; size_t size;
          if (hipMemGetAddressRange(&base, &size, ordered + 3)) return 4;
          std::printf("%d %zu\\n", base == ordered, size);
          std::fflush(stdout);
          if (hipFreeAsync(ordered, nullptr) || hipFree(box.ptr) || hipFreeHost(pinned)) return 5;
          _exit(0);
        }""")
    recorded = bench.record(program)
    assert (recorded.status, recorded.output) == (0, "1 128\n"), recorded.messages
    kernel = recorded.kernel("_Z6filledPff")
    assert (kernel.launches, kernel.recorded, kernel.timed) == (3, 2, 3)
    assert recorded.refusals("_Z6filledPff") == {"pinned host memory": 1}
    assert not verify(recorded.store).killed


def test_relocatable_code_is_recorded(bench: HipBench) -> None:
    program = bench.compile(
        "program",
        SCALING
        + """
        int main() {
          float *x;
          if (hipMalloc(&x, 128)) return 2;
          filled<<<1, 32>>>(x, 1);
          return hipFree(x);
        }""",
        "-fgpu-rdc",
    )
    recorded = bench.record(program)
    assert recorded.status == 0, recorded.messages
    assert recorded.kernel("_Z6filledPff").recorded == 1
