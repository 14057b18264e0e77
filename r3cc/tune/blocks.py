"""Block shapes that a kernel can take, enumerated: what the IR shows to be impossible is never proposed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from r3cc.llvm import KernelDescription
from r3cc.replay.geometry import dimensions_text
from r3cc.replay.model import LaunchShape
from r3cc.store.model import Dim3
from r3cc.tune.knobs import BLOCK, Knob, Scope

WARP = 32
MAX_THREADS = 1024
"""Threads a block on every CUDA device."""
MAX_EXTENTS: Dim3 = (1024, 1024, 64)
EXTENTS = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)


class Shape(msgspec.Struct, frozen=True):
    """A recorded launch shape."""

    grid: Dim3
    block: Dim3
    shared: int = 0


def legal_blocks(facts: KernelDescription, shapes: Sequence[Shape]) -> tuple[Dim3, ...]:
    """Block shapes worth trying instead of the recorded one, smallest first; empty when it is fixed.

    The grid is derived so that the recorded threads are covered, so a shape must be one for all recorded launches. What
    the facts leave open (a grid that indexes partial sums, say) validation decides.
    """
    if block_is_fixed(facts, shapes) is not None:
        return ()
    recorded = {shape.block for shape in shapes}
    axes = [_extents(axis, shapes) for axis in range(3)]
    every = ((x, y, z) for x in axes[0] for y in axes[1] for z in axes[2])
    legal = [block for block in every if block not in recorded and _is_legal(block, facts, recorded)]
    return tuple(sorted(legal, key=lambda block: (volume(block), block)))


def block_is_fixed(facts: KernelDescription, shapes: Sequence[Shape]) -> str | None:
    """Why the recorded block must stay, in a few words; None when other shapes may be tried."""
    if not shapes:
        return "no recorded launch"
    if not facts.reads_block_size:
        return "the kernel does not read its block size"
    if facts.dynamic_shared or any(shape.shared for shape in shapes):
        return "its dynamic shared memory is sized for the recorded block"
    if len({shape.block for shape in shapes}) > 1:
        return "its launches have several block shapes"
    return None


def block_knob(facts: KernelDescription, shapes: Sequence[Shape]) -> tuple[Knob, ...]:
    """The knob of the block shape; none where the block is fixed."""
    values = tuple(dimensions_text(block) for block in legal_blocks(facts, shapes))
    if not values:
        return ()
    recorded = dimensions_text(shapes[0].block)  # block_is_fixed: they all have the same
    return (Knob(BLOCK, Scope.KERNEL, values, "threads a block; the grid follows", recorded=recorded),)


def dimensions(text: str) -> Dim3:
    """The block shape that a value of the knob means."""
    x, y, z = map(int, text.split(","))
    return x, y, z


def shapes_text(shapes: Iterable[LaunchShape]) -> str:
    """Launch shapes as a value of ``BLOCK_FOR``: grid/block/shared bytes, between spaces."""
    return " ".join(f"{dimensions_text(grid)}/{dimensions_text(block)}/{shared}" for grid, block, shared in shapes)


def shapes_of(text: str) -> tuple[LaunchShape, ...]:
    """The launch shapes that a value of ``BLOCK_FOR`` means."""
    parts = [each.split("/") for each in text.split()]
    return tuple((dimensions(grid), dimensions(block), int(shared)) for grid, block, shared in parts)


def by_shape_text(blocks: Iterable[tuple[LaunchShape, Dim3]]) -> str:
    """Launch shapes with their blocks as a value of ``BLOCK_BY_SHAPE``: shape=block, between spaces."""
    return " ".join(f"{shapes_text([shape])}={dimensions_text(block)}" for shape, block in blocks)


def by_shape_of(text: str) -> tuple[tuple[LaunchShape, Dim3], ...]:
    """The launch shapes with their blocks that a value of ``BLOCK_BY_SHAPE`` means."""
    parts = [each.split("=") for each in text.split()]
    return tuple((shapes_of(shape)[0], dimensions(block)) for shape, block in parts)


def volume(block: Dim3) -> int:
    """Threads of a block."""
    return block[0] * block[1] * block[2]


def _extents(axis: int, shapes: Iterable[Shape]) -> list[int]:
    """Extents of one axis; an axis that no launch uses stays 1."""
    threads = max(shape.grid[axis] * shape.block[axis] for shape in shapes)
    recorded = {shape.block[axis] for shape in shapes}
    if threads == 1:
        return [1]
    limit = min(MAX_EXTENTS[axis], 2 * threads)
    return sorted({extent for extent in EXTENTS if extent <= limit} | recorded)


def _is_legal(block: Dim3, facts: KernelDescription, recorded: Iterable[Dim3]) -> bool:
    return all(_rules(block, facts, max(map(volume, recorded)), next(iter(recorded))))


def _rules(block: Dim3, facts: KernelDescription, most: int, recorded: Dim3) -> Iterator[bool]:
    threads = volume(block)
    yield WARP <= threads <= min(MAX_THREADS, facts.max_threads or MAX_THREADS)
    yield threads % WARP == 0
    if facts.static_shared:
        yield threads <= most  # its arrays are sized for the recorded block: a larger one would run over their end
    if facts.warp_operations:
        yield block[0] == recorded[0] or block[0] % WARP == 0  # lanes keep meaning neighbours along x
