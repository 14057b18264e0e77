"""Block shapes: only those that the kernel can take, by what its IR shows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r3cc.tune.blocks import Shape, block_is_fixed, legal_blocks, volume
from tests.tune.synthetic import describe

LINE = Shape((100, 1, 1), (256, 1, 1))
PLANE = Shape((32, 32, 1), (16, 16, 1))


def test_a_line_of_threads_stays_a_line() -> None:
    blocks = legal_blocks(describe(), [LINE])
    assert {(64, 1, 1), (128, 1, 1), (512, 1, 1), (1024, 1, 1)} <= set(blocks)
    assert all(y == z == 1 for _, y, z in blocks)
    assert LINE.block not in blocks


def test_a_plane_may_change_its_sides() -> None:
    blocks = legal_blocks(describe(), [PLANE])
    assert {(32, 8, 1), (64, 4, 1), (256, 1, 1), (32, 32, 1)} <= set(blocks)
    assert all(z == 1 for _, _, z in blocks)


@pytest.mark.parametrize(
    ("facts", "shapes", "why"),
    [
        ({"reads_block_size": False}, [LINE], "does not read its block size"),
        ({"dynamic_shared": True}, [LINE], "dynamic shared"),
        ({}, [Shape((1, 1, 1), (64, 1, 1), 512)], "dynamic shared"),
        ({}, [LINE, PLANE], "several block shapes"),
        ({}, [], "no recorded launch"),
    ],
)
def test_a_fixed_block_has_a_reason(facts: dict[str, object], shapes: list[Shape], why: str) -> None:
    assert why in str(block_is_fixed(describe(**facts), shapes))
    assert legal_blocks(describe(**facts), shapes) == ()


def test_shared_arrays_are_never_outgrown() -> None:
    blocks = legal_blocks(describe(static_shared=1024, barriers=2), [LINE])
    assert blocks
    assert max(map(volume, blocks)) <= 256


def test_launch_bounds_are_kept() -> None:
    assert max(map(volume, legal_blocks(describe(max_threads=128), [LINE]))) == 128


@given(
    st.tuples(st.integers(1, 2000), st.integers(1, 100), st.integers(1, 10)),
    st.sampled_from([(32, 1, 1), (128, 1, 1), (16, 16, 1), (8, 8, 4), (1024, 1, 1), (1, 64, 1)]),
    st.sampled_from([0, 2048]),
    st.integers(0, 3),
    st.sampled_from([None, 256]),
)
def test_every_shape_obeys_every_rule(
    grid: tuple[int, int, int], block: tuple[int, int, int], shared: int, warps: int, bound: int | None
) -> None:
    facts = describe(static_shared=shared, warp_operations=warps, max_threads=bound)
    for shape in legal_blocks(facts, [Shape(grid, block)]):
        threads = volume(shape)
        assert threads % 32 == 0
        assert threads <= min(1024, bound or 1024)
        assert not shared or threads <= volume(block)
        assert not warps or shape[0] == block[0] or shape[0] % 32 == 0
        assert all(extent == 1 or cells * side > 1 for extent, cells, side in zip(shape, grid, block, strict=True))
