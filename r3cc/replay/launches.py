"""Recorded launches as replay takes them: what to run, on which memory, and how much each one counts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from r3cc.store import Store
from r3cc.store.model import Kernel, Launch


class RecordedLaunch(msgspec.Struct, frozen=True):
    """A launch to replay."""

    launch: Launch
    weight: float
    """Launches of the application that this one stands for."""
    app_ns: float
    """Its device time in the application or its shape's median, whichever is less; 0 when neither was taken."""


class LaunchSource(Protocol):
    """Recorded launches of one kernel with their memory. Pickles small: device workers open it again."""

    def launches(self) -> tuple[RecordedLaunch, ...]:
        """Launches in recorded order, held-out ones among them."""
        ...

    def image(self, key: str, size: int) -> npt.NDArray[np.uint8]:
        """A memory image of ``size`` bytes."""
        ...

    def read_part(self, key: str, size: int, start: int, out: npt.NDArray[np.uint8]) -> None:
        """Fill ``out`` with what such an image holds from ``start`` on: large ones are never held whole."""
        ...

    def chunk_keys(self, key: str, size: int) -> list[bytes]:
        """Keys of an image's 256 KiB chunks, equal for equal content; empty where they are not known."""
        ...


class StoreLaunches:
    """Launches of a kernel in a capture store."""

    def __init__(self, path: Path, kernel: Kernel, recording: str) -> None:
        self._path = path
        self._kernel = kernel
        self._recording = recording
        self._store: Store | None = None

    def launches(self) -> tuple[RecordedLaunch, ...]:
        """Launches in recorded order, weighted by how often their shape ran."""
        recorded = self._opened().launches(self._kernel, self._recording)
        return weigh(recorded, self._kernel)

    def image(self, key: str, size: int) -> npt.NDArray[np.uint8]:
        """A memory image from the store's packs."""
        return self._opened().image(key, size)

    def read_part(self, key: str, size: int, start: int, out: npt.NDArray[np.uint8]) -> None:
        """A part of it."""
        self._opened().read_part(key, size, start, out)

    def chunk_keys(self, key: str, size: int) -> list[bytes]:
        """As the store has them."""
        return self._opened().chunk_keys(key, size)

    def _opened(self) -> Store:
        if self._store is None:
            self._store = Store.open(self._path)
        return self._store

    def __getstate__(self) -> tuple[Path, Kernel, str]:
        return self._path, self._kernel, self._recording

    def __setstate__(self, state: tuple[Path, Kernel, str]) -> None:
        self.__init__(*state)  # type: ignore[misc]


class SomeLaunches(msgspec.Struct, frozen=True):
    """Those of another source's launches that are named."""

    source: LaunchSource
    names: frozenset[str]

    def launches(self) -> tuple[RecordedLaunch, ...]:
        """The named ones, weighted as they are there."""
        return tuple(each for each in self.source.launches() if each.launch.launch in self.names)

    def image(self, key: str, size: int) -> npt.NDArray[np.uint8]:
        """The other source's."""
        return self.source.image(key, size)

    def read_part(self, key: str, size: int, start: int, out: npt.NDArray[np.uint8]) -> None:
        """The other source's."""
        self.source.read_part(key, size, start, out)

    def chunk_keys(self, key: str, size: int) -> list[bytes]:
        """The other source's."""
        return self.source.chunk_keys(key, size)


def weigh(recorded: list[Launch], kernel: Kernel) -> tuple[RecordedLaunch, ...]:
    """Share each shape's launches in the application among its recorded ones that are not held out.

    A recorded launch's own time is one sample on a device that was idle before and that others may use meanwhile: the
    median of the shape's launches caps it.
    """
    shapes = {(shape.grid, shape.block, shape.shared): shape for shape in kernel.shapes}
    counts = Counter((launch.grid, launch.block, launch.shared) for launch in recorded if not launch.held_out)
    weighed = []
    for launch in recorded:
        geometry = (launch.grid, launch.block, launch.shared)
        shape = shapes.get(geometry)
        typical = (shape.median_ns or shape.total_ns / max(shape.launches, 1)) if shape else 0.0
        weight = shape.launches / max(counts[geometry], 1) if shape else 1.0
        app_ns = min((float(time) for time in (launch.time_ns, typical) if time), default=0.0)
        weighed.append(RecordedLaunch(launch, max(weight, 1.0), app_ns))
    return tuple(weighed)
