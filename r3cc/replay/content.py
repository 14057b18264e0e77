"""What recorded memory held, read piece by piece: large images are never whole in the host's memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from r3cc.devices.base import Range, cut
from r3cc.replay.launches import LaunchSource
from r3cc.store.images import CHUNK_SIZE

Bytes = npt.NDArray[np.uint8]
Item = TypeVar("Item")
Result = TypeVar("Result")

WINDOW = 32 << 20
"""Bytes that are read, uploaded or compared at a time; a multiple of every element's size."""

PIECE = 4 << 20
"""Bytes of which numbers are made at a time, which take a multiple of them; a multiple of every element's size."""

_READERS = 8
_AHEAD = 3
"""Parts that are read while another one is used."""


class Chunk(NamedTuple):
    """Some of a content, known by a key: equal keys and sizes are equal bytes."""

    start: int
    """Offset in the content."""
    size: int
    key: bytes


class Content(Protocol):
    """Bytes that can be read in parts."""

    @property
    def size(self) -> int:
        """Bytes in all."""
        ...

    def read(self, part: Range) -> Bytes:
        """Some of them; the array is not to be changed."""
        ...

    def read_into(self, part: Range, out: Bytes) -> None:
        """Some of them, written to memory of as many bytes."""
        ...

    def chunks(self) -> Iterator[Chunk]:
        """What is known of them without reading them, in order."""
        ...


class Held:
    """Bytes in the host's memory."""

    def __init__(self, data: Bytes) -> None:
        self._data = data

    @property
    def size(self) -> int:
        """Bytes in all."""
        return len(self._data)

    def read(self, part: Range) -> Bytes:
        """A view."""
        return self._data[part.address : part.end]

    def read_into(self, part: Range, out: Bytes) -> None:
        """A copy."""
        out[:] = self._data[part.address : part.end]

    def chunks(self) -> Iterator[Chunk]:
        """None."""
        return iter(())


class Recorded:
    """A recorded image."""

    def __init__(self, source: LaunchSource, key: str, size: int) -> None:
        self._source = source
        self._key = key
        self._size = size

    @property
    def size(self) -> int:
        """Bytes in all."""
        return self._size

    def read(self, part: Range) -> Bytes:
        """From the source."""
        out = np.empty(part.size, np.uint8)
        self.read_into(part, out)
        return out

    def read_into(self, part: Range, out: Bytes) -> None:
        """From the source."""
        self._source.read_part(self._key, self._size, part.address, out)

    def chunks(self) -> Iterator[Chunk]:
        """As the recording has them."""
        for number, key in enumerate(self._source.chunk_keys(self._key, self._size)):
            start = number * CHUNK_SIZE
            yield Chunk(start, min(CHUNK_SIZE, self._size - start), key)


class Layout:
    """Contents at their places in a larger range; what lies between them has one value in ``filled`` ranges, else 0."""

    def __init__(self, size: int, placed: Sequence[tuple[int, Content]], filled: Sequence[Range], value: int) -> None:
        """``placed``: offset and content."""
        self._size = size
        self._placed = placed
        self._filled = filled
        self._value = value

    @property
    def size(self) -> int:
        """Bytes in all."""
        return self._size

    def read(self, part: Range) -> Bytes:
        """Put together from what lies there."""
        for offset, content in self._placed:
            if Range(offset, content.size).holds(part):
                return content.read(Range(part.address - offset, part.size))
        out = np.empty(part.size, np.uint8)
        self.read_into(part, out)
        return out

    def read_into(self, part: Range, out: Bytes) -> None:
        """Put together from what lies there."""
        if not any(Range(offset, content.size).holds(part) for offset, content in self._placed):
            self._fill(part, out)
        for offset, content in self._placed:
            common = _common(Range(offset, content.size), part)
            if common.size:
                place = out[common.address - part.address : common.end - part.address]
                content.read_into(Range(common.address - offset, common.size), place)

    def _fill(self, part: Range, out: Bytes) -> None:
        out.fill(0)
        for each in self._filled:
            common = _common(each, part)
            out[common.address - part.address : common.end - part.address] = self._value

    def chunks(self) -> Iterator[Chunk]:
        """Of the contents."""
        for offset, content in sorted(self._placed, key=lambda pair: pair[0]):
            for start, size, key in content.chunks():
                yield Chunk(offset + start, size, key)


def windows(size: int) -> list[Range]:
    """Parts of at most ``WINDOW`` bytes, in order."""
    return list(cut([Range(0, size)], WINDOW))


def each_window(size: int, work: Callable[[Range], Result]) -> list[Result]:
    """What ``work`` makes of each window, several at a time, in order."""
    parts = windows(size)
    if len(parts) < 2:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(min(_READERS, os.cpu_count() or 1)) as pool:
        return list(pool.map(work, parts))


def several_at_once(
    work: Callable[[Item], Result], items: Iterable[Item], is_large: Callable[[Item], bool]
) -> Iterator[Result]:
    """What ``work`` makes of each item, in order; it works on a few large ones at once, in threads.

    Items are taken one by one, in the caller's thread.
    """
    waiting: deque[Callable[[], Result]] = deque()
    with ExitStack() as threads:
        pool: ThreadPoolExecutor | None = None  # made late: as a rule nothing is large
        for item in items:
            if not is_large(item):
                waiting.append(partial(work, item))
            else:
                pool = pool or threads.enter_context(ThreadPoolExecutor(min(_READERS, os.cpu_count() or 1)))
                waiting.append(pool.submit(work, item).result)
            if len(waiting) > _READERS:
                yield waiting.popleft()()
        while waiting:
            yield waiting.popleft()()


def read_ahead(
    content: Content, parts: Iterable[Range], memory: Callable[[int], Bytes]
) -> Iterator[tuple[Range, Bytes]]:
    """Windows of the parts with their bytes, in order; the next ones are read while one is used.

    ``memory`` gives host memory of a size in bytes; in it the bytes are until the next window is asked for.
    """
    pieces = list(cut(parts, WINDOW))
    if not pieces:
        return
    size, count = max(piece.size for piece in pieces), min(_AHEAD + 1, len(pieces))
    held = memory(size * count)
    free = deque(held[size * number : size * (number + 1)] for number in range(count))
    reading: deque[tuple[Range, Bytes, Future[None]]] = deque()
    with ThreadPoolExecutor(count) as pool:
        for piece in [*pieces, None]:
            while reading and (piece is None or not free):
                first, buffer, read = reading.popleft()
                read.result()
                yield first, buffer[: first.size]
                free.append(buffer)
            if piece is not None:
                buffer = free.popleft()
                reading.append((piece, buffer, pool.submit(content.read_into, piece, buffer[: piece.size])))


def _common(left: Range, right: Range) -> Range:
    start = max(left.address, right.address)
    return Range(start, max(min(left.end, right.end) - start, 0))
