"""Which launches to record, known from an earlier run's times: the few that stand for the rest.

The recorder reads the plan as JSON (docs/recorder.md, "The plan").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from r3cc.record.options import RecordOptions
from r3cc.store.documents import KernelDocument
from r3cc.store.model import Dim3, Shape

COVERED = 0.95
"""Part of the device time whose kernels are recorded, and part of a kernel's time whose shapes are."""

SHAPE_LIMIT = 16
"""Shapes of a kernel that the recorder keeps."""


class PlannedLaunch(msgspec.Struct, frozen=True):
    """One launch, by its number among those of its kernel and shape in a process, from 0."""

    ordinal: int
    held_out: bool


class PlannedShape(msgspec.Struct, frozen=True):
    """Launches of one kernel with one geometry."""

    grid: Dim3
    block: Dim3
    shared: int
    launches: tuple[PlannedLaunch, ...]


class PlannedKernel(msgspec.Struct, frozen=True):
    """Shapes of a kernel, by its mangled name."""

    name: str
    shapes: tuple[PlannedShape, ...]


class Plan(msgspec.Struct, frozen=True):
    """What is recorded; every other launch is only counted."""

    kernels: tuple[PlannedKernel, ...]

    @property
    def launches(self) -> int:
        """Launches of a process that are to be recorded."""
        return sum(len(shape.launches) for kernel in self.kernels for shape in kernel.shapes)


def plan_launches(counts: Iterable[KernelDocument], options: RecordOptions) -> Plan:
    """Kernels and shapes that make up most of the device time, with launches spread over the whole run.

    ``counts`` are those of single processes: ordinals are a process's own.
    """
    shapes: dict[str, dict[tuple[Dim3, Dim3, int], Shape]] = {}
    for document in counts:
        known = shapes.setdefault(document.name, {})
        for shape in document.shapes:
            geometry = (shape.grid, shape.block, shape.shared)
            known[geometry] = longer(known.get(geometry), shape)
    times = {name: sum(shape.total_ns for shape in own.values()) for name, own in shapes.items()}
    kernels = [
        PlannedKernel(name, tuple(plan_shape(shape, options) for shape in weighty(list(shapes[name].values()))))
        for name in leading(times)
    ]
    return Plan(tuple(kernels))


def longer(left: Shape | None, right: Shape) -> Shape:
    """Of two processes' counts of a shape those that took more time."""
    return right if left is None or right.total_ns > left.total_ns else left


def leading(times: dict[str, int]) -> list[str]:
    """Names by descending time, as many as make up the covered part of it."""
    wanted = COVERED * sum(times.values())
    chosen: list[str] = []
    seen = 0
    for name in sorted(times, key=lambda each: (-times[each], each)):
        if seen >= wanted and chosen:
            break
        chosen.append(name)
        seen += times[name]
    return chosen


def weighty(shapes: Sequence[Shape]) -> list[Shape]:
    """Shapes by descending time, as many as make up the covered part of their kernel's; those of which times exist."""
    numbered = [shape for shape in shapes if shape.grid != (0, 0, 0)]  # that one stands for many
    names = {str(number): shape.total_ns for number, shape in enumerate(numbered)}
    return [numbered[int(name)] for name in leading(names)][:SHAPE_LIMIT] if numbered else []


def plan_shape(shape: Shape, options: RecordOptions) -> PlannedShape:
    """The middles of as many equal parts of the run as launches are kept; the second of them is held out first."""
    count = min(options.launches + options.held_out, shape.launches)
    ordinals = [(2 * part + 1) * shape.launches // (2 * count) for part in range(count)]
    candidates = [*range(1, count, 2), *range(2, count, 2), 0]
    held_out = set(candidates[: min(options.held_out, count - (options.launches > 0))])
    launches = tuple(PlannedLaunch(ordinal, part in held_out) for part, ordinal in enumerate(ordinals))
    return PlannedShape(shape.grid, shape.block, shape.shared, launches)
