"""Accesses of a kernel that touch more memory than they use, in words."""

from __future__ import annotations

from collections.abc import Sequence

from r3cc.llvm import AccessPattern
from r3cc.store.model import Dim3
from r3cc.tune.blocks import WARP
from r3cc.tune.coalescing import LINE, lines

WASTEFUL = 1.5
"""Lines touched, over the fewest that could hold what is accessed, from which on a pattern is told."""
SHOWN = 4


def scattered(accesses: Sequence[AccessPattern], block: Dim3) -> tuple[str, ...]:
    """A sentence for each pattern that wastes most, with blocks of this shape."""
    found = []
    for access in accesses:
        if not access.is_uniform:
            touched, fewest = float(lines([access], [block])[0]), max(1.0, WARP * access.bytes / LINE)
            if touched >= WASTEFUL * fewest:
                found.append((access.count * (touched - fewest), _sentence(access, touched, fewest)))
    return tuple(sentence for _, sentence in sorted(found, reverse=True)[:SHOWN])


def _sentence(access: AccessPattern, touched: float, fewest: float) -> str:
    strides = ", ".join(
        f"{'no constant number of' if stride is None else abs(stride)} bytes apart along {axis}"
        for axis, stride in zip("xyz", access.strides, strict=True)
        if stride != 0
    )
    many = "one access" if access.count == 1 else f"{access.count} accesses"
    most = "up to " if None in access.strides else ""
    return (
        f"{many} of {access.bytes} bytes, from one thread to the next {strides}: {most}{touched:.0f} lines of {LINE} "
        f"bytes for a warp where {fewest:.0f} could hold them"
    )
