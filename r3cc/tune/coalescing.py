"""How well a block's warps read and write memory, by the strides that the IR shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from r3cc.llvm import AccessPattern
from r3cc.store.model import Dim3
from r3cc.tune.blocks import WARP, volume
from r3cc.tune.covariance import Array

LINE = 128
"""Bytes of a line of the caches."""
USUAL = (AccessPattern(4, (4, None, None), 1),)
"""What is taken for granted where nothing is known: rows along x, each somewhere else."""


def lines(accesses: Sequence[AccessPattern], blocks: Sequence[Dim3]) -> Array:
    """Lines of memory that an access of a full warp touches, on average, in each of the blocks.

    What is the same for all threads counts for nothing: it takes one line whatever the block.
    """
    telling = [access for access in accesses if not access.is_uniform] or USUAL
    weights = [access.count for access in telling]
    found = [np.average([_touched(access, block) for access in telling], weights=weights) for block in blocks]
    return np.array(found)


def _touched(access: AccessPattern, block: Dim3) -> float:
    """Lines of one access, for as many threads as a warp has."""
    lanes = np.arange(min(WARP, volume(block)))
    places = (lanes % block[0], lanes // block[0] % block[1], lanes // (block[0] * block[1]))
    address = np.zeros_like(lanes)
    rows = np.zeros_like(lanes)
    for place, stride in zip(places, access.strides, strict=True):
        if stride is None:
            rows = rows * WARP + place
        else:
            address += place * stride
    first, last = address // LINE, (address + access.bytes - 1) // LINE
    touched = np.unique(np.stack([np.tile(rows, 2), np.concatenate([first, last])]), axis=1)
    return float(touched.shape[1] * WARP / len(lanes))
