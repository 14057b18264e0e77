"""The host's processor through libr3cpu.so (record_runtime/cpu/r3cpu.h)."""

from __future__ import annotations

import ctypes
import enum
import os
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from r3cc.devices.base import (
    PAGE,
    Arguments,
    DeviceError,
    DeviceFault,
    DeviceTimeout,
    DeviceUnavailable,
    Geometry,
    LaunchError,
    Limits,
    LoadError,
    OutOfDeviceMemory,
    Properties,
    Range,
    cut,
    merge_pages,
    page_flags,
)
from r3cc.devices.host_memory import available_memory
from r3cc.devices.host_processor import processor_name
from r3cc.toolchain.native import native_library


class _Status(enum.IntEnum):
    OK = 0
    BAD_MODULE = 1
    NOT_FOUND = 2
    BAD_LAUNCH = 3
    DEADLOCK = 4
    TRAP = 5
    ASSERT = 6
    OUT_OF_MEMORY = 7
    TIMEOUT = 8
    UNSUPPORTED = 9


_ERRORS: dict[_Status, type[DeviceError]] = {
    _Status.BAD_MODULE: LoadError,
    _Status.NOT_FOUND: LaunchError,
    _Status.BAD_LAUNCH: LaunchError,
    _Status.DEADLOCK: DeviceTimeout,
    _Status.TRAP: DeviceFault,
    _Status.ASSERT: DeviceFault,
    _Status.OUT_OF_MEMORY: OutOfDeviceMemory,
    _Status.TIMEOUT: DeviceTimeout,
    _Status.UNSUPPORTED: LaunchError,
}


class _Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32)]


class _Attributes(ctypes.Structure):
    _fields_ = [
        ("form", ctypes.c_uint32),
        ("static_shared", ctypes.c_uint32),
        ("max_threads", ctypes.c_uint32),
        ("parameter_count", ctypes.c_uint32),
        ("argument_size", ctypes.c_uint32),
    ]


class _Engine:
    """libr3cpu.so's calls, typed, each error status raised as its class."""

    def __init__(self) -> None:
        # Globally: lowered modules find the calls of their kernels in it.
        library = ctypes.CDLL(str(native_library("libr3cpu.so")), mode=ctypes.RTLD_GLOBAL)
        library.r3cpu_last_error.restype = ctypes.c_char_p
        library.r3cpu_module_unload.argtypes = [ctypes.c_void_p]
        library.r3cpu_module_unload.restype = None
        library.r3cpu_kernel_get_attributes.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Attributes)]
        library.r3cpu_kernel_get_attributes.restype = None
        out, size = ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t
        self._declare(library.r3cpu_module_load, ctypes.c_char_p, out)
        self._declare(library.r3cpu_module_kernel, ctypes.c_void_p, ctypes.c_char_p, out)
        self._declare(library.r3cpu_module_global, ctypes.c_void_p, ctypes.c_char_p, out, ctypes.POINTER(size))
        launch_types = (ctypes.c_uint32, ctypes.c_char_p, size, ctypes.POINTER(ctypes.c_uint64))
        self._declare(library.r3cpu_launch, ctypes.c_void_p, _Dim3, _Dim3, *launch_types)
        for name in ("reserve", "map", "unmap", "release"):
            self._declare(getattr(library, f"r3cpu_memory_{name}"), ctypes.c_uint64, size)
        self.library: Any = library

    @staticmethod
    def _declare(function: Any, *argument_types: Any) -> None:
        function.argtypes = list(argument_types)
        function.restype = ctypes.c_int

    def call(self, name: str, *arguments: Any) -> None:
        """Call ``r3cpu_<name>``; raises the class that its status stands for."""
        status = _Status(getattr(self.library, f"r3cpu_{name}")(*arguments))
        if status is not _Status.OK:
            raise _ERRORS[status](self.library.r3cpu_last_error().decode(errors="replace"))


class CpuFunction:
    """A kernel of a loaded module."""

    def __init__(self, device: CpuDevice, engine: _Engine, handle: ctypes.c_void_p) -> None:
        self._device = device
        self._engine = engine
        self._handle = handle

    @property
    def resources(self) -> dict[str, int]:
        """Static shared bytes, largest block (0: any), and whether threads run as fibers."""
        attributes = _Attributes()
        self._engine.library.r3cpu_kernel_get_attributes(self._handle, ctypes.byref(attributes))
        return {
            "shared_bytes": attributes.static_shared,
            "max_threads": attributes.max_threads,
            "fibers": attributes.form,
        }

    def launch(self, geometry: Geometry, arguments: Arguments) -> None:
        """Run it to its end."""
        spent = ctypes.c_uint64()
        self._engine.call(
            "launch",
            self._handle,
            _Dim3(*geometry.grid),
            _Dim3(*geometry.block),
            geometry.shared,
            arguments.data,
            len(arguments.data),
            ctypes.byref(spent),
        )
        self._device.busy_ns += spent.value


class CpuCode:
    """A loaded shared object of a lowered module."""

    def __init__(self, device: CpuDevice, engine: _Engine, path: Path) -> None:
        self._device = device
        self._engine = engine
        self._handle = ctypes.c_void_p()
        engine.call("module_load", str(path).encode(), ctypes.byref(self._handle))

    def function(self, name: str) -> CpuFunction:
        """Entry function by mangled name."""
        handle = ctypes.c_void_p()
        self._engine.call("module_kernel", self._handle, name.encode(), ctypes.byref(handle))
        return CpuFunction(self._device, self._engine, handle)

    def global_range(self, name: str) -> Range | None:
        """Where a global lies, None if the code has none of that name."""
        address, size = ctypes.c_void_p(), ctypes.c_size_t()
        try:
            self._engine.call("module_global", self._handle, name.encode(), ctypes.byref(address), ctypes.byref(size))
        except LaunchError:
            return None
        return Range(address.value or 0, size.value)

    def unload(self) -> None:
        """Give the module back."""
        self._engine.library.r3cpu_module_unload(self._handle)


class CpuMark:
    """A point in the time that launches took."""

    def __init__(self, busy_ns: int) -> None:
        self._busy_ns = busy_ns

    def nanoseconds_since(self, earlier: CpuMark) -> float:
        """Wall time of the launches between two marks."""
        return float(self._busy_ns - earlier._busy_ns)

    def is_ahead(self) -> bool:
        """Always: this time stands still between launches."""
        return True


class CpuDevice:
    """The host as a device. Everything is synchronous; a wild access ends the process."""

    granule = PAGE
    mark_overhead_ns = 0.0

    def __init__(self) -> None:
        self._engine = _Engine()
        self._reservations: list[Range] = []
        self._mapped: list[Range] = []
        self._allocations: dict[int, npt.NDArray[np.uint8]] = {}
        self.busy_ns = 0
        """Wall time of all launches so far."""

    @property
    def properties(self) -> Properties:
        """What the host is."""
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        limits = Limits(shared=256 * 1024)
        return Properties("cpu", processor_name(), platform.machine(), platform.release(), limits, memory)

    def reserve(self, ranges: Sequence[Range]) -> None:
        """Keep host addresses free, inaccessible."""
        for wanted in ranges:
            if any(held.holds(wanted) for held in self._reservations):
                continue
            try:
                self._engine.call("memory_reserve", wanted.address, wanted.size)
            except OutOfDeviceMemory as error:
                raise DeviceUnavailable(f"the recorded address {wanted.address:#x} cannot be had: {error}") from None
            self._reservations.append(wanted)

    def map(self, ranges: Sequence[Range]) -> None:
        """Make exactly these ranges accessible."""
        for old in [held for held in self._mapped if held not in ranges]:
            self._engine.call("memory_unmap", old.address, old.size)
            self._mapped.remove(old)
        for new in [wanted for wanted in ranges if wanted not in self._mapped]:
            self._engine.call("memory_map", new.address, new.size)
            self._mapped.append(new)

    def free_memory(self) -> int:
        """What can be had of the host's memory."""
        return available_memory()

    def allocate(self, size: int) -> int:
        """Plain host memory."""
        try:
            memory = np.empty(max(size, 1), np.uint8)
        except MemoryError:
            raise OutOfDeviceMemory(f"{size} bytes of host memory are not to be had") from None
        self._allocations[memory.ctypes.data] = memory
        return int(memory.ctypes.data)

    def release(self, address: int) -> None:
        """Free what ``allocate`` gave."""
        del self._allocations[address]

    def staging(self, size: int) -> npt.NDArray[np.uint8]:
        """Plain host memory."""
        return np.empty(size, np.uint8)

    def upload(self, address: int, data: npt.NDArray[np.uint8]) -> None:
        """Copy in."""
        if len(data):
            ctypes.memmove(address, data.ctypes.data, data.nbytes)

    def download(self, address: int, size: int) -> bytes:
        """Copy out."""
        return ctypes.string_at(address, size)

    def copy(self, destination: int, source: int, size: int) -> None:
        """Copy within the host."""
        ctypes.memmove(destination, source, size)

    def copy_pages(self, destination: int, source: int, size: int, pages: Range) -> None:
        """Copy page by page."""
        for page in np.frombuffer(self.download(pages.address, pages.size), np.uint32):
            start = int(page) * PAGE
            ctypes.memmove(destination + start, source + start, min(PAGE, size - start))

    def fill(self, address: int, value: int, size: int) -> None:
        """Set bytes."""
        ctypes.memset(address, value, size)

    def differences(self, left: int, right: int, size: int) -> list[Range]:
        """Compare in place, a block of pages at a time."""
        flags = bytearray()
        for mine, other in _blocks(left, right, size):
            flags += page_flags(mine, other)
        return merge_pages(flags, size)

    def count_differences(self, left: int, right: int, size: int) -> int:
        """Compare in place."""
        return sum(int(np.count_nonzero(mine != other)) for mine, other in _blocks(left, right, size))

    def load(self, path: Path) -> CpuCode:
        """Load a shared object made from a lowered module."""
        return CpuCode(self, self._engine, path)

    def mark(self) -> CpuMark:
        """The time that launches took so far."""
        return CpuMark(self.busy_ns)

    def hold(self, nanoseconds: int) -> None:
        """Nothing to do: launches are synchronous."""

    def flush_l2(self) -> None:
        """Nothing to do: the host's caches have no such state to choose."""

    def synchronise(self) -> None:
        """Nothing to wait for."""

    def readings(self) -> dict[str, int]:
        """None yet."""
        return {}

    def close(self) -> None:
        """Unmap everything."""
        self.map([])
        for held in self._reservations:
            self._engine.call("memory_release", held.address, held.size)
        self._reservations.clear()


_BLOCK = 1 << 24


def _blocks(left: int, right: int, size: int) -> Iterator[tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]]:
    for part in cut([Range(0, size)], _BLOCK):
        yield _view(left + part.address, part.size), _view(right + part.address, part.size)


def _view(address: int, size: int) -> npt.NDArray[np.uint8]:
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
