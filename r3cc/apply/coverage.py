"""How much of a kernel's time in the application a profile's entry reaches."""

from __future__ import annotations

from collections.abc import Callable, Collection

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
    share = _share(kernel, lambda shape: _admits(rule, special, bounds, shape))
    asks = bool(rule and rule.guard.scalars) or bool(special and special.arguments)
    return None if share is None else Coverage(share, asks)


def measured_share(
    rule: LaunchRule | None,
    special: Specialised | None,
    bounds: str | None,
    kernel: Kernel,
    recorded: Collection[Shape],
) -> float | None:
    """Share of a kernel's device time, 0 to 1, for which the measured ratio speaks; None without times by shape.

    That is what a guard admits, and recorded shapes that a rule leaves as they are: their time is in the ratio.
    """
    if rule is None and special is None:
        return 1.0
    left = set(recorded).difference(rule.guard.shapes if rule is not None else recorded)
    return _share(kernel, lambda shape: shape in left or _admits(rule, special, bounds, shape))


def _share(kernel: Kernel, counts: Callable[[Shape], bool]) -> float | None:
    """Share of a kernel's time in the shapes that count; None without times by shape."""
    total = sum(shape.total_ns for shape in kernel.shapes)
    counted = sum(each.total_ns for each in kernel.shapes if counts(Shape(each.grid, each.block, each.shared)))
    return counted / total if total else None


def _admits(rule: LaunchRule | None, special: Specialised | None, bounds: str | None, shape: Shape) -> bool:
    given = launched(rule, shape)
    return given is not None and takes(special, bounds, given)
