"""What no kernel can beat: the time that writing the changed bytes takes."""

from __future__ import annotations

import os

from r3cc.devices.base import Device

_SIZES = (256 << 10, 64 << 20)
_FILLS = 4
_ROUNDS = 12
"""Each so short that some are whole within the GPU's turn where others use it too."""
_MARGIN = 8.0
"""How many times faster than R3's own fills a kernel may write: caches are faster than memory."""


class WriteFloor:
    """How fast a device writes at most, by R3's own fills; measured when first asked for."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._rate = 0.0

    def shortest_ns(self, changed: float) -> float:
        """Nanoseconds below which a kernel that has to change so many bytes did not do it."""
        if not self._rate:
            self.measure_again()
        return changed / self._rate * 1e9

    def floor_ns(self, changed: float) -> float:
        """Nanoseconds that so much takes at the rate of R3's own fills: no kernel gets far below it.

        A lower bound: what is read is not counted, since a capture does not tell what of its memory is read.
        """
        return self.shortest_ns(changed) * _MARGIN

    def measure_again(self) -> None:
        """The device may have been at work for others: the fastest fill ever seen counts."""
        self._rate = max(self._rate, write_rate(self._device))


def write_rate(device: Device) -> float:
    """Bytes a second that no kernel on the device writes, from fills of a small and of a large buffer."""
    free = device.free_memory()
    rates = [_fill_rate(device, size) for size in _SIZES if 4 * size < free]
    workers = (os.cpu_count() or 1) if device.properties.device == "cpu" else 1  # its fills run on one core
    return max(rates, default=float("inf")) * workers * _MARGIN


def _fill_rate(device: Device, size: int) -> float:
    address = device.allocate(size)
    try:
        shortest = min(_fills_ns(device, address, size) for _ in range(_ROUNDS))
        return _FILLS * size / max(shortest, 1.0) * 1e9
    finally:
        device.release(address)


def _fills_ns(device: Device, address: int, size: int) -> float:
    began = device.mark()
    for number in range(_FILLS):
        device.fill(address, number, size)
    ended = device.mark()
    device.synchronise()
    return ended.nanoseconds_since(began)
