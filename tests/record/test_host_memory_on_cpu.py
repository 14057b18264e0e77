"""Kernels that work on the program's own memory, which the cpu device can reach and no recorder sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from r3cc.toolchain.cuda import find_cuda
from tests.examples.programs import build_cuda, r3
from tests.replay.cpu_kernels import built

pytestmark = pytest.mark.skipif(
    find_cuda() is None or not (built("libr3cpu.so") and built("libR3Passes.so")), reason="needs CUDA and R3's parts"
)

PROGRAM = """
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void twice(int *x) { x[threadIdx.x] *= 2; }

int main() {
  int *own = static_cast<int *>(std::malloc(64 << 20));
  own[31] = 21;
  twice<<<1, 32>>>(own);
  std::printf("%d\\n", own[31]);
}
"""


def test_replay_says_what_memory_is_missing(tmp_path: Path) -> None:
    program = build_cuda(tmp_path, "app", PROGRAM)
    done = r3("record", "--device", "cpu", "--", str(program), store=tmp_path / "store")
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr
    replayed = r3("replay", "twice", "--samples", "1", store=tmp_path / "store")
    assert replayed.returncode == 1, replayed.stderr
    assert "device_fault" in replayed.stdout
    assert "memory that the recorder does not see" in replayed.stderr
