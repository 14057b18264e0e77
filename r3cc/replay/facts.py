"""What a kernel's IR says that replay depends on."""

from __future__ import annotations

import msgspec

FLOATS: dict[str, int] = {"double": 8, "float": 4, "half": 2, "bfloat": 2}
"""Bytes of each floating-point element type."""


class KernelFacts(msgspec.Struct, frozen=True):
    """What the kernel's IR says about its memory: element types by parameter index and by global."""

    name: str
    parameter_elements: dict[int, str] = {}
    global_elements: dict[str, str] = {}
    constants: frozenset[str] = frozenset()
    globals: frozenset[str] = frozenset()
    """Variables that the kernel can reach."""
    written_only: frozenset[int] = frozenset()
    """Parameters through which the kernel only stores."""
    scalars: dict[int, str] = {}
    """Types of floating-point arguments, by index."""
