"""Device math against the host's, and exact operations against their definition."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.cpu.conftest import Runner
from tests.cpu.engine import Launch

VALUES = [0.25, 0.5, 1.25, 2.5, 3.75]

DOUBLES: list[Callable[[float], float]] = [
    math.sin, math.cos, math.tan, math.exp, math.log, math.log2, math.log10, math.sqrt,
    math.cbrt, lambda v: 1 / math.sqrt(v), lambda v: v**1.5, lambda v: math.atan2(v, 2), math.sinh, math.tanh, math.erf,
    math.lgamma, math.gamma, math.expm1, math.log1p, lambda v: math.hypot(v, 3), math.floor, math.ceil,
    lambda v: math.floor(v + 0.5), round, math.trunc, lambda v: math.fmod(v, 0.7), lambda v: v * v + 1,
    lambda v: min(v, 1), lambda v: max(v, 1), abs, lambda v: -v,
    lambda v: math.asin(v / 4), lambda v: math.acos(v / 4), lambda v: 2**v,
    lambda v: (1 + math.erf(v / math.sqrt(2))) / 2, lambda v: math.sin(math.pi * v), math.erfc,
    lambda v: math.atanh(v / 4), lambda v: 1 / math.cbrt(v), lambda v: math.sqrt(v * v + 5),
]  # fmt: skip

FLOATS: list[Callable[[float], float]] = [
    math.sin, math.cos, math.exp, math.log, math.sqrt, lambda v: 1 / math.sqrt(v), lambda v: v**1.5,
    math.exp, math.sin, math.log, lambda v: v / 3, lambda v: min(v, 1.0), lambda v: v * v + 1,
    lambda v: min(v, 1.0), lambda v: 1 / v, math.sqrt, math.erf, math.tanh, math.cbrt,
]  # fmt: skip


def test_doubles(launch: Runner) -> None:
    x = np.array(VALUES)
    out = np.zeros((len(DOUBLES), len(x)))
    answer = launch("math.cu", Launch("doubles", (1, 1, 1), (len(x), 1, 1), (x, out, np.int32(len(x)))))
    expected = [[f(v) for v in VALUES] for f in DOUBLES]
    np.testing.assert_allclose(answer.arrays[0][1], expected, rtol=4e-15, atol=1e-15)


def test_floats(launch: Runner) -> None:
    x = np.array(VALUES, np.float32)
    out = np.zeros((len(FLOATS), len(x)), np.float32)
    answer = launch("math.cu", Launch("floats", (1, 1, 1), (len(x), 1, 1), (x, out, np.int32(len(x)))))
    expected = [[f(v) for v in VALUES] for f in FLOATS]
    np.testing.assert_allclose(answer.arrays[0][1], expected, rtol=5e-7)


def test_directed_rounding(launch: Runner) -> None:
    x, y = np.array([1.0 + 2**-30]), np.array([2**-60])
    out, narrow = np.zeros(8), np.zeros(6, np.float32)
    answer = launch("math.cu", Launch("rounding", (1, 1, 1), (1, 1, 1), (x, y, out, narrow)))
    v = float(x[0])
    got = answer.arrays[0][2]
    above = math.nextafter(v, math.inf)
    np.testing.assert_array_equal(got[:4], [v, v, above, v])
    assert got[4] == v * 2**-60
    assert got[5] == v * 2**60
    assert got[6] == v
    assert got[7] - math.sqrt(v) in (0.0, math.ulp(1.0))
    one, next_one = np.float32(1), np.nextafter(np.float32(1), np.float32(2))
    np.testing.assert_array_equal(answer.arrays[0][3], [one, next_one, one, 16777216, 16777218, 1])


def test_conversions_round_and_saturate(launch: Runner) -> None:
    values = [2.5, -2.5, 3.7, -0.3, 1e20]
    x = np.array(values, np.float32)
    out = np.zeros((8, len(values)), np.int64)
    answer = launch("math.cu", Launch("conversions", (1, 1, 1), (len(values), 1, 1), (x, out, np.int32(len(values)))))
    top, wide = 2**31 - 1, 2**63 - 1
    expected = [
        [2, -2, 4, 0, top],
        [2, -2, 3, 0, top],
        [3, -2, 4, 0, top],
        [2, -3, 3, -1, top],
        [2, 0, 4, 0, 2**32 - 1],
        [2, -3, 3, -1, wide],
        x.view(np.int32).astype(np.int64),
        x.astype(np.float64).view(np.int64) >> 32,
    ]
    np.testing.assert_array_equal(answer.arrays[0][1], expected)


def test_integers(launch: Runner) -> None:
    pairs = [(5, 3), (-7, 100000), (2**31 - 1, -2), (0x12345678, 0x0A0B0C0D), (0, 1)]
    x, y = (np.array(part, np.int32) for part in zip(*pairs, strict=True))
    out = np.zeros((14, len(pairs)), np.int64)
    answer = launch("math.cu", Launch("integers", (1, 1, 1), (len(pairs), 1, 1), (x, y, out, np.int32(len(pairs)))))
    np.testing.assert_array_equal(answer.arrays[0][2], np.array([integer_rows(a, b) for a, b in pairs]).T)


def integer_rows(a: int, b: int) -> list[int]:
    """What the kernel `integers` writes for one pair of 32-bit integers."""
    ua, ub = a % 2**32, b % 2**32
    bits = f"{ua:032b}"
    signed_bytes = [[(v >> 8 * k & 255) - 256 * (v >> 8 * k >> 7 & 1) for k in range(4)] for v in (ua, ub)]
    permuted = (ua & 255) | (ub & 255) << 8 | (ua >> 8 & 255) << 16 | (ub >> 8 & 255) << 24
    return [
        bits.count("1"),
        len(bits) - len(bits.lstrip("0")),
        0 if ua == 0 else (ua & -ua).bit_length(),
        int(bits[::-1], 2),
        a * b >> 32,
        ua * ub >> 32,
        min(a, b),
        max(a, b),
        abs(a),
        permuted,
        (abs(a - b) + 9) % 2**32,
        sum(p * q for p, q in zip(*signed_bytes, strict=True)) + 3,
        (a + b) >> 1,
        (a & 0xFFFF) * 3,
    ]
