"""Inline PTX of CUB against its definition."""

from __future__ import annotations

import numpy as np

from tests.cpu.conftest import Runner
from tests.cpu.engine import Launch

N = 64


def test_shifts_and_masks_clamp(launch: Runner) -> None:
    values = np.random.default_rng(1).integers(0, 2**32, N, np.uint32)
    call = Launch("shifts_and_masks", (1, 1, 1), (N, 1, 1), (values, np.zeros((3, N), np.uint32), np.int32(N)))
    answer = launch("ptx_text.cu", call)
    word = 2**32 - 1
    left = [int(v) << t & word for t, v in enumerate(values)]
    right = [int(v) >> t for t, v in enumerate(values)]
    mask = [((1 << t) - 1) << 4 & word for t in range(N)]
    np.testing.assert_array_equal(answer.arrays[0][1], [left, right, mask])


def test_a_step_of_a_scan_adds_the_lower_lane(launch: Runner) -> None:
    values = np.arange(1, 33, dtype=np.int32)
    answer = launch("ptx_text.cu", Launch("scan_step", (1, 1, 1), (32, 1, 1), (values, np.zeros(32, np.int32))))
    expected = np.concatenate([values[:1], values[1:] + values[:-1]])
    np.testing.assert_array_equal(answer.arrays[0][1], expected)


def test_operands_stand_in_any_order(launch: Runner) -> None:
    call = Launch(
        "operands_in_any_order", (1, 1, 1), (1, 1, 1), (np.float32(3), np.float32(5), np.zeros(3, np.float32))
    )
    assert launch("ptx_text.cu", call).arrays[0][0].tolist() == [2, 6, 35]


def test_funnel_shifts_wrap_or_clamp(launch: Runner) -> None:
    words = np.array([0x89ABCDEF, 0x01234567], np.uint32)
    both, word = 0x0123456789ABCDEF, 2**32 - 1
    answer = launch("ptx_text.cu", Launch("funnels", (1, 1, 1), (N, 1, 1), (words, np.zeros((4, N), np.uint32))))
    left = [both << t >> 32 & word for t in range(33)]
    right = [both >> t & word for t in range(33)]
    wrapped = [[row[t % 32] for t in range(N)] for row in (left, right)]
    clamped = [[row[min(t, 32)] for t in range(N)] for row in (left, right)]
    np.testing.assert_array_equal(answer.arrays[0][1], wrapped + clamped)


def test_products_of_halves_and_bytes(launch: Runner) -> None:
    a, b = -2 << 16 | 7, (-3 & 255) << 24 | 4 << 16 | (-5 & 255) << 8 | 6
    arguments = (np.uint32(a & 2**32 - 1), np.uint32(b & 2**32 - 1), np.zeros(3, np.int32))
    answer = launch("ptx_text.cu", Launch("halves", (1, 1, 1), (1, 1, 1), arguments))
    unsigned = 7 * 6 + (2**16 - 2) * (256 - 5) + 5
    assert answer.arrays[0][0].tolist() == [7 * 6 + 2 * 5 + 5, 7 * 4 + 2 * 3 + 5, unsigned]


def test_loads_and_stores_with_hints(launch: Runner) -> None:
    x = np.arange(32, dtype=np.float32)
    small, pairs = np.arange(-16, 16, dtype=np.int8), np.arange(64, dtype=np.float64)
    arguments = (x, small, pairs, np.zeros(32), np.zeros(128, np.float32))
    answer = launch("ptx_text.cu", Launch("hints", (1, 1, 1), (32, 1, 1), arguments))
    fours = x.reshape(8, 4)[np.arange(32) % 8]
    expected = x + small + pairs[::2] * pairs[1::2] + fours[:, 0] + fours[:, 3]
    np.testing.assert_array_equal(answer.arrays[0][3], expected)
    stored = answer.arrays[0][4]
    np.testing.assert_array_equal(stored[:64].reshape(32, 2), [[t, -t] for t in range(32)])
    np.testing.assert_array_equal(stored.view(np.uint8)[256:288], [(300 + t) % 256 for t in range(32)])


def test_a_barrier_that_one_side_does_not_wait_at(launch: Runner) -> None:
    answer = launch("ptx_text.cu", Launch("one_way", (1, 1, 1), (64, 1, 1), (np.zeros(64, np.int32),)))
    assert answer.arrays[0][0].tolist() == [*range(32), *range(100, 132)]


def test_atomics_of_any_order(launch: Runner) -> None:
    words = np.array([0, 0, 1000, 0, 0], np.int32)
    arguments = (words, np.zeros(1, np.uint64), np.zeros(1, np.float32), np.zeros(N, np.int32))
    answer = launch("ptx_text.cu", Launch("atomics", (1, 1, 1), (N, 1, 1), arguments))
    assert answer.status == 0, answer.message
    words, wide, sums, before = answer.arrays[0]
    assert words.tolist() == [sum(range(N)), -5, 0, -1, N % 11]
    assert (wide[0], sums[0]) == (7, N / 2)
    assert sorted(before.tolist()) == sorted(t % 11 for t in range(N))


def test_atomics_that_test_the_kind_of_memory_first(launch: Runner) -> None:
    arguments = (np.zeros(1, np.int32), np.zeros(1, np.int32))
    answer = launch("ptx_text.cu", Launch("atomics_of_any_space", (1, 1, 1), (N, 1, 1), arguments))
    assert answer.status == 0, answer.message
    assert [array.tolist() for array in answer.arrays[0]] == [[sum(range(N))], [sum(range(N))]]


def test_who_loads_in_order_lets_others_run(launch: Runner) -> None:
    call = Launch("waits", (1, 1, 1), (N, 1, 1), (np.zeros(1, np.int32), np.zeros(1, np.int32)))
    assert launch("ptx_text.cu", call).arrays[0][1].tolist() == [N - 1]
