"""How much of a kernel's time in the application a profile's entry reaches."""

from __future__ import annotations

import msgspec

from r3cc.apply.profile import Entry, LaunchRule, Shape, Specialised
from r3cc.apply.rules import launched, takes
from r3cc.store.model import Kernel


class Coverage(msgspec.Struct, frozen=True):
    """Share of a kernel's device time in the application, 0 to 1, whose launch shapes a guard admits."""

    share: float
    upper_bound: bool
    """The guard asks for scalar arguments too, which the recorder counts for recorded launches only."""


def coverage(entry: Entry, kernel: Kernel) -> Coverage | None:
    """Coverage of an entry's guard; 1 where it has none, None where the recording holds no times by shape."""
    return guard_coverage(entry.launch, entry.specialised, entry.attributes.get("maxntid"), kernel)


def guard_coverage(
    rule: LaunchRule | None, special: Specialised | None, bounds: str | None, kernel: Kernel
) -> Coverage | None:
    """Coverage of a launch rule together with a second version, whose ``maxntid`` is ``bounds``."""
    if rule is None and special is None:
        return Coverage(1.0, False)
    total = sum(shape.total_ns for shape in kernel.shapes)
    if total == 0:
        return None
    covered = 0
    for shape in kernel.shapes:
        given = launched(rule, Shape(shape.grid, shape.block, shape.shared))
        if given is not None and takes(special, bounds, given):
            covered += shape.total_ns
    asks = bool(rule and rule.guard.scalars) or bool(special and special.arguments)
    return Coverage(covered / total, asks)
