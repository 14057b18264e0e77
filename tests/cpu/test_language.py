"""Atomics, variables, structs, templates, calls, printing, failures."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cpu.conftest import Runner
from tests.cpu.engine import Launch


def test_atomics(launch: Runner) -> None:
    n = 512
    i = np.array([0, 1000, 99, -9, 0, 0, 0], np.int32)
    u = np.array([0, 0, 0, 0], np.uint32)
    f, d, wide = np.zeros(1, np.float32), np.zeros(1), np.zeros(1, np.uint64)
    answer = launch("language.cu", Launch("atomics", (8, 1, 1), (64, 1, 1), (i, u, f, d, wide)))
    t = np.arange(n)
    xor = int(np.bitwise_xor.reduce(t))
    np.testing.assert_array_equal(answer.arrays[0][0], [t.sum(), 1000 - n, -5, n - 1, 2**30 - 1, xor, 2 * n])
    decremented = 0
    for _ in range(n):
        decremented = 9 if decremented == 0 or decremented > 9 else decremented - 1
    np.testing.assert_array_equal(answer.arrays[0][1], [n % 7, decremented, 42, 17])
    assert (answer.arrays[0][2][0], answer.arrays[0][3][0]) == (n * 0.5, n * 0.25)
    assert answer.arrays[0][4][0] == n << 33


def test_variables_keep_their_values_between_launches(launch: Runner) -> None:
    out, scaled, seen = np.zeros(6, np.float32), np.zeros(6), np.zeros(1, np.int32)
    calls = [
        Launch("writes_state", (2, 1, 1), (32, 1, 1), (np.int32(3),)),
        Launch("reads_state", (1, 1, 1), (6, 1, 1), (out, scaled, seen)),
    ]
    answer = launch("language.cu", calls)
    np.testing.assert_array_equal(answer.arrays[1][0], [1, 2, 3, 4, 1, 2])
    np.testing.assert_array_equal(answer.arrays[1][1], [0.5, 0.25, 0.125] * 2)
    assert answer.arrays[1][2][0] == 192
    assert np.frombuffer(answer.globals["_ZL5calls"], np.int32)[0] == 192
    np.testing.assert_array_equal(np.frombuffer(answer.globals["table"], np.float32), [1, 2, 3, 4])


def test_struct_of_pointers(launch: Runner) -> None:
    density, energy = np.random.default_rng(6).random(100), np.ones(200)
    mesh = ((density, np.int32(1)), (energy, np.int32(2)), np.float64(0.5))
    answer = launch("language.cu", Launch("struct_of_pointers", (2, 1, 1), (64, 1, 1), (mesh, np.int32(100))))
    expected = np.ones(200)
    expected[::2] += 0.5 * density
    np.testing.assert_allclose(answer.arrays[0][1], expected, rtol=1e-15)


def test_a_thread_may_change_its_parameters(launch: Runner) -> None:
    none = np.zeros(1)
    mesh = ((none, np.int32(1)), (none, np.int32(2)), np.float64(0.5))
    answer = launch("language.cu", Launch("changes_parameter", (1, 1, 1), (8, 1, 1), (mesh, np.zeros(8))))
    np.testing.assert_array_equal(answer.arrays[0][2], 2 * (0.5 + np.arange(8)))


def test_templates(launch: Runner) -> None:
    x = np.linspace(-1, 1, 16)
    polynomial = (np.float64(1), np.float64(2), np.float64(3))
    name = "_Z8evaluateIdLi3EEv10PolynomialIT_XT0_EEPKS1_PS1_"
    answer = launch("language.cu", Launch(name, (1, 1, 1), (16, 1, 1), (polynomial, x, np.zeros(16))))
    np.testing.assert_allclose(answer.arrays[0][1], 1 + 2 * x + 3 * x * x, rtol=1e-14)


@pytest.mark.parametrize("pipeline", ["default<O3>", "default<O0>"])
def test_recursion_indirect_calls_and_barriers_in_calls(launch: Runner, pipeline: str) -> None:
    calls = [
        Launch("recursion", (1, 1, 1), (12, 1, 1), (np.zeros(12, np.int32),)),
        Launch("indirect", (1, 1, 1), (8, 1, 1), (np.zeros(8, np.int32),)),
        Launch("barrier_in_call", (1, 1, 1), (64, 1, 1), (np.zeros(64, np.int32),)),
        Launch("allocates", (1, 1, 1), (8, 1, 1), (np.zeros(8, np.int32),)),
        Launch("clocks", (1, 1, 1), (1, 1, 1), (np.zeros(1, np.int64),)),
    ]
    answer = launch("language.cu", calls, pipeline)
    assert answer.status == 0, answer.message
    np.testing.assert_array_equal(answer.arrays[0][0], [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89])
    np.testing.assert_array_equal(answer.arrays[1][0], [t * 3 if t & 1 else t + 3 for t in range(8)])
    np.testing.assert_array_equal(answer.arrays[2][0], [(t ^ 1) * 10 for t in range(64)])
    np.testing.assert_array_equal(answer.arrays[3][0], [2 * t + 3 for t in range(8)])
    assert answer.arrays[4][0][0] == 1


def test_functions_of_any_number_of_arguments(launch: Runner) -> None:
    answer = launch("language.cu", Launch("any_number_of_arguments", (1, 1, 1), (4, 1, 1), (np.zeros(4, np.int32),)))
    np.testing.assert_array_equal(answer.arrays[0][0], [8, 9, 10, 11])


def test_a_kernel_that_is_not_to_be_optimised(launch: Runner) -> None:
    answer = launch("language.cu", Launch("left_alone", (1, 1, 1), (4, 1, 1), (np.zeros(4, np.int32),)))
    np.testing.assert_array_equal(answer.arrays[0][0], [0, 3, 6, 9])


def test_printf(launch: Runner) -> None:
    answer = launch("language.cu", Launch("prints", (1, 1, 1), (4, 1, 1), (np.int32(-3), np.float64(2.5))))
    assert answer.output == "n=-3 x=2.500 c=R s=text l=1099511627776 w=   7|%\n"


def test_a_failed_assertion_says_where(launch: Runner) -> None:
    answer = launch("language.cu", Launch("asserts", (1, 1, 1), (8, 1, 1), (np.int32(4),)))
    assert answer.status == 6
    assert "kernel 'asserts'" in answer.message and "too many" in answer.message
    assert launch("language.cu", Launch("asserts", (1, 1, 1), (8, 1, 1), (np.int32(8),))).status == 0


def test_a_trap_ends_the_launch(launch: Runner) -> None:
    answer = launch("language.cu", Launch("traps", (1, 1, 1), (8, 1, 1), (np.zeros(8, np.int32), np.int32(2))))
    assert (answer.status, answer.message) == (5, "kernel 'traps': it executed a trap instruction")
    answer = launch("language.cu", Launch("traps_among_barriers", (9, 1, 1), (64, 1, 1), (np.int32(40),)))
    assert answer.status == 5
