"""What prompts say of accesses that waste memory."""

from __future__ import annotations

from r3cc.llvm import AccessPattern
from r3cc.remix.prompts.scattered import SHOWN, scattered


def test_the_worst_come_first_and_what_is_dense_is_not_told() -> None:
    dense, structs, rows = (AccessPattern(8, (step, 0, 0), count) for step, count in ((8, 90), (64, 72), (32, 8)))
    uniform = AccessPattern(8, (0, 0, 0), 50)
    assert scattered((dense, rows, structs, uniform), (256, 1, 1)) == (
        "72 accesses of 8 bytes, from one thread to the next 64 bytes apart along x: 16 lines of 128 bytes for a warp "
        "where 2 could hold them",
        "8 accesses of 8 bytes, from one thread to the next 32 bytes apart along x: 8 lines of 128 bytes for a warp "
        "where 2 could hold them",
    )


def test_it_is_the_block_that_decides() -> None:
    along_y = AccessPattern(4, (None, 4, 0), 1)
    assert scattered((along_y,), (1, 256, 1)) == ()
    (found,) = scattered((along_y,), (32, 8, 1))
    assert "no constant number of bytes apart along x, 4 bytes apart along y: up to 32 lines" in found


def test_few_are_enough() -> None:
    assert len(scattered([AccessPattern(8, (64 * n, 0, 0), 1) for n in range(1, 10)], (32, 1, 1))) == SHOWN
