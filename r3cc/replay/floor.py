"""What no kernel can beat: the time that writing the changed bytes takes."""

from __future__ import annotations

import os
import time

from r3cc.devices.base import Device

_SIZES = (256 << 10, 64 << 20)
_FILLS = 8
_MARGIN = 8.0
"""How many times faster than R3's own fills a kernel may write: caches are faster than memory."""


def write_rate(device: Device) -> float:
    """Bytes a second that no kernel on the device writes, from fills of a small and of a large buffer."""
    free = device.free_memory()
    rates = [_fill_rate(device, size) for size in _SIZES if 4 * size < free]
    workers = (os.cpu_count() or 1) if device.properties.device == "cpu" else 1  # its fills run on one core
    return max(rates, default=float("inf")) * workers * _MARGIN


def _fill_rate(device: Device, size: int) -> float:
    address = device.allocate(size)
    try:
        best = 0.0
        for _ in range(2):
            device.synchronise()
            began = time.perf_counter()
            for number in range(_FILLS):
                device.fill(address, number, size)
            device.synchronise()
            best = max(best, _FILLS * size / max(time.perf_counter() - began, 1e-9))
        return best
    finally:
        device.release(address)


def floor_ns(shortest: float) -> float:
    """Nanoseconds that writing takes at the rate of R3's own fills: no kernel that changes as much gets far below it.

    A lower bound: what is read is not counted, since a capture does not tell what of its memory is read.
    """
    return shortest * _MARGIN


def shortest_ns(changed: int, rate: float) -> float:
    """Nanoseconds below which a kernel that has to change so many bytes did not do it."""
    return changed / rate * 1e9
