"""Cooperative groups on the cpu device."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.cpu.conftest import Runner
from tests.cpu.engine import Launch

Groups = Callable[[str, int, int], list[list[int]]]


@pytest.fixture
def groups(launch: Runner) -> Groups:
    """One block of a kernel of groups.cu: its output, a row a result."""

    def run_one(kernel: str, threads: int, rows: int) -> list[list[int]]:
        out = np.full((rows, threads), -1, np.int32)
        answer = launch("groups.cu", Launch(kernel, (1, 1, 1), (threads, 1, 1), (out,)))
        assert answer.status == 0, answer.message
        found: list[list[int]] = answer.arrays[0][0].tolist()
        return found

    return run_one


def test_the_block(groups: Groups) -> None:
    assert groups("reversed", 128, 1) == [[*range(127, -1, -1)]]


def test_tiles_of_part_of_a_warp(groups: Groups) -> None:
    ranks = np.arange(64)
    down, total, count, any_of_them = groups("tiles", 64, 4)
    assert down == np.where(ranks % 16 == 15, ranks, ranks + 1).tolist()
    assert total == np.repeat(ranks.reshape(4, 16).sum(axis=1), 16).tolist()
    assert count == (ranks % 16 + 1).tolist()
    assert any_of_them == (ranks // 16 == 1).astype(int).tolist()


def test_tiles_of_several_warps(groups: Groups) -> None:
    total, last = groups("wide_tiles", 128, 2)
    assert total == [sum(range(64))] * 64 + [sum(range(64, 128))] * 64
    assert last == [63] * 64 + [127] * 64


def test_lanes_that_are_there_and_labels(groups: Groups) -> None:
    here, labelled = groups("thirds", 64, 2)
    members = [[rank for rank in range(64) if (rank // 32, rank % 3) == key] for key in np.ndindex(2, 3)]
    expected = {rank: len(each) * 100 + each.index(rank) for each in members for rank in each}
    assert labelled == [expected[rank] for rank in range(64)]
    assert here == [expected[rank] if rank % 3 == 0 else -1 for rank in range(64)]
