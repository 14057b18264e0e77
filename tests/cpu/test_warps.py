"""Warp operations against their definition."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cpu.conftest import Runner
from tests.cpu.engine import Launch

N = 64


def test_lane_registers(launch: Runner) -> None:
    out = np.zeros((3, N), np.uint32)
    answer = launch("warps.cu", Launch("lanes", (1, 1, 1), (N, 1, 1), (out, np.int32(N))))
    lanes = np.arange(N) % 32
    np.testing.assert_array_equal(answer.arrays[0][0], [lanes, (1 << lanes) - 1, [32] * N])


@pytest.mark.parametrize("width", [32, 16, 8, 4])
def test_shuffles_in_segments(launch: Runner, width: int) -> None:
    values = np.random.default_rng(width).integers(0, 1000, N).astype(np.int32)
    out = np.zeros((4, N), np.int32)
    call = Launch("shuffles", (1, 1, 1), (N, 1, 1), (values, out, np.int32(N), np.int32(width)))
    answer = launch("warps.cu", call)
    t = np.arange(N)
    start = t - t % width
    up = np.where(t - 3 >= start, t - 3, t)
    down = np.where(t + 3 < start + width, t + 3, t)
    other = t ^ 5
    xor = np.where(other < start + width, other, t)
    index = start + (t * 7) % width
    np.testing.assert_array_equal(answer.arrays[0][1], [values[i] for i in (up, down, xor, index)])


def test_shuffles_of_wide_types(launch: Runner) -> None:
    d, wide, f = np.arange(32) * 0.1, np.arange(32) << 40, np.arange(32, dtype=np.float32) / 3
    answer = launch("warps.cu", Launch("shuffle_types", (1, 1, 1), (32, 1, 1), (d.copy(), wide.copy(), f.copy())))
    lanes = np.arange(32)
    np.testing.assert_array_equal(answer.arrays[0][0], d[np.minimum(lanes + 1, 31)])
    np.testing.assert_array_equal(answer.arrays[0][1], wide[lanes ^ 16])
    np.testing.assert_array_equal(answer.arrays[0][2], [f[31]] * 32)


def test_sum_over_warps(launch: Runner) -> None:
    values = np.random.default_rng(3).random(4 * 128).astype(np.float32)
    out = np.zeros(1, np.float32)
    answer = launch("warps.cu", Launch("warp_sum", (4, 1, 1), (128, 1, 1), (values, out)))
    np.testing.assert_allclose(answer.arrays[0][1][0], values.sum(), rtol=1e-5)


def test_partial_masks_in_different_branches(launch: Runner) -> None:
    answer = launch("warps.cu", Launch("partial_masks", (1, 1, 1), (32, 1, 1), (np.zeros(32, np.int32),)))
    expected = [t ^ 2 if t & 1 else 100 + (t ^ 4) for t in range(32)]
    np.testing.assert_array_equal(answer.arrays[0][0], expected)


@pytest.mark.parametrize("values", [[0] * N, [9] * N, list(range(N)), [0] * 32 + [7] * 32])
def test_votes(launch: Runner, values: list[int]) -> None:
    given = np.array(values, np.int32)
    answer = launch(
        "warps.cu", Launch("votes", (1, 1, 1), (N, 1, 1), (given, np.zeros((4, N), np.uint32), np.int32(N)))
    )
    expected = np.zeros((4, N), np.uint32)
    for warp in (slice(0, 32), slice(32, 64)):
        part = given[warp]
        expected[0, warp] = np.all(part > 0)
        expected[1, warp] = np.any(part > 5)
        expected[2, warp] = sum(int(v & 1) << lane for lane, v in enumerate(part))
        expected[3, warp] = np.all(part > 0) or not np.any(part > 0)
    np.testing.assert_array_equal(answer.arrays[0][1], expected)


def test_match(launch: Runner) -> None:
    given = np.array([t % 5 for t in range(32)], np.int32)
    call = Launch("matches", (1, 1, 1), (32, 1, 1), (given, np.zeros((4, 32), np.uint32), np.int32(32)))
    equal = [sum(1 << o for o in range(32) if o % 5 == t % 5) for t in range(32)]
    np.testing.assert_array_equal(launch("warps.cu", call).arrays[0][1], [equal, [0] * 32, [0] * 32, [2**32 - 1] * 32])


def test_reductions(launch: Runner) -> None:
    given = np.random.default_rng(4).integers(-1000, 1000, 32).astype(np.int32)
    answer = launch(
        "warps.cu", Launch("reductions", (1, 1, 1), (32, 1, 1), (given, np.zeros((4, 32), np.int32), np.int32(32)))
    )
    expected = [given.sum(), given.min(), given.max(), np.bitwise_xor.reduce(given)]
    np.testing.assert_array_equal(answer.arrays[0][1], np.repeat(expected, 32).reshape(4, 32))


def test_active_mask_finds_the_lanes_of_a_branch(launch: Runner) -> None:
    given = np.random.default_rng(5).integers(0, 2, N).astype(np.int32)
    counter, masks = np.zeros(1, np.int32), np.zeros(N, np.uint32)
    answer = launch("warps.cu", Launch("aggregate", (1, 1, 1), (N, 1, 1), (given, counter, masks)))
    assert answer.arrays[0][1][0] == given.sum()
    for warp in (0, 32):
        odd = sum(1 << lane for lane in range(32) if given[warp + lane])
        np.testing.assert_array_equal(
            answer.arrays[0][2][warp : warp + 32], [odd * int(v) for v in given[warp : warp + 32]]
        )


def test_the_last_warp_may_be_part_of_one(launch: Runner) -> None:
    answer = launch("warps.cu", Launch("ragged", (1, 1, 1), (45, 1, 1), (np.zeros(45, np.int32),)))
    np.testing.assert_array_equal(answer.arrays[0][0], [32] * 32 + [13] * 13)


def test_shared_memory_of_code_that_asks_for_its_lanes(launch: Runner) -> None:
    answer = launch("warps.cu", Launch("lanes_in_shared_memory", (2, 1, 1), (64, 1, 1), (np.zeros(64, np.int32),)))
    assert answer.status == 0, answer.message
    assert answer.arrays[0][0].tolist() == [33] * 64
