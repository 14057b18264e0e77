"""NVIDIA GPUs through the CUDA driver API."""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from r3cc.devices.base import (
    PAGE,
    Arguments,
    DeviceError,
    DeviceFault,
    DeviceUnavailable,
    Geometry,
    LaunchError,
    Limits,
    LoadError,
    OutOfDeviceMemory,
    Properties,
    Range,
    merge_pages,
)
from r3cc.devices.pinned import HOST, PinnedMemory

_PAGE_THREADS = 256
_MOST_BLOCKS = 8192
"""Blocks of kernels that work page by page."""
_COUNTER = 8
"""Bytes of a count on the device."""
_PINNED_FROM = 64 << 20
"""Bytes of memory for uploads from which on it is pinned."""
_SWEEPS = 3
"""Memory read to empty the L2 cache, in its sizes: its replacement is not strictly by age."""
_SWEEP_BLOCKS = 512
_VECTOR = 16
_FREE_SHARED = 48 * 1024
"""Dynamic shared bytes that need no opt-in."""

_CALIBRATIONS = 51
_BACK_TO_BACK = 64
_CALIBRATION_HOLD_NS = 2_000_000
_LONGEST_CALIBRATION_HOLD_NS = 32_000_000

_FAULTS = (
    "ILLEGAL_ADDRESS",
    "ILLEGAL_INSTRUCTION",
    "MISALIGNED_ADDRESS",
    "INVALID_ADDRESS_SPACE",
    "INVALID_PC",
    "HARDWARE_STACK_ERROR",
    "LAUNCH_FAILED",
    "LAUNCH_TIMEOUT",
    "ASSERT",
    "ECC_UNCORRECTABLE",
    "CONTAINED",
    "TENSOR_MEMORY_LEAK",
)
"""Errors after which the context is of no use any more."""


class _Driver:
    """The driver's entry points, each error raised as the class that its stage gives."""

    def __init__(self) -> None:
        try:
            from cuda.bindings import driver
        except ImportError:
            raise DeviceUnavailable(
                "the CUDA device needs Python's cuda-bindings; install them with `pip install 'r3cc[cuda]'`"
            ) from None
        self.api: Any = driver
        faults = (getattr(driver.CUresult, f"CUDA_ERROR_{name}", None) for name in _FAULTS)
        self._faults = {fault for fault in faults if fault is not None}

    def call(self, stage: type[DeviceError], function: Callable[..., tuple[Any, ...]], *arguments: Any) -> Any:
        """The value of a driver call, None if it has none; its error as ``stage``, a fault or lack of memory."""
        code, *values = function(*arguments)
        if code != self.api.CUresult.CUDA_SUCCESS:
            raise self._error(stage, function, code)
        if not values:
            return None
        return values[0] if len(values) == 1 else tuple(values)

    def _error(self, stage: type[DeviceError], function: Callable[..., Any], code: Any) -> DeviceError:
        _, text = self.api.cuGetErrorString(code)
        sentence = text.decode() if text else str(code)
        message = f"{function.__name__}: {sentence}"
        if code in self._faults:
            return DeviceFault(message)
        if code == self.api.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            return OutOfDeviceMemory(message)
        return stage(message)


class CudaFunction:
    """A kernel of a loaded module."""

    def __init__(self, driver: _Driver, handle: Any) -> None:
        self._driver = driver
        self._handle = handle
        self._opted_in = _FREE_SHARED

    @property
    def resources(self) -> dict[str, int]:
        """Registers a thread, local bytes a thread, shared and constant bytes, largest block."""
        kinds = self._driver.api.CUfunction_attribute
        wanted = {
            "registers": kinds.CU_FUNC_ATTRIBUTE_NUM_REGS,
            "local_bytes": kinds.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
            "shared_bytes": kinds.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
            "constant_bytes": kinds.CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES,
            "max_threads": kinds.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
        }
        get = self._driver.api.cuFuncGetAttribute
        return {name: int(self._driver.call(LoadError, get, kind, self._handle)) for name, kind in wanted.items()}

    def launch(self, geometry: Geometry, arguments: Arguments) -> None:
        """Queue it on the default stream."""
        self._opt_in(geometry.shared)
        buffer = ctypes.create_string_buffer(arguments.data, max(len(arguments.data), 1))
        base = ctypes.addressof(buffer)
        offsets = [offset for offset, _ in arguments.parameters]
        pointers = (ctypes.c_void_p * max(len(offsets), 1))(*(base + offset for offset in offsets))
        dimensions = (*geometry.grid, *geometry.block, geometry.shared)
        start = self._driver.api.cuLaunchKernel
        self._driver.call(LaunchError, start, self._handle, *dimensions, 0, ctypes.addressof(pointers), 0)

    def _opt_in(self, shared: int) -> None:
        if shared > self._opted_in:
            kind = self._driver.api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._driver.call(LaunchError, self._driver.api.cuFuncSetAttribute, self._handle, kind, shared)
            self._opted_in = shared


class CudaCode:
    """A loaded cubin."""

    def __init__(self, driver: _Driver, image: bytes) -> None:
        self._driver = driver
        self._image = image
        self._handle = driver.call(LoadError, driver.api.cuModuleLoadData, image)

    def function(self, name: str) -> CudaFunction:
        """Entry function by mangled name."""
        get = self._driver.api.cuModuleGetFunction
        return CudaFunction(self._driver, self._driver.call(LaunchError, get, self._handle, name.encode()))

    def global_range(self, name: str) -> Range | None:
        """Where a global lies, None if the code has none of that name."""
        code, address, size = self._driver.api.cuModuleGetGlobal(self._handle, name.encode())
        results = self._driver.api.CUresult
        if code == results.CUDA_ERROR_NOT_FOUND:
            return None
        if code != results.CUDA_SUCCESS:
            raise LoadError(f"cuModuleGetGlobal: {name}: {code!s}")
        return Range(int(address), int(size))

    def unload(self) -> None:
        """Give the module back."""
        self._driver.call(LoadError, self._driver.api.cuModuleUnload, self._handle)


def _words(*values: int) -> Arguments:
    """Arguments of R3's own kernels: addresses and 64-bit counts."""
    return Arguments(np.array(values, np.uint64).tobytes(), tuple((8 * index, 8) for index in range(len(values))))


def _page_geometry(pages: int) -> Geometry:
    """For kernels with a block for a page at a time."""
    return Geometry((min(pages, _MOST_BLOCKS), 1, 1), (_PAGE_THREADS, 1, 1), 0)


class CudaMark:
    """A recorded event."""

    def __init__(self, driver: _Driver) -> None:
        self._driver = driver
        self.event = driver.call(DeviceError, driver.api.cuEventCreate, 0)
        driver.call(DeviceError, driver.api.cuEventRecord, self.event, 0)

    def nanoseconds_since(self, earlier: CudaMark) -> float:
        """Device time between two reached events (resolution about half a microsecond)."""
        api = self._driver.api
        self._driver.call(DeviceError, api.cuEventSynchronize, self.event)
        milliseconds = self._driver.call(DeviceError, api.cuEventElapsedTime, earlier.event, self.event)
        return float(milliseconds) * 1e6

    def is_ahead(self) -> bool:
        """Whether the event is still to come."""
        api = self._driver.api
        if api.cuEventQuery(self.event) == (api.CUresult.CUDA_ERROR_NOT_READY,):
            return True
        self._driver.call(DeviceError, api.cuEventQuery, self.event)
        return False

    def __del__(self) -> None:
        event = getattr(self, "event", None)
        if event is not None:
            self._driver.api.cuEventDestroy(event)


class CudaDevice:
    """One NVIDIA GPU in its primary context. All work goes to the default stream, hence in order."""

    def __init__(self, ordinal: int) -> None:
        self._driver = _Driver()
        self._ordinal = ordinal
        self._device = self._open(ordinal)
        self._properties = self._read_properties()
        self._reservations: list[Range] = []
        self._mapped: list[Range] = []
        self._pinned = PinnedMemory(self._driver.api, self._driver.call)
        self._zeros: int | None = None
        """What ``flush_l2`` reads."""
        self._flags = (0, 0)
        """Scratch of ``differences`` and its count: address and size."""
        self._staging = np.empty(0, np.uint8)
        self._staging_address = 0
        """Of pinned memory; 0 where it is none."""
        text = resources.files("r3cc.devices").joinpath("kernels.ptx").read_bytes()
        self._own_code = CudaCode(self._driver, text + b"\0")
        self._differences = self._own_code.function("r3_differences")
        self._count_differences = self._own_code.function("r3_count_differences")
        self._copy_pages = self._own_code.function("r3_copy_pages")
        self._nothing = self._own_code.function("r3_nothing")
        self._hold = self._own_code.function("r3_hold")
        self._sweep = self._own_code.function("r3_sweep")

    def _open(self, ordinal: int) -> Any:
        api = self._driver.api
        try:
            self._driver.call(DeviceUnavailable, api.cuInit, 0)
        except DeviceError:
            raise DeviceUnavailable("no NVIDIA driver or GPU works here; `--device cpu` needs none") from None
        except Exception:  # the bindings raise their loader's own exceptions where libcuda.so.1 is missing
            raise DeviceUnavailable("there is no NVIDIA driver here; `--device cpu` needs none") from None
        count = self._driver.call(DeviceUnavailable, api.cuDeviceGetCount)
        if ordinal >= count:
            raise DeviceUnavailable(f"there is no cuda:{ordinal} here; the driver has {count} GPU(s), numbered from 0")
        device = self._driver.call(DeviceUnavailable, api.cuDeviceGet, ordinal)
        context = self._driver.call(DeviceUnavailable, api.cuDevicePrimaryCtxRetain, device)
        self._driver.call(DeviceUnavailable, api.cuCtxSetCurrent, context)
        return device

    def _attribute(self, name: str) -> int:
        kind = getattr(self._driver.api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self._driver.call(DeviceError, self._driver.api.cuDeviceGetAttribute, kind, self._device))

    def _read_properties(self) -> Properties:
        api, call = self._driver.api, self._driver.call
        major, minor = (self._attribute(f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
        x, y, z = (self._attribute(f"MAX_BLOCK_DIM_{axis}") for axis in "XYZ")
        columns, rows, layers = (self._attribute(f"MAX_GRID_DIM_{axis}") for axis in "XYZ")
        version = int(call(DeviceError, api.cuDriverGetVersion))
        return Properties(
            device=f"cuda:{self._ordinal}",
            name=call(DeviceError, api.cuDeviceGetName, 256, self._device).split(b"\0")[0].decode(),
            architecture=f"sm_{major}{minor}",
            driver=f"{version // 1000}.{version % 1000 // 10}",
            limits=Limits(
                threads=self._attribute("MAX_THREADS_PER_BLOCK"),
                block=(x, y, z),
                grid=(columns, rows, layers),
                shared=self._attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
            ),
            memory=int(call(DeviceError, api.cuDeviceTotalMem, self._device)),
            l2=self._attribute("L2_CACHE_SIZE"),
            identity=self._uuid(),
        )

    def _uuid(self) -> str:
        uuid = self._driver.call(DeviceError, self._driver.api.cuDeviceGetUuid, self._device).bytes.hex()
        return f"GPU-{uuid[:8]}-{uuid[8:12]}-{uuid[12:16]}-{uuid[16:20]}-{uuid[20:]}"

    @property
    def properties(self) -> Properties:
        """What the GPU is."""
        return self._properties

    @cached_property
    def mark_overhead_ns(self) -> float:
        """Time of a marked launch that does nothing, less what each further one adds where several run."""
        one = self._marked_launches(1)
        each = (self._marked_launches(_BACK_TO_BACK) - one) / (_BACK_TO_BACK - 1)
        return max(one - each, 0.0)

    def _marked_launches(self, count: int) -> float:
        """Median marked time of empty launches, back to back, in nanoseconds."""
        self._marked_once(count)  # loads the kernel
        return statistics.median(self._marked_once(count) for _ in range(_CALIBRATIONS))

    def _marked_once(self, count: int) -> float:
        hold_ns = _CALIBRATION_HOLD_NS
        while True:
            self.hold(hold_ns)
            start = self.mark()
            for _ in range(count):
                self._nothing.launch(Geometry((1, 1, 1), (1, 1, 1), 0), Arguments(b"", ()))
            end = self.mark()
            queued_in_time = start.is_ahead()
            self.synchronise()
            if queued_in_time or hold_ns >= _LONGEST_CALIBRATION_HOLD_NS:
                return end.nanoseconds_since(start)
            hold_ns *= 2

    @property
    def granule(self) -> int:
        """The driver's smallest mapping, 2 MiB as a rule."""
        api = self._driver.api
        smallest = api.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
        return int(self._driver.call(DeviceError, api.cuMemGetAllocationGranularity, self._allocation_kind(), smallest))

    def _allocation_kind(self) -> Any:
        api = self._driver.api
        kind = api.CUmemAllocationProp()
        kind.type = api.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        kind.location.type = api.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        kind.location.id = self._ordinal
        return kind

    def reserve(self, ranges: Sequence[Range]) -> None:
        """Reserve device addresses at exactly these places."""
        api, call = self._driver.api, self._driver.call
        for wanted in (each.window for each in ranges):
            if any(held.holds(wanted) for held in self._reservations):
                continue
            if HOST.holds(wanted):
                self._pinned.reserve(wanted)
                self._reservations.append(wanted)
                continue
            got = int(call(DeviceUnavailable, api.cuMemAddressReserve, wanted.size, 0, wanted.address, 0))
            if got != wanted.address:
                call(DeviceError, api.cuMemAddressFree, got, wanted.size)
                raise DeviceUnavailable(
                    f"the driver gave {got:#x} instead of the recorded address {wanted.address:#x}: "
                    "another library in this process holds it"
                )
            self._reservations.append(wanted)

    def map(self, ranges: Sequence[Range]) -> None:
        """Physical memory under exactly these ranges."""
        for old in [held for held in self._mapped if held not in ranges]:
            self._unmap(old)
        for new in [wanted for wanted in ranges if wanted not in self._mapped]:
            self._map(new)

    def _map(self, wanted: Range) -> None:
        if HOST.holds(wanted):
            self._pinned.map(wanted)
            self._mapped.append(wanted)
            return
        api, call = self._driver.api, self._driver.call
        handle = call(OutOfDeviceMemory, api.cuMemCreate, wanted.size, self._allocation_kind(), 0)
        try:
            call(DeviceError, api.cuMemMap, wanted.address, wanted.size, 0, handle, 0)
        finally:
            call(DeviceError, api.cuMemRelease, handle)  # the mapping keeps the memory
        self._mapped.append(wanted)
        access = api.CUmemAccessDesc()
        access.location.type = api.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        access.location.id = self._ordinal
        access.flags = api.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        call(DeviceError, api.cuMemSetAccess, wanted.address, wanted.size, [access], 1)

    def _unmap(self, held: Range) -> None:
        self.synchronise()
        if HOST.holds(held):
            self._pinned.unmap(held)
        else:
            self._driver.call(DeviceError, self._driver.api.cuMemUnmap, held.address, held.size)
        self._mapped.remove(held)

    def free_memory(self) -> int:
        """What the driver says is free."""
        free, _ = self._driver.call(DeviceError, self._driver.api.cuMemGetInfo)
        return int(free)

    def allocate(self, size: int) -> int:
        """Plain device memory."""
        return int(self._driver.call(OutOfDeviceMemory, self._driver.api.cuMemAlloc, max(size, 1)))

    def release(self, address: int) -> None:
        """Free what ``allocate`` gave."""
        self._driver.call(DeviceError, self._driver.api.cuMemFree, address)

    def staging(self, size: int) -> npt.NDArray[np.uint8]:
        """Pinned memory where there is much to upload, which pays for making it; kept for the next time."""
        if size < _PINNED_FROM:
            return np.empty(size, np.uint8)
        if size > len(self._staging):
            self._release_staging()
            self._staging = self._pinned_memory(size)
        return self._staging[:size]

    def _pinned_memory(self, size: int) -> npt.NDArray[np.uint8]:
        try:
            address = int(self._driver.call(OutOfDeviceMemory, self._driver.api.cuMemHostAlloc, size, 0))
        except OutOfDeviceMemory:  # the host limits what may be locked: then it is slower
            return np.empty(size, np.uint8)
        self._staging_address = address
        return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))

    def _release_staging(self) -> None:
        self._staging = np.empty(0, np.uint8)
        if self._staging_address:
            self._driver.call(DeviceError, self._driver.api.cuMemFreeHost, self._staging_address)
            self._staging_address = 0

    def upload(self, address: int, data: npt.NDArray[np.uint8]) -> None:
        """Copy from the host; returns when ``data`` may change."""
        if len(data):
            self._driver.call(DeviceError, self._driver.api.cuMemcpyHtoD, address, data.ctypes.data, data.nbytes)

    def download(self, address: int, size: int) -> bytes:
        """Copy to the host, after all work before it."""
        target = np.empty(size, np.uint8)
        if size:
            self._driver.call(DeviceError, self._driver.api.cuMemcpyDtoH, target.ctypes.data, address, size)
        return target.tobytes()

    def copy(self, destination: int, source: int, size: int) -> None:
        """Queue a copy on the device."""
        if size:
            self._driver.call(DeviceError, self._driver.api.cuMemcpyDtoDAsync, destination, source, size, 0)

    def copy_pages(self, destination: int, source: int, size: int, pages: Range) -> None:
        """Queue one kernel that copies a page a block."""
        count = pages.size // 4
        if count:
            self._copy_pages.launch(_page_geometry(count), _words(destination, source, size, pages.address, count))

    def fill(self, address: int, value: int, size: int) -> None:
        """Queue a fill."""
        if size:
            self._driver.call(DeviceError, self._driver.api.cuMemsetD8Async, address, value, size, 0)

    def differences(self, left: int, right: int, size: int) -> list[Range]:
        """Compare on the device; only a flag a page comes to the host."""
        if size == 0:
            return []
        pages = -(-size // PAGE)
        flags = self._flags_buffer(pages)
        self._differences.launch(_page_geometry(pages), _words(left, right, size, flags))
        return merge_pages(self.download(flags, pages), size)

    def count_differences(self, left: int, right: int, size: int) -> int:
        """Count on the device."""
        if size == 0:
            return 0
        total = self._flags_buffer(_COUNTER)
        self.fill(total, 0, _COUNTER)
        self._count_differences.launch(_page_geometry(-(-size // PAGE)), _words(left, right, size, total))
        return int.from_bytes(self.download(total, _COUNTER), "little")

    def _flags_buffer(self, pages: int) -> int:
        address, held = self._flags
        if held < pages:
            if held:
                self.release(address)
            self._flags = (0, 0)
            self._flags = (self.allocate(pages), pages)
        return self._flags[0]

    def load(self, path: Path) -> CudaCode:
        """Load a cubin."""
        return CudaCode(self._driver, path.read_bytes())

    def mark(self) -> CudaMark:
        """Record an event."""
        return CudaMark(self._driver)

    def hold(self, nanoseconds: int) -> None:
        """Spin on one thread of the GPU."""
        self._hold.launch(Geometry((1, 1, 1), (1, 1, 1), 0), _words(nanoseconds))

    def flush_l2(self) -> None:
        """Read several times the cache's size: written lines would burden the launch that comes next."""
        size = _SWEEPS * self._properties.l2
        if self._zeros is None:
            self._zeros = self.allocate(size + PAGE)
            self.fill(self._zeros, 0, size + PAGE)
        geometry = Geometry((_SWEEP_BLOCKS, 1, 1), (1024, 1, 1), 0)
        self._sweep.launch(geometry, _words(self._zeros, size // _VECTOR, self._zeros + size))

    def synchronise(self) -> None:
        """Wait for all work; what went wrong in it surfaces here."""
        self._driver.call(DeviceFault, self._driver.api.cuCtxSynchronize)

    def readings(self) -> dict[str, int]:
        """Clocks and temperature from NVML, nothing where it is missing."""
        try:
            import pynvml

            pynvml.nvmlInit()
            # By UUID: NVML counts all GPUs, CUDA only the visible ones.
            handle = pynvml.nvmlDeviceGetHandleByUUID(self._uuid().encode())
            return {
                "sm_clock_mhz": int(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)),
                "memory_clock_mhz": int(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM)),
                "temperature_c": int(pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)),
            }
        except Exception:  # readings are a courtesy: no measurement depends on them
            return {}

    def close(self) -> None:
        """Unmap everything and let the context go."""
        api, call = self._driver.api, self._driver.call
        self.map([])
        for held in self._reservations:
            if HOST.holds(held):
                self._pinned.release(held)
            else:
                call(DeviceError, api.cuMemAddressFree, held.address, held.size)
        self._reservations.clear()
        self._release_staging()
        self._own_code.unload()
        call(DeviceError, api.cuDevicePrimaryCtxRelease, self._device)
