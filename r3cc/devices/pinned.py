"""Host memory at recorded addresses, which a GPU sees at the same ones (docs/store-format.md, "regions")."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from r3cc.devices.base import DeviceError, DeviceUnavailable, OutOfDeviceMemory, Range

HOST = Range(0x400000000000, 1 << 40)
"""Where the recorder puts pinned host memory."""

_PROT_NONE, _PROT_READ_WRITE = 0, 3
_PRIVATE_ANONYMOUS_UNRESERVED = 0x2 | 0x20 | 0x4000
_FIXED, _FIXED_NOREPLACE = 0x10, 0x100000
_FAILED = ctypes.c_void_p(-1).value


class PinnedMemory:
    """Ranges of host memory, registered with the driver."""

    def __init__(self, api: Any, call: Callable[..., Any]) -> None:
        """``api``: cuda-python's driver module; ``call(error, function, *arguments)`` raises ``error``."""
        self._api = api
        self._call = call
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.mmap.restype = ctypes.c_void_p
        self._libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        self._libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        self._libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

    def reserve(self, wanted: Range) -> None:
        """Keep the addresses free for ``map``. Raises :class:`DeviceUnavailable` where something else has them."""
        if not self._place(wanted, _FIXED_NOREPLACE):
            raise DeviceUnavailable(f"this process has something else at the recorded host address {wanted.address:#x}")

    def map(self, wanted: Range) -> None:
        """Memory under a reserved range, at one address for host and device.

        Raises :class:`OutOfDeviceMemory`, and :class:`DeviceUnavailable` where the driver sees it elsewhere.
        """
        if self._libc.mprotect(wanted.address, wanted.size, _PROT_READ_WRITE) != 0:
            raise OutOfDeviceMemory(f"no host memory for {wanted.size} bytes of pinned memory")
        flags = self._api.CU_MEMHOSTREGISTER_PORTABLE | self._api.CU_MEMHOSTREGISTER_DEVICEMAP
        self._call(OutOfDeviceMemory, self._api.cuMemHostRegister, wanted.address, wanted.size, flags)
        seen = int(self._call(DeviceError, self._api.cuMemHostGetDevicePointer, wanted.address, 0))
        if seen != wanted.address:
            self.unmap(wanted)
            raise DeviceUnavailable(f"the driver sees host memory of {wanted.address:#x} at {seen:#x}")

    def unmap(self, held: Range) -> None:
        """Give the memory back and keep the addresses."""
        self._call(DeviceError, self._api.cuMemHostUnregister, held.address)
        self._place(held, _FIXED)

    def release(self, reserved: Range) -> None:
        """Let the addresses go."""
        self._libc.munmap(reserved.address, reserved.size)

    def _place(self, wanted: Range, placement: int) -> bool:
        got = self._libc.mmap(wanted.address, wanted.size, _PROT_NONE, _PRIVATE_ANONYMOUS_UNRESERVED | placement, -1, 0)
        if got == wanted.address:
            return True
        if got != _FAILED:
            self._libc.munmap(got, wanted.size)
        return False
