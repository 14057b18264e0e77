"""The JSON that says how imported kernels are launched, and on what (docs/mlir.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from r3cc.errors import R3Error
from r3cc.llvm import KernelDescription
from r3cc.store.model import Dim3

Element = Literal["f16", "f32", "f64", "i8", "i16", "i32", "i64", "index"]

_TYPES: dict[str, npt.DTypeLike] = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
}


class Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Initial content; the first that is given of these, else zeros."""

    fill: float | None = None
    uniform: tuple[float, float] | None = None
    """Lowest and highest of random values."""
    seed: int = 0
    values: tuple[float, ...] | None = None
    file: str | None = None
    """A ``.npy`` file, beside the JSON."""


class Argument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One argument in the source's words: memory with a shape, or a scalar."""

    type: Element
    memref: tuple[int, ...] | None = None
    """Shape of a memref, which the kernel gets as a descriptor: two pointers, an offset, sizes and strides."""
    pointer: tuple[int, ...] | None = None
    """Shape of memory that the kernel gets as a bare pointer."""
    value: float | int | None = None
    data: Data = Data()

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Of memory; None for a scalar."""
        return self.memref if self.memref is not None else self.pointer

    @property
    def size(self) -> int:
        """Bytes of its memory, 0 for a scalar."""
        return 0 if self.shape is None else math.prod(self.shape) * np.dtype(_TYPES[self.type]).itemsize

    def content(self, folder: Path) -> npt.NDArray[np.uint8]:
        """Its initial memory. Raises R3Error where a file or a list does not fit the shape."""
        assert self.shape is not None
        count, dtype = math.prod(self.shape), np.dtype(_TYPES[self.type])
        if self.data.file is not None:
            values = _file(folder / self.data.file)
        elif self.data.values is not None:
            values = np.array(self.data.values)
        elif self.data.uniform is not None:
            values = np.random.default_rng(self.data.seed).uniform(*self.data.uniform, count)
        else:
            values = np.full(count, self.data.fill or 0)
        if values.size != count:
            raise R3Error(f"an argument of shape {list(self.shape)} has {count} elements, its data {values.size}")
        return np.ascontiguousarray(values, dtype).reshape(-1).view(np.uint8)

    def words(self, address: int) -> list[bytes]:
        """What the kernel gets for it, parameter by parameter; ``address`` is that of its memory."""
        pointer = np.uint64(address).tobytes()
        if self.value is not None:
            return [np.array(self.value, _TYPES[self.type]).tobytes()]
        if self.memref is None:
            return [pointer]
        strides = [math.prod(self.memref[axis + 1 :]) for axis in range(len(self.memref))]
        return [pointer, pointer, *(np.int64(number).tobytes() for number in (0, *self.memref, *strides))]


class PlannedLaunch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One launch to make and to record."""

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Argument, ...]
    shared: int = 0
    """Dynamic shared bytes."""
    held_out: bool = False
    """Kept from the search, for its last check."""


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    launches: tuple[PlannedLaunch, ...]
    architecture: str = "sm_90"


def read_plan(path: Path) -> Plan:
    """The plan of a file. Raises R3Error with what is wrong, and where."""
    try:
        plan = msgspec.json.decode(path.read_bytes(), type=Plan)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise R3Error(f"{path} is not a list of launches as docs/mlir.md says: {error}") from None
    if not plan.launches:
        raise R3Error(f"{path} names no launch")
    for launch in plan.launches:
        for argument in launch.arguments:
            given = [argument.memref, argument.pointer, argument.value]
            if sum(each is not None for each in given) != 1:
                raise R3Error(f"{path}: an argument of {launch.kernel} needs exactly one of memref, pointer and value")
    return plan


def dimensions(given: Sequence[int]) -> Dim3:
    """Three extents, missing ones 1. Raises R3Error for more, or for none that are positive."""
    if not 1 <= len(given) <= 3 or min(given) < 1:
        raise R3Error(f"{list(given)} is not one to three positive dimensions")
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z


def pack_arguments(kernel: KernelDescription, launch: PlannedLaunch, addresses: Sequence[int]) -> bytes:
    """The parameter buffer; ``addresses`` are those of the arguments' memory, 0 for scalars.

    Raises R3Error where the arguments are not those of the kernel.
    """
    words = [
        word for argument, address in zip(launch.arguments, addresses, strict=True) for word in argument.words(address)
    ]
    sizes = [parameter.size for parameter in kernel.parameters]
    if [len(word) for word in words] != sizes:
        raise R3Error(
            f"the arguments of {kernel.name} give {len(words)} parameters of {[len(word) for word in words]} bytes, "
            f"and the kernel has {len(sizes)} of {sizes}: memref or pointer, or another type?"
        )
    buffer = bytearray(max((each.offset + each.size for each in kernel.parameters), default=0))
    for parameter, word in zip(kernel.parameters, words, strict=True):
        buffer[parameter.offset : parameter.offset + parameter.size] = word
    return bytes(buffer)


def _file(path: Path) -> npt.NDArray[np.generic]:
    try:
        loaded: npt.NDArray[np.generic] = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise R3Error(f"{path} cannot be read as a .npy file: {error}") from None
    return loaded
