"""Tuned programs on the cpu device: kernels with pipelines of their own are one module with the rest."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from r3cc.errors import R3Error
from r3cc.llvm import Passes
from r3cc.record.cpu_modules import build_modules, compile_part, parts_of
from r3cc.store.binary import EmbeddedModule
from r3cc.toolchain.native import native_library
from tests.cpu.engine import Launch, run
from tests.replay.cpu_kernels import built
from tests.replay.modules import bitcode, module_info

pytestmark = pytest.mark.skipif(
    not (built("libr3cpu.so") and built("libR3Passes.so")), reason="libr3cpu.so and libR3Passes.so are not built"
)

SOURCE = """
static __device__ double state[64];
__constant__ double factor[2] = {1, 3};
extern "C" __global__ void write_state(double v) {
  __shared__ double tile[64];
  tile[threadIdx.x] = v * threadIdx.x;
  __syncthreads();
  state[threadIdx.x] = tile[threadIdx.x ^ 1];
}
extern "C" __global__ void read_state(double *out) {
  __shared__ double other[32], tile[64];
  other[threadIdx.x % 32] = 0;
  tile[threadIdx.x] = factor[1] * state[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x] + other[0];
}
"""
OUT = np.array([3.0 * 2.0 * ((63 - thread) ^ 1) for thread in range(64)])


def module(*tuned: dict[str, Any]) -> EmbeddedModule:
    content = bitcode(SOURCE)
    kernels = [{"name": name} for name in ("write_state", "read_state")]
    own = {kernel["name"]: kernel for kernel in tuned}
    info = module_info(content) | {"kernels": [own.get(kernel["name"], kernel) for kernel in kernels]}
    return EmbeddedModule(content, info, False, bool(tuned), None, "")


def tuned(name: str, pipeline: str | None = "default<O1>", **options: str) -> dict[str, Any]:
    return {"name": name, "profile": "tuned", "pipeline": pipeline, "module": options, "launch": None}


def built_module(folder: Path, made: EmbeddedModule) -> Path:
    build_modules([made], folder)
    return folder / f"{made.info['module']}.so"


CHOICES = (
    (),
    (tuned("read_state"),),
    (tuned("write_state", "function(sroa)"),),
    (tuned("read_state", None, **{"opt-level": "1", "mllvm:unroll-threshold": "50"}), tuned("write_state")),
)


@pytest.mark.parametrize("choice", CHOICES, ids=["plain", "reader", "writer", "both"])
def test_kernels_share_their_variables_whatever_is_tuned(tmp_path: Path, choice: tuple[dict[str, Any], ...]) -> None:
    launches = [
        Launch("write_state", (1, 1, 1), (64, 1, 1), [np.float64(2.0)]),
        Launch("read_state", (1, 1, 1), (64, 1, 1), [np.zeros(64)]),
    ]
    answer = run(native_library("libr3cpu.so"), built_module(tmp_path, module(*choice)), launches)
    assert answer.status == 0, answer.message
    np.testing.assert_array_equal(answer.arrays[1][0], OUT)
    assert np.frombuffer(answer.globals["factor"]).tolist() == [1, 3]


def test_a_tuned_kernel_has_the_code_of_its_own_pipeline(tmp_path: Path) -> None:
    """Its object is the one that the pipeline gives the kernel alone, and the rest has no other code for it."""
    rest, own = parts_of(module(tuned("read_state", "function(sroa)")))
    (_, other) = parts_of(module(tuned("read_state", "default<O3>")))
    entry = "r3cpu.entry.read_state"
    short, inlined = (text(tmp_path, compile_part(part))[entry] for part in (own, other))
    assert inlined > short > 0
    assert text(tmp_path, compile_part(rest))[entry] == 0
    passes = Passes()
    alone = passes.lower_to_host(passes.extract(bitcode(SOURCE), "read_state"))
    validated = passes.compile(alone, own.request).output
    assert text(tmp_path, validated)[entry] == short


def text(folder: Path, code: bytes) -> dict[str, int]:
    """Sizes of an object's functions; 0 for one that it only names."""
    file = folder / "part.o"
    file.write_bytes(code)
    tool = shutil.which("llvm-readelf-22") or shutil.which("llvm-readelf") or "readelf"
    done = subprocess.run([tool, "-sW", str(file)], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return {row[-1]: int(row[2], 0) for row in rows if len(row) == 8 and row[-1].startswith("r3cpu.entry.")}


def test_what_a_profile_left_alone_stays_with_the_rest() -> None:
    untouched = tuned("read_state") | {"profile": "left out"}
    assert len(parts_of(module(untouched, tuned("write_state", None)))) == 1


def test_a_pipeline_that_fails_names_its_kernel(tmp_path: Path) -> None:
    with pytest.raises(R3Error, match=r"read_state of .* with its profile's options cannot run on the cpu device"):
        build_modules([module(tuned("read_state", "no-such-pass"))], tmp_path)
    assert not list(tmp_path.glob("*.so"))
