"""What replay asks of a device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

import msgspec

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Dim3 = tuple[int, int, int]

PAGE = 4096
"""Granularity in bytes in which devices report differences between two ranges."""


HOST_RUNTIME = "R3 cpu device"
"""What R3's own HIP runtime calls its GPU, which is the host."""


def runs_on_host(device: str, name: str) -> bool:
    """Whether a device's results are the host's: those of the cpu device, and of R3's own HIP runtime."""
    return device == "cpu" or (device.startswith("hip:") and name == HOST_RUNTIME)


class DeviceError(Exception):
    """What a device refused or broke at; the class says which, the text is for people."""


class LaunchError(DeviceError):
    """The launch was refused before it ran: dimensions, resources, an unknown kernel."""


class LoadError(DeviceError):
    """The device cannot load a code object."""


class DeviceFault(DeviceError):
    """The kernel ran into a fault. The device context is lost: its process must end."""


class DeviceTimeout(DeviceError):
    """The kernel waits for what never comes. As after a fault, its process must end."""


class OutOfDeviceMemory(DeviceError):
    """An allocation or mapping does not fit any more."""


class DeviceUnavailable(DeviceError):
    """There is no such device here, or what drives it is not installed."""


RESERVED = 1 << 30
"""Addresses of GPUs are reserved in multiples of this: of a few megabytes CUDA ignores the address asked for."""


class Range(msgspec.Struct, frozen=True, order=True):
    """``size`` bytes from ``address``."""

    address: int
    size: int

    @property
    def end(self) -> int:
        """First address behind the range."""
        return self.address + self.size

    def holds(self, other: Range) -> bool:
        """Whether ``other`` lies inside."""
        return self.address <= other.address and other.end <= self.end

    @property
    def window(self) -> Range:
        """The whole reservations around it."""
        start = self.address // RESERVED * RESERVED
        return Range(start, -(-self.end // RESERVED) * RESERVED - start)


class Limits(msgspec.Struct, frozen=True):
    """What a launch may ask for."""

    threads: int = 1024
    """Threads a block."""
    block: Dim3 = (1024, 1024, 64)
    grid: Dim3 = (2**31 - 1, 65535, 65535)
    shared: int = 48 * 1024
    """Dynamic shared bytes a block, with opt-in."""


class Properties(msgspec.Struct, frozen=True):
    """What a device is."""

    device: str
    """``cuda:0``, ``cpu``."""
    name: str
    architecture: str
    """``sm_90``; the host CPU's name on the cpu device."""
    driver: str
    limits: Limits
    memory: int
    """Bytes in all."""
    l2: int = 0
    """Bytes of second-level cache; 0 where it cannot be flushed."""
    identity: str = ""
    """Names the GPU on this machine, whatever its number; empty where processes need not take turns."""


class Geometry(msgspec.Struct, frozen=True):
    """Launch dimensions, as the device takes them."""

    grid: Dim3
    block: Dim3
    shared: int


class Arguments(msgspec.Struct, frozen=True):
    """A parameter buffer and the (offset, size) of each parameter in it."""

    data: bytes
    parameters: tuple[tuple[int, int], ...]


class Function(Protocol):
    """An entry function of a loaded code object."""

    @property
    def resources(self) -> dict[str, int]:
        """Registers, spills, shared bytes, as far as the device knows them."""
        ...

    def launch(self, geometry: Geometry, arguments: Arguments) -> None:
        """Start it. Raises :class:`LaunchError` if it is refused."""
        ...


class Code(Protocol):
    """A loaded code object."""

    def function(self, name: str) -> Function:
        """Entry function by mangled name. Raises :class:`LaunchError` if there is none."""
        ...

    def global_range(self, name: str) -> Range | None:
        """Where a global lies, None if the code has none of that name."""
        ...

    def unload(self) -> None:
        """Give its memory back; ranges and functions of it are void then."""
        ...


class Mark(Protocol):
    """A point in the device's work."""

    def nanoseconds_since(self, earlier: Self) -> float:
        """Device time between two reached marks."""
        ...

    def is_ahead(self) -> bool:
        """Whether what was queued behind it so far does not wait for the host: the device has yet to reach it.

        Always where launches are synchronous.
        """
        ...


class Device(Protocol):
    """Runs kernels on memory at recorded addresses. One process, one thread, one device.

    All work is in order. Faults of asynchronous work surface in ``synchronise``, ``download`` and ``differences``.
    """

    @property
    def properties(self) -> Properties:
        """What the device is."""
        ...

    @property
    def mark_overhead_ns(self) -> float:
        """What two marks around a launch measure beyond the kernel; calibrated when it is first asked for."""
        ...

    @property
    def granule(self) -> int:
        """Memory is mapped in multiples of this many bytes."""
        ...

    def reserve(self, ranges: Sequence[Range]) -> None:
        """Keep address ranges free for ``map``. Raises :class:`DeviceUnavailable` where an address cannot be had."""
        ...

    def map(self, ranges: Sequence[Range]) -> None:
        """Make exactly these granule-aligned, reserved ranges accessible, and all else not, so that a miss faults.

        Ranges that were mapped before keep their content; new ones hold anything. Raises :class:`OutOfDeviceMemory`.
        """
        ...

    def free_memory(self) -> int:
        """Bytes that can still be allocated or mapped."""
        ...

    def allocate(self, size: int) -> int:
        """Address of ``size`` bytes outside the recorded ranges. Raises :class:`OutOfDeviceMemory`."""
        ...

    def release(self, address: int) -> None:
        """Give an allocation back."""
        ...

    def staging(self, size: int) -> npt.NDArray[np.uint8]:
        """Host memory of ``size`` bytes for many uploads, until the device is asked for it again."""
        ...

    def upload(self, address: int, data: npt.NDArray[np.uint8]) -> None:
        """Copy contiguous bytes from the host; ``data`` may change afterwards."""
        ...

    def download(self, address: int, size: int) -> bytes:
        """Copy to the host, after all work before it."""
        ...

    def copy(self, destination: int, source: int, size: int) -> None:
        """Copy on the device."""
        ...

    def copy_pages(self, destination: int, source: int, size: int, pages: Range) -> None:
        """Copy the listed pages of ``size`` bytes on the device, in one command; the last page may be short.

        ``pages`` is device memory that holds numbers of pages of ``PAGE`` bytes, 32 bits each.
        """
        ...

    def fill(self, address: int, value: int, size: int) -> None:
        """Set ``size`` bytes to ``value``."""
        ...

    def differences(self, left: int, right: int, size: int) -> list[Range]:
        """Ranges in which two memories differ: offsets, in merged pages of ``PAGE`` bytes."""
        ...

    def count_differences(self, left: int, right: int, size: int) -> int:
        """Bytes in which two memories differ."""
        ...

    def load(self, path: Path) -> Code:
        """Load a code object. Raises :class:`LoadError`."""
        ...

    def mark(self) -> Mark:
        """A mark in the device's work, as an event is."""
        ...

    def hold(self, nanoseconds: int) -> None:
        """Keep the device busy so that what is queued meanwhile runs back to back, where launches are asynchronous."""
        ...

    def flush_l2(self) -> None:
        """Evict the second-level cache."""
        ...

    def synchronise(self) -> None:
        """Wait for all work. Raises :class:`DeviceFault`."""
        ...

    def readings(self) -> dict[str, int]:
        """Clocks (MHz) and temperature (°C) where they can be read."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


def cut(parts: Iterable[Range], longest: int) -> Iterator[Range]:
    """The parts, in pieces of at most so many bytes."""
    for part in parts:
        for start in range(part.address, part.end, longest):
            yield Range(start, min(longest, part.end - start))


def merge_pages(flags: Sequence[int] | bytes, size: int) -> list[Range]:
    """Offsets of flagged pages, neighbours merged, the last one cut at ``size``."""
    import numpy as np  # here, for compile processes read this module's classes and start often

    flagged = np.frombuffer(bytes(flags), np.uint8).astype(bool)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flagged, [False])).astype(np.int8)))
    starts, ends = edges[0::2] * PAGE, np.minimum(edges[1::2] * PAGE, size)
    return [Range(int(start), int(end - start)) for start, end in zip(starts, ends, strict=True)]


def page_flags(left: npt.NDArray[np.uint8], right: npt.NDArray[np.uint8]) -> bytes:
    """A byte for each page of two equally long memories: 1 where they differ."""
    import numpy as np  # as in merge_pages

    different = left != right
    whole = len(different) // PAGE * PAGE
    flags: bytes = different[:whole].reshape(-1, PAGE).any(axis=1).astype(np.uint8).tobytes()
    return flags + (bytes([bool(different[whole:].any())]) if whole < len(different) else b"")
