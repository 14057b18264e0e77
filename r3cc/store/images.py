"""Chunks and memory images of a store."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from r3cc.errors import R3Error
from r3cc.store.index import Index
from r3cc.store.pack import DamagedRecord, PackReader

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CHUNK_SIZE = 256 * 1024
KEY_SIZE = 16
ZERO_KEY = bytes(KEY_SIZE)
"""Stands for a chunk of zero bytes, which is never stored."""

CACHE_BYTES = 256 << 20
OPEN_PACKS = 64
READERS = 8
PARALLEL_ABOVE = 16
"""Chunks of an image from which on several threads decompress it."""


class ChunkReader:
    """Reads content by key; keeps packs open and the last chunks in memory; safe to use from several threads."""

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

    def image(self, key: str, size: int) -> npt.NDArray[np.uint8]:
        """A memory image of ``size`` bytes as a new writable array; raises R3Error when a chunk is missing."""
        import numpy as np  # here, for its import would double the start-up time of the verbs that read no memory

        image = np.empty(size, np.uint8)
        if size:
            self.read_image(key, image.data)
        return image

    def read_image(self, key: str, out: memoryview) -> None:
        """Write a memory image into ``out``, whose length is the image's size in bytes."""
        out = out.cast("B")
        keys = self.chunk_keys(key, len(out))
        parts = [out[start : start + CHUNK_SIZE] for start in range(0, len(out), CHUNK_SIZE)]
        if len(keys) <= PARALLEL_ABOVE:
            for chunk, part in zip(keys, parts, strict=True):
                self._fill(chunk, part)
        else:
            list(self._readers.map(self._fill, keys, parts))

    def part(self, key: str, size: int, start: int, length: int) -> npt.NDArray[np.uint8]:
        """Bytes [start, start + length) of a memory image of ``size`` bytes, as a new writable array."""
        import numpy as np  # as in image

        keys = self.chunk_keys(key, size)
        out = np.empty(length, np.uint8)
        chunks = range(start // CHUNK_SIZE, -(-(start + length) // CHUNK_SIZE))

        def fill(number: int) -> None:
            begin = number * CHUNK_SIZE
            end = min(begin + CHUNK_SIZE, size)
            first, last = max(begin, start), min(end, start + length)
            target = out[first - start : last - start]
            if keys[number] == ZERO_KEY:
                target[:] = 0
            else:
                content = np.frombuffer(self._chunk(keys[number], end - begin), np.uint8)
                target[:] = content[first - begin : last - begin]

        if len(chunks) <= PARALLEL_ABOVE:
            for number in chunks:
                fill(number)
        else:
            list(self._readers.map(fill, chunks))
        return out

    def chunk_keys(self, key: str, size: int) -> list[bytes]:
        """Keys of the chunks that make up an image of ``size`` bytes, in order."""
        count = -(-size // CHUNK_SIZE)
        if _key_bytes(key) == ZERO_KEY:
            return [ZERO_KEY] * count
        keys = self.blob(key)
        if len(keys) != count * KEY_SIZE:
            raise R3Error(f"the memory image {key} has {len(keys) // KEY_SIZE} chunks, {size} bytes need {count}")
        return [keys[start : start + KEY_SIZE] for start in range(0, len(keys), KEY_SIZE)]

    def close(self) -> None:
        """Close the packs and forget the chunks."""
        self._readers.shutdown(cancel_futures=True)
        with self._lock:
            self._packs.clear()
            self._cache.clear()
            self._cached = 0

    def _fill(self, key: bytes, part: memoryview) -> None:
        part[:] = bytes(len(part)) if key == ZERO_KEY else self._chunk(key, len(part))

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
        if key not in self._cache and len(content) <= CHUNK_SIZE:
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
