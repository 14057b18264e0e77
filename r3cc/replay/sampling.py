"""Timing of launches by the device's own clock.

A sample is the mean over a few launches, each timed by marks around it, each on freshly restored memory, all queued
while the device is held busy, so that no launch waits for the host. Where there are several, one more goes first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from r3cc.devices.base import Arguments, Device, Function, Geometry, Mark
from r3cc.replay.memory import BoundMemory
from r3cc.replay.model import L2State

SHORT_NS = 10_000.0
"""Launches shorter than this are timed several to a sample."""
_SAMPLE_NS = 100_000.0
_MOST_LAUNCHES = 16
_FIRST_HOLD_NS = 2_000_000
_LONGEST_HOLD_NS = 20_000_000


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

    def sample(self, runnable: Runnable, launches: int) -> float:
        """Mean device time of ``launches`` launches, in nanoseconds."""
        began = time.perf_counter_ns()
        self._device.hold(self._hold_ns)
        if launches > 1:
            self._timed(runnable)  # the first of several short launches pays for what ran before it
        marks = [self._timed(runnable) for _ in range(launches)]
        queued = time.perf_counter_ns() - began
        self._device.synchronise()
        # The next sample queues about as long: hold the device for that and a half.
        self._hold_ns = min(max(self._hold_ns // 2, queued + queued // 2), _LONGEST_HOLD_NS)
        return sum(end.nanoseconds_since(start) for start, end in marks) / launches

    def _timed(self, runnable: Runnable) -> tuple[Mark, Mark]:
        self._prepare(runnable)
        start = self._device.mark()
        runnable.launch()
        return start, self._device.mark()

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
