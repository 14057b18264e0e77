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
