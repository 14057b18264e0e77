"""The archive's dimensions: fixed bins of facts of the compiled artefact.

A candidate's cell is a pure function of its code object's resources and its optimised IR; source text plays no part.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

import msgspec

from r3cc.errors import R3Error
from r3cc.remix.artefact import Artefact
from r3cc.remix.model import Features

Cell = tuple[int, ...]
"""Bin numbers in the order of the archive's dimensions."""


class Dimension(msgspec.Struct, frozen=True):
    """One axis of the archive; each bin is named as a prompt names it."""

    name: str
    bins: tuple[str, ...]


STAGING = Dimension("staging", ("no shared memory", "shared memory up to 8 KiB", "up to 48 KiB", "above 48 KiB"))
REGISTERS = Dimension(
    "registers", ("up to 32 registers", "up to 64 registers", "up to 128 registers", "more registers", "spills")
)
ACCESS = Dimension("access", ("accesses of 4 bytes or less", "8-byte accesses", "16-byte accesses", "async copies"))
WORK = Dimension(
    "work",
    (
        "up to 4 global accesses a thread",
        "up to 16 global accesses",
        "up to 64 global accesses",
        "more global accesses",
    ),
)
SYNCHRONISATION = Dimension(
    "synchronisation", ("no synchronisation", "warp operations", "block barriers", "atomic operations")
)
INTENSITY = Dimension(
    "intensity", ("under 1/8 FLOP a byte", "up to 1/2 FLOP a byte", "up to 2 FLOP a byte", "more FLOP a byte")
)
DIMENSIONS = {each.name: each for each in (STAGING, REGISTERS, ACCESS, WORK, SYNCHRONISATION, INTENSITY)}
ON_GPU = ("staging", "registers", "access")
"""Dimensions of an archive on a GPU, by default."""
ON_CPU = ("synchronisation", "access", "work")
"""On the cpu device, whose code objects tell no registers."""


def features(artefact: Artefact, resources: Mapping[str, int], dynamic_shared: int = 0) -> Features:
    """Bins of every dimension. ``resources`` are an evaluation's, ``dynamic_shared`` the launch's bytes."""
    shared = resources.get("shared_bytes", resources.get("shared", 0)) + dynamic_shared
    return Features(
        (
            ("staging", 0 if shared == 0 else 1 + _bin(shared, (8 << 10, 48 << 10))),
            ("registers", _registers(resources)),
            ("access", 3 if artefact.async_copies else 2 if artefact.widest >= 16 else int(artefact.widest >= 8)),
            ("work", _bin(artefact.accesses, (4, 16, 64))),
            ("synchronisation", _synchronisation(artefact)),
            ("intensity", bisect_right((1 / 8, 1 / 2, 2), artefact.flops / artefact.bytes) if artefact.bytes else 3),
        )
    )


def cell_of(found: Features, dimensions: Sequence[str]) -> Cell:
    """A candidate's cell. Raises R3Error for a dimension or a bin that there is not: nothing is clipped."""
    bins = dict(found.bins)
    for name in dimensions:
        if not 0 <= bins.get(name, -1) < len(dimension(name).bins):
            raise R3Error(f"a candidate has no bin of the archive's dimension '{name}': {bins.get(name)}")
    return tuple(bins[name] for name in dimensions)


def dimension(name: str) -> Dimension:
    """The dimension of a name. Raises R3Error when there is none."""
    if name not in DIMENSIONS:
        raise R3Error(f"the archive has no dimension '{name}'; there are {', '.join(DIMENSIONS)}")
    return DIMENSIONS[name]


def describe(cell: Cell, dimensions: Sequence[str]) -> str:
    """A cell in words."""
    return ", ".join(dimension(name).bins[at] for name, at in zip(dimensions, cell, strict=True))


def neighbours(cell: Cell, dimensions: Sequence[str]) -> list[Cell]:
    """Cells one step away along one dimension, in order."""
    found = []
    for axis, name in enumerate(dimensions):
        for step in (-1, 1):
            at = cell[axis] + step
            if 0 <= at < len(dimension(name).bins):
                found.append((*cell[:axis], at, *cell[axis + 1 :]))
    return found


def _bin(value: float, edges: Sequence[float]) -> int:
    """Number of edges that the value lies above: an edge belongs to the bin below it."""
    return sum(value > edge for edge in edges)


def _registers(resources: Mapping[str, int]) -> int:
    if resources.get("spill_stores", 0) or resources.get("spill_loads", 0):
        return 4
    return _bin(resources.get("registers", 0), (32, 64, 128))


def _synchronisation(artefact: Artefact) -> int:
    if artefact.atomics:
        return 3
    return 2 if artefact.block_barriers else int(artefact.warp_operations)
