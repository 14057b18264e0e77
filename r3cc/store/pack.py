"""Records of a pack file (docs/store-format.md, "Packs")."""

from __future__ import annotations

import enum
import os
import re
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import xxhash
import zstandard

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAGIC = b"R3PK"
_SEARCHED = 1 << 20
"""Bytes that are searched at a time."""
HEADER = struct.Struct("<4sIQ16s8s")
CHECKED = HEADER.size - 8
"""Header bytes that the checksum covers."""


class RecordType(enum.IntEnum):
    """What a record's payload is."""

    CHUNK = 1
    DOCUMENT = 2


_TYPES = {int(each): each for each in RecordType}


class Record(NamedTuple):
    """Where a record stands in its pack."""

    type: RecordType
    key: bytes
    offset: int
    """Of the header, in bytes from the pack's start."""
    size: int
    """Of the payload as stored."""

    @property
    def end(self) -> int:
        """Offset of what follows."""
        return self.offset + HEADER.size + self.size


@dataclass(frozen=True)
class Torn:
    """What ends a pack's readable part early: where, and why."""

    offset: int
    reason: str


class DamagedRecord(Exception):
    """A record's checksum or content is not what its header says."""


def content_key(content: bytes | memoryview) -> bytes:
    """XXH3-128 of uncompressed content, in its canonical form: 16 bytes."""
    return xxhash.xxh3_128_digest(content)


class PackReader:
    """Reads one pack through a file descriptor that it owns."""

    _file = -1
    """None yet, or none any more."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._own = threading.local()  # a decompressor serves one thread at a time, and is slow to make

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __del__(self) -> None:
        self.close()

    def size(self) -> int:
        """Bytes in the file now."""
        return os.fstat(self._file).st_size

    def scan(self, start: int = 0) -> Iterator[Record | Torn]:
        """Records from ``start`` on; a Torn comes last if the rest cannot be read.

        Only documents, and the last record before the end or before a Torn, have their checksum taken here;
        another chunk's is taken when it is read.
        """
        size = self.size()
        entry = self._header(start, size)
        while isinstance(entry, Record):
            following = self._header(entry.end, size)
            if entry.type is RecordType.DOCUMENT or not isinstance(following, Record):
                problem = self._problem(entry)
                if problem is not None:
                    yield problem
                    return
            yield entry
            entry = following
        if entry is not None:
            yield entry

    def hidden_behind(self, torn: Torn) -> Record | None:
        """The first intact record behind what cannot be read: then the pack was damaged, not cut off."""
        size, offset = self.size(), torn.offset + 1
        while block := os.pread(self._file, _SEARCHED, offset):
            for found in re.finditer(re.escape(MAGIC), block):
                record = self._header(offset + found.start(), size)
                if isinstance(record, Record) and self._problem(record) is None:
                    return record
            if len(block) < len(MAGIC):
                break
            offset += len(block) - len(MAGIC) + 1
        return None

    def content(self, record: Record) -> bytes:
        """Uncompressed content, checked against its key; raises DamagedRecord."""
        payload = os.pread(self._file, record.size, record.offset + HEADER.size)
        try:
            content = self._decompressor().decompress(payload)
        except zstandard.ZstdError as error:
            raise DamagedRecord(f"its payload cannot be decompressed: {error}") from None
        if content_key(content) != record.key:
            raise DamagedRecord("its content does not have its key")
        return content

    def read_content(self, record: Record, out: npt.NDArray[np.uint8]) -> None:
        """Fill ``out`` with uncompressed content of its length, checked against its key; raises DamagedRecord."""
        payload = os.pread(self._file, record.size, record.offset + HEADER.size)
        try:
            written = self._decompressor().stream_reader(payload).readinto(out)
        except zstandard.ZstdError as error:
            raise DamagedRecord(f"its payload cannot be decompressed: {error}") from None
        if written != len(out) or content_key(out.data) != record.key:
            raise DamagedRecord("its content does not have its key")

    def _decompressor(self) -> zstandard.ZstdDecompressor:
        if not hasattr(self._own, "decompressor"):
            self._own.decompressor = zstandard.ZstdDecompressor()
        decompressor: zstandard.ZstdDecompressor = self._own.decompressor
        return decompressor

    def stored(self, record: Record) -> bytes:
        """The whole record as it stands in the file, checked against its checksum; raises DamagedRecord."""
        stored = os.pread(self._file, HEADER.size + record.size, record.offset)
        digest = xxhash.xxh3_64(stored[:CHECKED])
        digest.update(memoryview(stored)[HEADER.size :])
        checksum = digest.intdigest().to_bytes(8, "little")
        if len(stored) != HEADER.size + record.size or checksum != stored[CHECKED : HEADER.size]:
            raise DamagedRecord("its checksum is wrong")
        return stored

    def _header(self, offset: int, size: int) -> Record | Torn | None:
        """What stands at an offset; None at the end."""
        if offset == size:
            return None
        if size - offset < HEADER.size:
            return Torn(offset, "the last record's header is cut off")
        magic, kind, length, key, _ = HEADER.unpack(os.pread(self._file, HEADER.size, offset))
        if magic != MAGIC:
            return Torn(offset, "a record does not begin with its magic")
        if kind not in _TYPES:
            return Torn(offset, f"a record has the unknown type {kind}")
        if length > size - offset - HEADER.size:
            return Torn(offset, "the last record's payload is cut off")
        return Record(_TYPES[kind], key, offset, length)

    def _problem(self, record: Record) -> Torn | None:
        try:
            self.stored(record)
        except DamagedRecord as error:
            return Torn(record.offset, f"a record is damaged: {error}")
        return None
