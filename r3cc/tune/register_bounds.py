"""What the knobs that bound a CUDA kernel's registers come to: three ways to say one thing.

ptxas takes the tightest of ``maxnreg`` and of what lets ``minctasm`` blocks of ``maxntid`` threads be held at once. On
an H200, candidates with one block and as many registers took the same time within 0.5 %, whichever knob bounded them
(13 kernels, 391 launch settings), and a bound above what a kernel takes anyway changes nothing. So a search varies one
of the three, below what the baseline takes and once above it, and knows the others as what they come to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

REGISTERS = 65536
"""Of a multiprocessor."""
MOST_THREADS = 2048
"""Of a multiprocessor, at most: ptxas does not heed a wish for more blocks than that."""
GRANULE = 8
MAXNREG, MAXNTID, MINCTASM = "maxnreg", "maxntid", "minctasm"


def bound(knobs: Mapping[str, str], threads: int) -> int | None:
    """The most registers a thread that code for so many threads a block may have; None where nothing bounds them."""
    bounds = [int(knobs[MAXNREG])] if MAXNREG in knobs else []
    if MAXNTID in knobs or MINCTASM in knobs:
        blocks = int(knobs.get(MINCTASM, "1"))
        held = threads * blocks if threads * blocks <= MOST_THREADS else threads
        bounds.append(REGISTERS // held // GRANULE * GRANULE)
    return min(bounds, default=None)


def distinct(values: Sequence[str], own: int) -> tuple[str, ...]:
    """The values of ``maxnreg`` that differ for a kernel whose baseline takes ``own`` registers, the loosest last."""
    ordered = sorted(values, key=int)
    return (*(value for value in ordered[:-1] if int(value) < own), ordered[-1])


def place(bound: int | None, values: Sequence[str], own: int) -> int:
    """Where a bound stands among distinct values, from 1: the largest that is not above it; 0 for no bound."""
    if bound is None:
        return 0
    if bound >= own:
        return len(values)
    return max(1, sum(int(value) <= bound for value in values))
