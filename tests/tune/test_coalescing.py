"""Lines of memory that a warp touches, against what counting them thread by thread says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r3cc.llvm import AccessPattern
from r3cc.store.model import Dim3
from r3cc.tune.coalescing import LINE, lines
from r3cc.tune.launch_optimizer import LaunchOptimizer

TRANSPOSE = (AccessPattern(4, (4, None, 0), 1), AccessPattern(4, (None, 4, 0), 1))
BLOCKS: list[Dim3] = [(16, 16, 1), *((2**x, 2**y, 1) for x in range(11) for y in range(11) if 5 <= x + y <= 10)]

strides = st.tuples(*[st.one_of(st.none(), st.integers(-300, 300))] * 3)
blocks = st.tuples(st.integers(1, 64), st.integers(1, 16), st.integers(1, 4))


@given(st.sampled_from([1, 4, 8, 16]), strides.filter(lambda found: found != (0, 0, 0)), blocks)
def test_lines_are_those_that_the_first_warp_touches(
    size: int, found: tuple[int | None, int | None, int | None], block: Dim3
) -> None:
    threads = [(x, y, z) for z in range(block[2]) for y in range(block[1]) for x in range(block[0])][:32]
    touched = set()
    for thread in threads:
        row = tuple(place for place, stride in zip(thread, found, strict=True) if stride is None)
        address = sum(place * (stride or 0) for place, stride in zip(thread, found, strict=True))
        touched |= {(row, byte // LINE) for byte in range(address, address + size)}
    assert lines([AccessPattern(size, found, 1)], [block])[0] == pytest.approx(len(touched) * 32 / len(threads))


def test_what_is_the_same_for_all_threads_says_nothing() -> None:
    uniform = AccessPattern(8, (0, 0, 0), 50)
    assert (lines((uniform, *TRANSPOSE), BLOCKS) == lines(TRANSPOSE, BLOCKS)).all()
    assert (lines((uniform,), BLOCKS) == lines((), BLOCKS)).all()


def test_the_usual_is_a_row_along_x() -> None:
    assert lines((), [(1, 32, 1), (8, 8, 1), (32, 4, 1), (256, 1, 1), (96, 2, 1)]).tolist() == [32, 4, 1, 1, 1]


def test_the_first_block_of_a_transpose_has_both_sides() -> None:
    first = LaunchOptimizer(BLOCKS, accesses=TRANSPOSE).ask()
    usual = LaunchOptimizer(BLOCKS).ask()
    assert first is not None and usual is not None
    assert min(BLOCKS[first[0]][:2]) >= 4
    assert BLOCKS[usual[0]][0] >= 32
