"""AMD's GPUs through the HIP runtime, called by hip-python.

Nothing here is made of kernels of R3's own: AMD's code objects are for one architecture each. Pages are compared on the
host, and the device is held back by a host function in its stream.
"""

from __future__ import annotations

import ctypes
import platform
import statistics
from collections.abc import Iterator, Sequence
from functools import cached_property
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

LIBRARY = "libamdhip64.so"
_HOST_RUNTIME_SYMBOL = "r3cpu_amdhip64"

_FAULTS = ("IllegalAddress", "IllegalState", "LaunchFailure", "Assert", "ECCNotCorrectable", "Unknown")
"""Errors after which the process's use of the GPU is over."""
_TIMEOUT = "LaunchTimeOut"

_BLOCK = 1 << 24
"""Bytes that are compared at a time."""
_SWEEPS = 3
"""Memory written to empty the L2 cache, in its sizes."""
_CALIBRATIONS = 51
_PROBE_HOLD_NS = 2_000_000
_PROBES = 3


def is_host_runtime() -> bool:
    """Whether this process's HIP runtime is R3's own, whose code objects are those of the cpu device."""
    try:
        return hasattr(ctypes.CDLL(LIBRARY), _HOST_RUNTIME_SYMBOL)
    except OSError:
        return False


class _Runtime:
    """The runtime's entry points, each error raised as the class that its stage gives."""

    def __init__(self) -> None:
        try:
            from hip import hip
        except ImportError:
            raise DeviceUnavailable(
                "HIP devices need hip-python of the installed ROCm's version; install it with `pip install 'r3cc[hip]'`"
            ) from None
        self.api: Any = hip
        self._errors = hip.hipError_t
        self._faults = {getattr(self._errors, f"hipError{name}", None) for name in _FAULTS}

    def call(self, stage: type[DeviceError], name: str, *arguments: Any) -> Any:
        """The value of a call, None if it has none; its error as ``stage``, a fault or lack of memory."""
        code, *values = self.attempt(name, *arguments)
        if code != self._errors.hipSuccess:
            raise self._error(stage, name, code)
        if not values:
            return None
        return values[0] if len(values) == 1 else tuple(values)

    def attempt(self, name: str, *arguments: Any) -> tuple[Any, ...]:
        """The error code of a call, and its values. Raises :class:`DeviceUnavailable` where there is no such call."""
        try:
            result: tuple[Any, ...] = getattr(self.api, name)(*arguments)
        except RuntimeError as error:  # hip-python finds the library and its entries when they are first called
            raise DeviceUnavailable(f"{LIBRARY} cannot be used, {error}; `--device cpu` needs none") from None
        return result

    def _error(self, stage: type[DeviceError], name: str, code: Any) -> DeviceError:
        message = f"{name}: {code.name}"
        if code in self._faults:
            return DeviceFault(message)
        if code.name == f"hipError{_TIMEOUT}":
            return DeviceTimeout(message)
        if code == self._errors.hipErrorOutOfMemory:
            return OutOfDeviceMemory(message)
        return stage(message)


class HipFunction:
    """A kernel of a loaded code object."""

    def __init__(self, runtime: _Runtime, handle: Any) -> None:
        self._runtime = runtime
        self._handle = handle

    @property
    def resources(self) -> dict[str, int]:
        """Largest block and static shared bytes; the code object's own notes say the rest."""
        kinds = self._runtime.api.hipFunction_attribute
        wanted = {
            "max_threads": kinds.HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
            "shared_bytes": kinds.HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
        }
        return {
            name: int(self._runtime.call(LoadError, "hipFuncGetAttribute", kind, self._handle))
            for name, kind in wanted.items()
        }

    def launch(self, geometry: Geometry, arguments: Arguments) -> None:
        """Queue it on the default stream."""
        buffer = ctypes.create_string_buffer(arguments.data, max(len(arguments.data), 1))
        base = ctypes.addressof(buffer)
        offsets = [offset for offset, _ in arguments.parameters]
        pointers = (ctypes.c_void_p * max(len(offsets), 1))(*(base + offset for offset in offsets))
        dimensions = (*geometry.grid, *geometry.block, geometry.shared)
        where = ctypes.addressof(pointers)
        self._runtime.call(LaunchError, "hipModuleLaunchKernel", self._handle, *dimensions, None, where, None)


class HipCode:
    """A loaded code object."""

    def __init__(self, runtime: _Runtime, image: bytes) -> None:
        self._runtime = runtime
        self._image = image
        self._handle = runtime.call(LoadError, "hipModuleLoadData", image)

    def function(self, name: str) -> HipFunction:
        """Entry function by mangled name."""
        handle = self._runtime.call(LaunchError, "hipModuleGetFunction", self._handle, name.encode())
        return HipFunction(self._runtime, handle)

    def global_range(self, name: str) -> Range | None:
        """Where a global lies, None if the code has none of that name."""
        code, address, size = self._runtime.attempt("hipModuleGetGlobal", self._handle, name.encode())
        if code == self._runtime.api.hipError_t.hipErrorNotFound:
            return None
        if code != self._runtime.api.hipError_t.hipSuccess:
            raise LoadError(f"hipModuleGetGlobal: {name}: {code.name}")
        return Range(int(address), int(size))

    def unload(self) -> None:
        """Give the code back."""
        self._runtime.call(LoadError, "hipModuleUnload", self._handle)


class HipMark:
    """A recorded event."""

    def __init__(self, device: HipDevice) -> None:
        self._device = device
        self.event = device.runtime.call(DeviceError, "hipEventCreate")
        device.runtime.call(DeviceError, "hipEventRecord", self.event, None)

    def nanoseconds_since(self, earlier: HipMark) -> float:
        """Device time between two reached events."""
        call = self._device.runtime.call
        call(DeviceError, "hipEventSynchronize", self.event)
        return float(call(DeviceError, "hipEventElapsedTime", earlier.event, self.event)) * 1e6

    def is_ahead(self) -> bool:
        """Whether the event waits still; always where launches are synchronous."""
        return self._device.is_synchronous or self.waits()

    def waits(self) -> bool:
        """Whether the event has not been reached."""
        runtime = self._device.runtime
        if runtime.attempt("hipEventQuery", self.event)[0] == runtime.api.hipError_t.hipErrorNotReady:
            return True
        runtime.call(DeviceError, "hipEventQuery", self.event)
        return False

    def __del__(self) -> None:
        event = getattr(self, "event", None)
        if event is not None:
            self._device.runtime.attempt("hipEventDestroy", event)


class HipDevice:
    """One GPU. All work goes to the default stream, hence in order."""

    def __init__(self, ordinal: int) -> None:
        self.runtime = _Runtime()
        self._ordinal = ordinal
        self._open()
        self._properties = self._read_properties()
        self._reservations: list[Range] = []
        self._mapped: list[Range] = []
        self._swept: int | None = None
        """What ``flush_l2`` writes."""
        # A host function is called with one word: so libc's may be it, and the interpreter is not waited for.
        self._sleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p).value

    def _open(self) -> None:
        try:
            self.runtime.call(DeviceUnavailable, "hipInit", 0)
            count = int(self.runtime.call(DeviceUnavailable, "hipGetDeviceCount"))
        except DeviceUnavailable as error:
            raise DeviceUnavailable(f"no AMD GPU works here ({error}); `--device cpu` needs none") from None
        if self._ordinal >= count:
            raise DeviceUnavailable(
                f"there is no hip:{self._ordinal} here; the runtime has {count} GPU(s), numbered from 0"
            )
        self.runtime.call(DeviceUnavailable, "hipSetDevice", self._ordinal)

    def _read_properties(self) -> Properties:
        read = self.runtime.api.hipDeviceProp_t()
        self.runtime.call(DeviceUnavailable, "hipGetDeviceProperties", read, self._ordinal)
        version = int(self.runtime.call(DeviceUnavailable, "hipRuntimeGetVersion"))
        x, y, z = (int(extent) for extent in read.maxThreadsDim)
        columns, rows, layers = (int(extent) for extent in read.maxGridSize)
        return Properties(
            device=f"hip:{self._ordinal}",
            name=read.name.decode(),
            architecture=platform.machine() if is_host_runtime() else read.gcnArchName.decode().split(":")[0],
            driver=f"{version // 10_000_000}.{version // 100_000 % 100}.{version % 100_000}",
            limits=Limits(
                threads=int(read.maxThreadsPerBlock),
                block=(x, y, z),
                grid=(columns, rows, layers),
                shared=int(read.sharedMemPerBlock),
            ),
            memory=int(read.totalGlobalMem),
            l2=int(read.l2CacheSize),
            identity="" if is_host_runtime() else f"HIP-{int(read.pciBusID):02x}-{int(read.pciDeviceID):02x}",
        )

    @property
    def properties(self) -> Properties:
        """What the GPU is."""
        return self._properties

    @cached_property
    def is_synchronous(self) -> bool:
        """Whether each call returns when its work is done: what is queued behind a hold is reached at once."""
        return not any(self._holds_back() for _ in range(_PROBES))

    def _holds_back(self) -> bool:
        self.hold(_PROBE_HOLD_NS)
        waits = HipMark(self).waits()
        self.synchronise()
        return waits

    @cached_property
    def mark_overhead_ns(self) -> float:
        """Time between two marks with nothing between them: the median of many."""
        return statistics.median(self._empty_marks() for _ in range(_CALIBRATIONS))

    def _empty_marks(self) -> float:
        self.hold(_PROBE_HOLD_NS // 10)
        start, end = self.mark(), self.mark()
        return max(end.nanoseconds_since(start), 0.0)

    @cached_property
    def granule(self) -> int:
        """The runtime's smallest mapping."""
        smallest = self.runtime.api.hipMemAllocationGranularity_flags.hipMemAllocationGranularityMinimum
        return int(self.runtime.call(DeviceError, "hipMemGetAllocationGranularity", self._allocation_kind(), smallest))

    def _allocation_kind(self) -> Any:
        api = self.runtime.api
        kind = api.hipMemAllocationProp()
        kind.type = api.hipMemAllocationType.hipMemAllocationTypePinned
        kind.location.type = api.hipMemLocationType.hipMemLocationTypeDevice
        kind.location.id = self._ordinal
        return kind

    def reserve(self, ranges: Sequence[Range]) -> None:
        """Reserve device addresses at exactly these places."""
        for wanted in (each.window for each in ranges):
            if any(held.holds(wanted) for held in self._reservations):
                continue
            got = int(self.runtime.call(DeviceUnavailable, "hipMemAddressReserve", wanted.size, 0, wanted.address, 0))
            if got != wanted.address:
                self.runtime.call(DeviceError, "hipMemAddressFree", got, wanted.size)
                raise DeviceUnavailable(
                    f"the runtime gave {got:#x} instead of the recorded address {wanted.address:#x}: "
                    "another library in this process holds it"
                )
            self._reservations.append(wanted)

    def map(self, ranges: Sequence[Range]) -> None:
        """Physical memory under exactly these ranges."""
        for old in [held for held in self._mapped if held not in ranges]:
            self.synchronise()
            self.runtime.call(DeviceError, "hipMemUnmap", old.address, old.size)
            self._mapped.remove(old)
        for new in [wanted for wanted in ranges if wanted not in self._mapped]:
            self._map(new)

    def _map(self, wanted: Range) -> None:
        api, call = self.runtime.api, self.runtime.call
        handle = call(OutOfDeviceMemory, "hipMemCreate", wanted.size, self._allocation_kind(), 0)
        try:
            call(DeviceError, "hipMemMap", wanted.address, wanted.size, 0, handle, 0)
        finally:
            call(DeviceError, "hipMemRelease", handle)  # the mapping keeps the memory
        self._mapped.append(wanted)
        access = api.hipMemAccessDesc()
        access.location.type = api.hipMemLocationType.hipMemLocationTypeDevice
        access.location.id = self._ordinal
        access.flags = api.hipMemAccessFlags.hipMemAccessFlagsProtReadWrite
        call(DeviceError, "hipMemSetAccess", wanted.address, wanted.size, access, 1)

    def free_memory(self) -> int:
        """What the runtime says is free."""
        free, _ = self.runtime.call(DeviceError, "hipMemGetInfo")
        return int(free)

    def allocate(self, size: int) -> int:
        """Plain device memory."""
        return int(self.runtime.call(OutOfDeviceMemory, "hipMalloc", max(size, 1)))

    def release(self, address: int) -> None:
        """Free what ``allocate`` gave."""
        self.runtime.call(DeviceError, "hipFree", address)

    def staging(self, size: int) -> npt.NDArray[np.uint8]:
        """Plain host memory."""
        return np.empty(size, np.uint8)

    def upload(self, address: int, data: npt.NDArray[np.uint8]) -> None:
        """Copy from the host; returns when ``data`` may change."""
        if len(data):
            self.runtime.call(DeviceError, "hipMemcpyHtoD", address, data.ctypes.data, data.nbytes)

    def download(self, address: int, size: int) -> bytes:
        """Copy to the host, after all work before it."""
        return self._host_copy(address, size).tobytes()

    def _host_copy(self, address: int, size: int) -> npt.NDArray[np.uint8]:
        target = np.empty(size, np.uint8)
        if size:
            self.runtime.call(DeviceError, "hipMemcpyDtoH", target.ctypes.data, address, size)
        return target

    def copy(self, destination: int, source: int, size: int) -> None:
        """Queue a copy on the device."""
        if size:
            self.runtime.call(DeviceError, "hipMemcpyDtoDAsync", destination, source, size, None)

    def copy_pages(self, destination: int, source: int, size: int, pages: Range) -> None:
        """Queue a copy for each run of neighbouring pages."""
        numbers = self._host_copy(pages.address, pages.size).view(np.uint32)
        flags = np.zeros(-(-size // PAGE), np.uint8)
        flags[numbers] = 1
        for run in merge_pages(flags.tobytes(), size):
            self.copy(destination + run.address, source + run.address, run.size)

    def fill(self, address: int, value: int, size: int) -> None:
        """Queue a fill."""
        if size:
            self.runtime.call(DeviceError, "hipMemsetD8Async", address, value, size, None)

    def differences(self, left: int, right: int, size: int) -> list[Range]:
        """Compare on the host, a block of pages at a time."""
        flags = bytearray()
        for mine, other in self._blocks(left, right, size):
            flags += page_flags(mine, other)
        return merge_pages(flags, size)

    def count_differences(self, left: int, right: int, size: int) -> int:
        """Compare on the host."""
        return sum(int(np.count_nonzero(mine != other)) for mine, other in self._blocks(left, right, size))

    def _blocks(
        self, left: int, right: int, size: int
    ) -> Iterator[tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]]:
        for part in cut([Range(0, size)], _BLOCK):
            yield self._host_copy(left + part.address, part.size), self._host_copy(right + part.address, part.size)

    def load(self, path: Path) -> HipCode:
        """Load a code object."""
        return HipCode(self.runtime, path.read_bytes())

    def mark(self) -> HipMark:
        """Record an event."""
        return HipMark(self)

    def hold(self, nanoseconds: int) -> None:
        """A host function that sleeps: what is queued behind it waits."""
        microseconds = max(nanoseconds // 1000, 1)
        self.runtime.call(DeviceError, "hipLaunchHostFunc", None, self._sleep, microseconds)

    def flush_l2(self) -> None:
        """Write several times the cache's size."""
        size = _SWEEPS * self._properties.l2
        if self._swept is None:
            self._swept = self.allocate(size)
        self.fill(self._swept, 0, size)

    def synchronise(self) -> None:
        """Wait for all work; what went wrong in it surfaces here."""
        self.runtime.call(DeviceFault, "hipDeviceSynchronize")

    def readings(self) -> dict[str, int]:
        """None: nothing that R3 depends on reads AMD's clocks."""
        return {}

    def close(self) -> None:
        """Unmap everything and let the addresses go."""
        self.map([])
        for held in self._reservations:
            self.runtime.call(DeviceError, "hipMemAddressFree", held.address, held.size)
        self._reservations.clear()
