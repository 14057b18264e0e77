"""How many threads of a kernel a multiprocessor can hold, and what limits them: for what prompts say."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

WARP = 32
REGISTERS = 65_536
"""Of a multiprocessor, on every architecture since sm_50."""
REGISTER_STEP = 256
"""Registers of a warp are given out in steps of this many."""


class Multiprocessor(msgspec.Struct, frozen=True):
    """What one holds."""

    threads: int
    blocks: int
    shared: int
    """Bytes."""
    reserved: int = 1024
    """Shared bytes that the system takes of each block."""


MULTIPROCESSORS: Mapping[str, Multiprocessor] = {
    "sm_70": Multiprocessor(2048, 32, 96 << 10, 0),
    "sm_75": Multiprocessor(1024, 16, 64 << 10, 0),
    "sm_80": Multiprocessor(2048, 32, 164 << 10),
    "sm_86": Multiprocessor(1536, 16, 100 << 10),
    "sm_89": Multiprocessor(1536, 24, 100 << 10),
    "sm_90": Multiprocessor(2048, 32, 228 << 10),
    "sm_100": Multiprocessor(2048, 32, 228 << 10),
    "sm_120": Multiprocessor(1536, 32, 100 << 10),
}
"""By architecture, from the tables of the CUDA programming guide."""


class Occupancy(msgspec.Struct, frozen=True):
    """Part of a multiprocessor's threads that a kernel can fill."""

    share: float
    limit: str
    """What stands in the way of more: registers, shared memory, blocks or threads."""

    def __str__(self) -> str:
        return f"occupancy {self.share:.0%}, limited by {self.limit}"


def occupancy(architecture: str, threads: int, resources: Mapping[str, int], dynamic_shared: int) -> Occupancy | None:
    """The occupancy of blocks of ``threads``; None for an architecture or a code object that tells too little."""
    holds = MULTIPROCESSORS.get(architecture.rstrip("af"))
    registers = resources.get("registers", 0)
    if holds is None or registers <= 0 or threads <= 0:
        return None
    warps = -(-threads // WARP)
    per_warp = -(-registers * WARP // REGISTER_STEP) * REGISTER_STEP
    shared = resources.get("shared_bytes", resources.get("shared", 0)) + dynamic_shared + holds.reserved
    blocks = {
        "registers": REGISTERS // per_warp // warps,
        "shared memory": holds.shared // shared if shared else holds.blocks,
        "blocks": holds.blocks,
        "threads": holds.threads // (warps * WARP),
    }
    fit = min(blocks.values())
    limit = next(name for name in ("threads", "registers", "shared memory", "blocks") if blocks[name] == fit)
    return Occupancy(fit * warps * WARP / holds.threads, limit)
