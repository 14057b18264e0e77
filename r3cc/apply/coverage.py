"""How much of a kernel's time in the application a profile's entry reaches."""

from __future__ import annotations

import msgspec

from r3cc.apply.profile import Entry, Guard
from r3cc.store.model import Kernel


class Coverage(msgspec.Struct, frozen=True):
    """Share of a kernel's device time in the application, 0 to 1, whose launch shapes a guard admits."""

    share: float
    upper_bound: bool
    """The guard asks for scalar arguments too, which the recorder counts for recorded launches only."""


def coverage(entry: Entry, kernel: Kernel) -> Coverage | None:
    """Coverage of an entry's launch rule; 1 where it has none, None where the recording holds no times by shape."""
    if entry.launch is None:
        return Coverage(1.0, False)
    return guard_coverage(entry.launch.guard, kernel)


def guard_coverage(guard: Guard, kernel: Kernel) -> Coverage | None:
    """Coverage of a guard; None where the recording holds no times by shape."""
    total = sum(shape.total_ns for shape in kernel.shapes)
    if total == 0:
        return None
    admitted = {(shape.grid, shape.block, shape.shared) for shape in guard.shapes}
    covered = sum(shape.total_ns for shape in kernel.shapes if (shape.grid, shape.block, shape.shared) in admitted)
    return Coverage(covered / total, bool(guard.scalars))
