"""What PTX defines to the bit: operations that never fuse, not-a-number as an integer, zeros, bfloat16."""

from __future__ import annotations

import math

import numpy as np

from tests.cpu.conftest import Runner
from tests.cpu.engine import Launch

ONE = (1, 1, 1)


def test_operations_that_name_their_rounding_are_not_fused(launch: Runner) -> None:
    a, b, c = np.float32(1 + 2**-13), np.float32(1 - 2**-13), np.float32(-1)
    wide = np.float64(1 + 2**-30), np.float64(1 - 2**-30), np.float64(-1)
    outputs = np.full(3, 9, np.float32), np.full(2, 9.0)
    answer = launch("exact.cu", Launch("unfused", ONE, ONE, (a, b, c, outputs[0], *wide, outputs[1])))
    assert [list(array) for array in answer.arrays[0]] == [[0, 0, 0], [0, 0]]


def test_what_is_no_number_is_zero_or_the_top_bit(launch: Runner) -> None:
    answer = launch("exact.cu", Launch("not_numbers", ONE, ONE, (np.float64(math.nan), np.zeros(8, np.uint64))))
    assert answer.arrays[0][0].tolist() == [1 << 31, 1 << 31, 1 << 63, 1 << 63, 0, 0, 1 << 63, 1 << 63]


def test_a_rounded_reciprocal_root_is_the_nearest(launch: Runner) -> None:
    x = np.linspace(0.3, 40, 256, dtype=np.float32)
    answer = launch("exact.cu", Launch("roots", ONE, (256, 1, 1), (x, np.zeros(256, np.float32))))
    np.testing.assert_array_equal(answer.arrays[0][1], (1 / np.sqrt(x.astype(np.float64))).astype(np.float32))


def test_zero_above_its_negative(launch: Runner) -> None:
    call = Launch("zeros", ONE, ONE, (np.float32(0.0), np.float32(-0.0), np.zeros(4, np.float32)))
    assert np.signbit(launch("exact.cu", call).arrays[0][0]).tolist() == [False, False, True, True]


def test_bfloat16_is_rounded_once(launch: Runner) -> None:
    tie = 1 + 2.0**-8
    values = np.array([1, tie, tie + 1e-12, tie - 1e-12, 1 + 3 * 2.0**-8, -math.pi, 3.4e38, math.inf])
    count = len(values)
    call = Launch("brain", ONE, (count, 1, 1), (values, np.zeros(count, np.float32), np.zeros(count, np.float32)))
    _, narrowed, twice = launch("exact.cu", call).arrays[0]
    nearest = [1, 1, 1, 1, 1 + 2.0**-6, -3.140625, math.inf, math.inf]  # by way of a float, which loses 1e-12
    assert narrowed.tolist() == nearest
    directly = [*nearest[:2], 1 + 2.0**-7, *nearest[3:]]
    assert twice.tolist() == [2 * value for value in directly]
