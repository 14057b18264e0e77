"""Timing of launches by the device's own clock.

A sample is the mean over a few launches, each timed by marks around it, each on freshly restored memory, each queued
with its marks while the device is held busy, so that it does not wait for the host. A launch that may have waited is
taken again under a longer hold. What the marks themselves cost is subtracted. Where a sample has several launches, one
more goes first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from r3cc.devices.base import Arguments, Device, Function, Geometry, Mark
from r3cc.replay.memory import BoundMemory
from r3cc.replay.model import L2State

SHORT_NS = 10_000.0
"""Launches shorter than this are timed several to a sample."""
_SAMPLE_NS = 100_000.0
_MOST_LAUNCHES = 16
_FIRST_HOLD_NS = 200_000
_LONGEST_HOLD_NS = 12_800_000
SHORTEST_NS = 100.0
"""What is left of a launch's time at least when the cost of its marks is subtracted."""


class Runnable:
    """A kernel with everything that one launch of it needs."""

    def __init__(self, function: Function, geometry: Geometry, arguments: Arguments, memory: BoundMemory) -> None:
        self._function = function
        self._geometry = geometry
        self._arguments = arguments
        self.memory = memory

    def launch(self) -> None:
        """Queue one launch on whatever memory holds."""
        self._function.launch(self._geometry, self._arguments)


class Sampler:
    """Takes time samples on one device in one cache state."""

    def __init__(self, device: Device, state: L2State | None) -> None:
        self._device = device
        self._prepare: Callable[[Runnable], None] = {
            None: self._restore,
            L2State.COLD: self._restore_cold,
            L2State.WARM: self._restore_warm,
        }[state]
        self._hold_ns = _FIRST_HOLD_NS
        self.late = 0
        """Launches that waited for the host under the longest hold, too: their times are too long."""

    def sample(self, runnable: Runnable, launches: int) -> float:
        """Mean device time of ``launches`` launches, in nanoseconds."""
        if launches > 1:
            self._marked(runnable)  # the first of several short launches pays for what ran before it
        marks = [self._timed(runnable) for _ in range(launches)]
        self._device.synchronise()
        return sum(map(self._nanoseconds, marks)) / launches

    def block(self, outside: Runnable, inside: Runnable, launches: int) -> tuple[float, float]:
        """Mean times of two kernels, each sampled twice in the order outside, inside, inside, outside.

        Both then come as often after a pause, and after themselves. In single pairs they don't: an odd number of them
        has a majority of one order, whose ratio the median takes.
        """
        first = self.sample(outside, launches)
        between = self.sample(inside, launches) + self.sample(inside, launches)
        return (first + self.sample(outside, launches)) / 2, between / 2

    def _timed(self, runnable: Runnable) -> tuple[Mark, Mark]:
        """The marks of a launch that was queued in time."""
        while True:
            start, end = self._marked(runnable)
            if start.is_ahead():
                return start, end
            if self._hold_ns >= _LONGEST_HOLD_NS:
                self.late += 1
                return start, end
            self._hold_ns *= 2

    def _marked(self, runnable: Runnable) -> tuple[Mark, Mark]:
        self._prepare(runnable)
        self._device.hold(self._hold_ns)
        start = self._device.mark()
        runnable.launch()
        return start, self._device.mark()

    def _nanoseconds(self, marks: tuple[Mark, Mark]) -> float:
        start, end = marks
        return max(end.nanoseconds_since(start) - self._device.mark_overhead_ns, SHORTEST_NS)

    def _restore(self, runnable: Runnable) -> None:
        runnable.memory.restore()

    def _restore_cold(self, runnable: Runnable) -> None:
        runnable.memory.restore()
        self._device.flush_l2()

    def _restore_warm(self, runnable: Runnable) -> None:
        runnable.memory.restore()
        runnable.launch()
        runnable.memory.restore()


def launches_per_sample(expected_ns: float) -> int:
    """How many launches of about this length make a sample."""
    if expected_ns >= SHORT_NS:
        return 1
    return min(max(math.ceil(_SAMPLE_NS / max(expected_ns, 1.0)), 1), _MOST_LAUNCHES)


def states(device: Device) -> Sequence[L2State | None]:
    """Cache states that a device can be put into."""
    return (L2State.WARM, L2State.COLD) if device.properties.l2 else (None,)
