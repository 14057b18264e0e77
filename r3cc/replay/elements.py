"""Which element type each piece of recorded memory has, and how far its values may differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from r3cc.replay.facts import FLOATS
from r3cc.replay.model import Numerics
from r3cc.store.model import Launch

_FLOAT_TYPES: dict[str, Any] = {"double": np.float64, "float": np.float32, "half": np.float16}
_WORD_TYPES: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_INTEGERS: dict[str, int] = {"i64": 8, "i32": 4, "i16": 2, "i8": 1}


class Tolerance(msgspec.Struct, frozen=True):
    """How far a floating-point element may be from its reference."""

    rtol: float
    """Relative to the element."""
    atol: float
    """Absolute, in units of the buffer's largest finite magnitude unless ``absolute``."""
    norm: float
    """Relative, for the buffer's Euclidean norm."""
    absolute: bool = False
    """``atol`` is in the elements' own unit: the user gave it."""
    by_sensitivity: bool = True
    """Wider where the kernel itself moves further by rounding; not where the user gave a number."""

    def floor(self, scale: float) -> float:
        """Absolute tolerance in a buffer whose largest finite magnitude is ``scale``."""
        return self.atol if self.absolute else self.atol * scale


_ROUNDING = {
    "double": Tolerance(1e-9, 1e-13, 1e-11),
    "float": Tolerance(1e-4, 1e-6, 1e-5),
    "half": Tolerance(1e-2, 1e-3, 5e-3),
    "bfloat": Tolerance(5e-2, 1e-2, 2e-2),
}
_APPROX = {
    "double": Tolerance(1e-6, 1e-9, 1e-7),
    "float": Tolerance(1e-3, 1e-5, 1e-4),
    "half": Tolerance(3e-2, 3e-3, 1e-2),
    "bfloat": Tolerance(1e-1, 3e-2, 5e-2),
}


def tolerance(element: str, numerics: Numerics, rtol: float | None, atol: float | None) -> Tolerance | None:
    """Tolerance for an element type; None where only equal bytes will do."""
    if numerics is Numerics.BITWISE or element not in FLOATS:
        return None
    default = (_ROUNDING if numerics is Numerics.ROUNDING else _APPROX)[element]
    if rtol is None and atol is None:
        return default
    return Tolerance(
        rtol=default.rtol if rtol is None else rtol,
        atol=default.atol if atol is None else atol,
        norm=max(default.norm, rtol or 0.0) if atol is None else float("inf"),
        absolute=atol is not None,
        by_sensitivity=False,
    )


def size_of(element: str) -> int:
    """Bytes of an element."""
    return FLOATS.get(element) or _INTEGERS.get(element) or 1


def is_float(element: str) -> bool:
    """Whether elements are floating-point numbers."""
    return element in FLOATS


def floats(data: npt.NDArray[np.uint8], element: str) -> npt.NDArray[np.float64]:
    """Floating-point elements as doubles; ``data`` holds whole elements."""
    if element == "bfloat":
        return (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    values: npt.NDArray[np.float64] = data.view(_FLOAT_TYPES[element]).astype(np.float64)
    return values


def integers(data: npt.NDArray[np.uint8], element: str) -> npt.NDArray[np.float64]:
    """Signed integer elements as doubles: exact enough for how far they are apart; of bytes, nothing but zeros."""
    if element not in _INTEGERS:
        return np.zeros(len(data))
    values: npt.NDArray[np.float64] = data.view(f"i{_INTEGERS[element]}").astype(np.float64)
    return values


def words(data: npt.NDArray[np.uint8], element: str) -> npt.NDArray[Any]:
    """Elements as unsigned integers of their size, to compare bits."""
    return data.view(_WORD_TYPES[size_of(element)])


def region_elements(launch: Launch, parameters: Mapping[int, str]) -> dict[int, str]:
    """Element type of each region (by address) that parameters of one known type point into.

    ``parameters`` maps parameter indices to element types, as the IR's loads and stores show them; a struct's type
    holds for every pointer in it.
    """
    found: dict[int, set[str]] = {}
    for index, element in parameters.items():
        for pointer in _words(launch, index):
            for region in launch.regions:
                if region.address <= pointer < region.address + region.size:
                    found.setdefault(region.address, set()).add(element)
    return {address: next(iter(types)) for address, types in found.items() if len(types) == 1}


def _words(launch: Launch, index: int) -> list[int]:
    """What may be pointers in a parameter: its aligned 8-byte words."""
    if index >= len(launch.parameters):
        return []
    parameter = launch.parameters[index]
    starts = range(parameter.offset, parameter.offset + parameter.size - 7, 8)
    return [int.from_bytes(launch.arguments[start : start + 8], "little") for start in starts]
