"""Places of threads, shared memory, barriers, limits."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from r3cc.errors import R3Error
from r3cc.toolchain.native import native_library
from tests.cpu.conftest import Runner
from tests.cpu.engine import Launch

PIPELINES = ["default<O3>", "default<O0>", "function(sroa,instcombine,simplifycfg),function(loop-mssa(licm))"]


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("count", [1, 255, 256, 1000])
def test_saxpy(launch: Runner, pipeline: str, count: int) -> None:
    x = np.linspace(0, 1, count, dtype=np.float32)
    y = np.ones(count, np.float32)
    call = Launch("saxpy", ((count + 127) // 128, 1, 1), (128, 1, 1), (np.int32(count), np.float32(2), x, y))
    answer = launch("threads.cu", call, pipeline)
    assert answer.status == 0, answer.message
    np.testing.assert_allclose(answer.arrays[0][1], 2 * x + y, rtol=1e-6)


def test_every_thread_of_a_3d_grid_has_its_place(launch: Runner) -> None:
    grid, block = (3, 4, 5), (6, 5, 4)
    shape = tuple(g * b for g, b in zip(grid[::-1], block[::-1], strict=True))
    out = np.zeros(shape, np.uint64)
    answer = launch("threads.cu", Launch("places", grid, block, (out,)))
    z, y, x = np.indices(shape).astype(np.uint64)
    np.testing.assert_array_equal(answer.arrays[0][0], x | y << np.uint64(20) | z << np.uint64(40))


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_barriers_in_a_loop(launch: Runner, pipeline: str) -> None:
    x = np.random.default_rng(1).random(40 * 256)
    out = np.zeros(40)
    answer = launch("threads.cu", Launch("block_sum", (40, 1, 1), (256, 1, 1), (x, out)), pipeline)
    np.testing.assert_allclose(answer.arrays[0][1], x.reshape(40, 256).sum(axis=1), rtol=1e-13)


def test_static_and_dynamic_shared_memory(launch: Runner) -> None:
    values = np.arange(7 * 96, dtype=np.int32)
    out = np.zeros_like(values)
    answer = launch("threads.cu", Launch("reverse", (7, 1, 1), (96, 1, 1), (values, out), shared=96 * 4))
    np.testing.assert_array_equal(answer.arrays[0][1].reshape(7, 96), values.reshape(7, 96)[:, ::-1])


@pytest.mark.parametrize("live", [1, 31, 33, 64])
def test_threads_that_have_ended_do_not_hold_up_a_barrier(launch: Runner, live: int) -> None:
    out = np.zeros(64, np.int32)
    answer = launch("threads.cu", Launch("early_exit", (1, 1, 1), (64, 1, 1), (np.int32(live), out)))
    np.testing.assert_array_equal(answer.arrays[0][0], [live] * live + [0] * (64 - live))


@pytest.mark.parametrize("threads", [1, 32, 48])
def test_a_named_barrier_counts_whole_warps(launch: Runner, threads: int) -> None:
    answer = launch("threads.cu", Launch("whole_warps", (1, 1, 1), (threads, 1, 1), (np.zeros(threads, np.int32),)))
    assert answer.status == 0, answer.message
    assert answer.arrays[0][0].tolist() == [1] * threads


def test_shared_memory_is_aligned_as_it_asks(launch: Runner) -> None:
    call = Launch("aligned_shared", (2, 1, 1), (64, 1, 1), (np.ones(2, np.uint64),), shared=2048)
    assert launch("threads.cu", call).arrays[0][0].tolist() == [0, 0]


def test_structs_by_value_are_aligned_as_they_ask(launch: Runner) -> None:
    line = np.arange(16, dtype=np.float32)
    out = np.zeros((8, 16), np.float32)
    call = Launch("wide_parameters", (1, 1, 1), (8, 1, 1), (np.int8(1), line.view("V64")[0], out))
    answer = launch("threads.cu", call)
    assert answer.status == 0, answer.message
    np.testing.assert_array_equal(answer.arrays[0][0], np.tile(line, (8, 1)))


@pytest.mark.parametrize("values", [[0] * 40, [1] * 40, [1, 0] * 20])
def test_reductions_over_a_block(launch: Runner, values: list[int]) -> None:
    given = np.array(values, np.int32)
    out = np.zeros(40, np.int32)
    answer = launch("threads.cu", Launch("barrier_reductions", (1, 1, 1), (40, 1, 1), (given, out)))
    expected = sum(values) * 4 + all(values) * 2 + any(values)
    np.testing.assert_array_equal(answer.arrays[0][1], [expected] * 40)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_threads_own_array_is_its_own(launch: Runner, pipeline: str) -> None:
    values = np.random.default_rng(2).integers(0, 100, 128).astype(np.int32)
    out = np.zeros(128, np.int32)
    call = Launch("private_array", (1, 1, 1), (128, 1, 1), (values, out, np.int32(128)))
    answer = launch("threads.cu", call, pipeline)

    def expected(i: int) -> int:
        mine = [int(values[(i + k) % 128]) for k in range(8)]
        picked = 0
        for k in range(8):
            picked = picked * 3 + mine[(int(values[i]) + k) & 7]
        return picked

    np.testing.assert_array_equal(answer.arrays[0][1], [expected(i) for i in range(128)])


def test_threads_that_wait_for_one_another_are_a_deadlock(launch: Runner) -> None:
    answer = launch("threads.cu", Launch("deadlock", (1, 1, 1), (32, 1, 1), (np.zeros(32, np.int32),)))
    assert answer.status == 4
    assert "kernel 'deadlock'" in answer.message
    assert "16 at a barrier, 16 at a warp operation" in answer.message


@pytest.mark.parametrize(
    ("grid", "block", "dynamic", "says"),
    [
        ((1, 1, 1), (65, 1, 1), 0, "more than 64"),
        ((0, 1, 1), (1, 1, 1), 0, "grid (0, 1, 1)"),
        ((1, 1, 1), (1, 1, 65), 0, "block (1, 1, 65)"),
        ((1, 1, 1), (1, 1, 1), 1 << 20, "bytes of shared memory"),
    ],
)
def test_illegal_launches(
    launch: Runner, grid: tuple[int, int, int], block: tuple[int, int, int], dynamic: int, says: str
) -> None:
    answer = launch("threads.cu", Launch("bounded", grid, block, (np.zeros(64, np.int32),), dynamic))
    assert answer.status == 3
    assert "kernel 'bounded'" in answer.message and says in answer.message


def test_an_unknown_kernel_is_named(launch: Runner) -> None:
    answer = launch("threads.cu", Launch("nowhere", (1, 1, 1), (1, 1, 1), ()))
    assert (answer.status, answer.message) == (2, "the module has no kernel 'nowhere'")


def test_a_limit_of_the_process_means_fewer_threads() -> None:
    try:
        library = native_library("libr3cpu.so")
    except R3Error as missing:
        pytest.skip(str(missing))
    script = (
        "import ctypes, resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32));"
        "print(ctypes.CDLL(sys.argv[1]).r3cpu_worker_count())"
    )
    command = [sys.executable, "-c", script, str(library)]
    environment = os.environ | {"R3_CPU_THREADS": "4000"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 1 <= int(done.stdout) < 4000
