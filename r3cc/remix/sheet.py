"""What prompts say about a kernel and its device."""

from __future__ import annotations

import msgspec


class Sheet(msgspec.Struct, frozen=True):
    """The stable part of a kernel's prompts; it stands in the log, so that a transcript repeats to the letter."""

    device_name: str
    demangled: str
    share: float
    """Share of the recording's device time, 0 to 1."""
    numerics: str
    """How far results may be from the recorded ones, in words."""
    grants_rounding: bool = False
    """Whether results may be off by what rounding moves in the original, where terms cancel (docs/measuring.md)."""
    architecture: str = ""
    device_facts: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    launches: tuple[str, ...] = ()
    block_threads: int = 0
    """Threads a block, where most of the time goes; so is ``dynamic_shared``, bytes a block."""
    dynamic_shared: int = 0
    context: tuple[tuple[str, str], ...] = ()
    """Text around the regions that they depend on, by file: types, constants, macros."""
    profile: tuple[str, ...] = ()
    """How the original performs."""
    tuned: tuple[str, ...] = ()
    """What tune found without a change of source."""
    remarks: tuple[str, ...] = ()
    """What the compiler could not do."""
