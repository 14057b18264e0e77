"""What runs kernels: ``cuda:N``, ``hip:N`` and ``cpu`` behind one small interface."""

from __future__ import annotations

from r3cc.devices.base import Device, DeviceUnavailable

__all__ = ["Device", "open_device"]


def open_device(name: str) -> Device:
    """The device of that name, ``cpu``, ``cuda:N`` or ``hip:N``. Raises :class:`DeviceUnavailable`."""
    kind, _, ordinal = name.partition(":")
    if name == "cpu":
        from r3cc.devices.cpu import CpuDevice

        return CpuDevice()
    if kind == "cuda" and (ordinal or "0").isdecimal():
        from r3cc.devices.cuda import CudaDevice

        return CudaDevice(int(ordinal or "0"))
    if kind == "hip" and (ordinal or "0").isdecimal():
        from r3cc.devices.hip import HipDevice

        return HipDevice(int(ordinal or "0"))
    raise DeviceUnavailable(f"'{name}' is not a device; devices are named cpu, cuda:N and hip:N")
