"""Chunks and memory images of a store."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from r3cc.errors import R3Error
from r3cc.store.index import Index
from r3cc.store.pack import DamagedRecord, PackReader, Record

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CHUNK_SIZE = 256 * 1024
KEY_SIZE = 16
ZERO_KEY = bytes(KEY_SIZE)
"""Stands for a chunk of zero bytes, which is never stored."""

CACHE_BYTES = 256 << 20
LARGEST_CACHED = CACHE_BYTES // 4
OPEN_PACKS = 64
READERS = 16
BATCH = 16
"""Chunks that a thread reads at a time; parts of images that have more are read by several threads."""

Bytes: TypeAlias = "npt.NDArray[np.uint8]"


class _Piece(NamedTuple):
    """What is wanted of a chunk."""

    key: bytes
    size: int
    """Of the whole chunk."""
    start: int
    """Of what is wanted."""
    target: Bytes


class ChunkReader:
    """Reads content by key; keeps packs open and the last chunks in memory; safe to use from several threads.

    Chunks of large parts of images go from the pack to where they are wanted, past that memory: it would not hold them.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._lock = threading.Lock()
        self._packs: OrderedDict[Path, PackReader] = OrderedDict()
        self._cache: OrderedDict[bytes, bytes] = OrderedDict()
        self._cached = 0
        self._readers = ThreadPoolExecutor(min(READERS, os.cpu_count() or 1), thread_name_prefix="r3-chunks")

    def blob(self, key: str) -> bytes:
        """Content of a chunk; raises R3Error when no pack has it intact."""
        return self._content(_key_bytes(key))

    def image(self, key: str, size: int) -> Bytes:
        """A memory image of ``size`` bytes as a new writable array; raises R3Error when a chunk is missing."""
        return self.part(key, size, 0, size)

    def part(self, key: str, size: int, start: int, length: int) -> Bytes:
        """Bytes [start, start + length) of a memory image of ``size`` bytes, as a new writable array."""
        import numpy as np  # here, for its import would double the start-up time of the verbs that read no memory

        out = np.empty(length, np.uint8)
        self.read_part(key, size, start, out)
        return out

    def read_part(self, key: str, size: int, start: int, out: Bytes) -> None:
        """Fill ``out`` with what a memory image of ``size`` bytes holds from ``start`` on."""
        pieces = list(self._pieces(key, size, start, out))
        if len(pieces) <= BATCH:
            for piece in pieces:
                self._copy(piece)
            return
        places = self._index.places({piece.key for piece in pieces} - {ZERO_KEY})
        batches = [pieces[at : at + BATCH] for at in range(0, len(pieces), BATCH)]
        list(self._readers.map(self._decompress, batches, repeat(places)))

    def chunk_keys(self, key: str, size: int) -> list[bytes]:
        """Keys of the chunks that make up an image of ``size`` bytes, in order."""
        keys = self._chunk_list(key, size)
        count = -(-size // CHUNK_SIZE)
        return [keys[number * KEY_SIZE : (number + 1) * KEY_SIZE] for number in range(count)]

    def _chunk_list(self, key: str, size: int) -> bytes:
        """Keys of an image's chunks, one behind the other."""
        count = -(-size // CHUNK_SIZE)
        if _key_bytes(key) == ZERO_KEY:
            return bytes(KEY_SIZE * count)
        keys = self.blob(key)
        if len(keys) != count * KEY_SIZE:
            raise R3Error(f"the memory image {key} has {len(keys) // KEY_SIZE} chunks, {size} bytes need {count}")
        return keys

    def _pieces(self, key: str, size: int, start: int, out: Bytes) -> Iterator[_Piece]:
        keys = self._chunk_list(key, size)
        end = start + len(out)
        for number in range(start // CHUNK_SIZE, -(-end // CHUNK_SIZE)):
            begin = number * CHUNK_SIZE
            chunk_end = min(begin + CHUNK_SIZE, size)
            first, last = max(begin, start), min(chunk_end, end)
            chunk = keys[number * KEY_SIZE : (number + 1) * KEY_SIZE]
            yield _Piece(chunk, chunk_end - begin, first - begin, out[first - start : last - start])

    def close(self) -> None:
        """Close the packs and forget the chunks."""
        self._readers.shutdown(cancel_futures=True)
        with self._lock:
            self._packs.clear()
            self._cache.clear()
            self._cached = 0

    def _copy(self, piece: _Piece) -> None:
        if piece.key == ZERO_KEY:
            piece.target.fill(0)
        else:
            content = memoryview(self._chunk(piece.key, piece.size))
            piece.target.data[:] = content[piece.start : piece.start + len(piece.target)]

    def _decompress(self, pieces: Sequence[_Piece], places: Mapping[bytes, tuple[Path, Record]]) -> None:
        """Fill whole chunks in place; what is not, and what cannot be read where it stood, as a single one."""
        for piece in pieces:
            place = places.get(piece.key) if len(piece.target) == piece.size else None
            if place is None:
                self._copy(piece)
                continue
            path, record = place
            try:
                self._pack(path).read_content(record, piece.target)
            except (DamagedRecord, OSError):
                self._copy(piece)

    def _chunk(self, key: bytes, size: int) -> bytes:
        content = self._content(key)
        if len(content) != size:
            raise R3Error(f"the chunk {key.hex()} holds {len(content)} bytes where {size} were recorded")
        return content

    def _content(self, key: bytes) -> bytes:
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        content = self._load(key)
        with self._lock:
            self._keep(key, content)
        return content

    def _load(self, key: bytes) -> bytes:
        try:
            return self._find(key)
        except R3Error:  # `r3 store gc` may have replaced a pack
            with self._lock:
                self._packs.clear()
            self._index.refresh()
            return self._find(key)

    def _find(self, key: bytes) -> bytes:
        problem = "is in none of the store's packs"
        for path, record in self._index.chunk(key):
            try:
                return self._pack(path).content(record)
            except (DamagedRecord, OSError) as error:
                problem = f"in {path} cannot be read: {error}"
        raise R3Error(f"the chunk {key.hex()} {problem}; run `r3 store verify`")

    def _pack(self, path: Path) -> PackReader:
        with self._lock:
            reader = self._packs.get(path) or PackReader(path)
            self._packs[path] = reader
            self._packs.move_to_end(path)
            if len(self._packs) > OPEN_PACKS:
                self._packs.popitem(last=False)  # closed once the last thread that reads it lets go
            return reader

    def _keep(self, key: bytes, content: bytes) -> None:
        if key not in self._cache and len(content) <= LARGEST_CACHED:
            self._cache[key] = content
            self._cached += len(content)
        while self._cached > CACHE_BYTES:
            self._cached -= len(self._cache.popitem(last=False)[1])


def _key_bytes(key: str) -> bytes:
    try:
        content = bytes.fromhex(key)
    except ValueError:
        content = b""
    if len(content) != KEY_SIZE:
        raise R3Error(f"'{key}' is not a chunk key of 32 hex digits")
    return content
