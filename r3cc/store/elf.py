"""The little of ELF that R3 reads: program headers, notes, needed libraries. Sections may be stripped."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from r3cc.closing import Closing
from r3cc.errors import R3Error

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
NOTE_HEADER = struct.Struct("<III")
DYNAMIC_ENTRY = struct.Struct("<qQ")

IDENT_64_LITTLE = b"\x7fELF\x02\x01"
RELOCATABLE = 1
LOAD, DYNAMIC, INTERPRETER, NOTE = 1, 2, 3, 4
NEEDED, STRING_TABLE = 1, 5


@dataclass(frozen=True)
class Segment:
    """One program header."""

    type: int
    offset: int
    address: int
    file_size: int
    memory_size: int


@dataclass(frozen=True)
class Note:
    """One ELF note; ``address`` is that of its descriptor."""

    name: bytes
    type: int
    address: int
    descriptor: bytes


class ElfFile(Closing):
    """A 64-bit little-endian executable or shared library; use it as a context manager.

    Raises R3Error for another kind of file, and wherever the file's own offsets lead out of it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise R3Error(f"{path} is empty") from None
        except OSError as error:
            raise R3Error(f"cannot read {path}: {error.strerror}") from None
        self.segments = list(self._read_segments())

    def close(self) -> None:
        """Unmap the file."""
        self._bytes.close()

    @property
    def interpreter(self) -> Path | None:
        """The dynamic loader that the program asks for; None for a library or a fully static program."""
        for segment in self._of_type(INTERPRETER):
            return Path(self._slice(segment.offset, segment.file_size).rstrip(b"\0").decode())
        return None

    @property
    def dynamic(self) -> bool:
        """Whether the file takes part in dynamic linking at all."""
        return any(True for _ in self._of_type(DYNAMIC))

    def needed(self) -> list[str]:
        """Names of the shared libraries that the file asks for, in order."""
        entries = list(self._dynamic_entries())
        table = next((value for tag, value in entries if tag == STRING_TABLE), None)
        if table is None:
            return []
        return [self._string(table + value) for tag, value in entries if tag == NEEDED]

    def notes(self) -> Iterator[Note]:
        """Every note of the file's note segments."""
        for segment in self._of_type(NOTE):
            position, end = 0, segment.file_size
            while position + NOTE_HEADER.size <= end:
                name_size, size, kind = NOTE_HEADER.unpack(self._slice(segment.offset + position, NOTE_HEADER.size))
                name = position + NOTE_HEADER.size
                descriptor = name + _padded(name_size)
                yield Note(
                    self._slice(segment.offset + name, name_size).rstrip(b"\0"),
                    kind,
                    segment.address + descriptor,
                    self._slice(segment.offset + descriptor, size),
                )
                position = descriptor + _padded(size)

    def read(self, address: int, size: int) -> bytes:
        """Bytes at a virtual address, as the file holds them."""
        return self._slice(self.offset(address), size)

    def offset(self, address: int) -> int:
        """Where in the file a virtual address lies."""
        for segment in self._of_type(LOAD):
            if segment.address <= address < segment.address + segment.file_size:
                return segment.offset + address - segment.address
        raise R3Error(f"{self.path} is damaged: the file holds nothing for address {address:#x}")

    def _slice(self, offset: int, size: int) -> bytes:
        content = self._bytes[offset : offset + size]
        if len(content) != size:
            raise R3Error(f"{self.path} is damaged: it ends before byte {offset + size}")
        return content

    def _string(self, address: int) -> str:
        start = self.offset(address)
        end = self._bytes.find(b"\0", start)
        return self._slice(start, end - start).decode() if end >= 0 else ""

    def _of_type(self, kind: int) -> Iterator[Segment]:
        return (segment for segment in self.segments if segment.type == kind)

    def _dynamic_entries(self) -> Iterator[tuple[int, int]]:
        for segment in self._of_type(DYNAMIC):
            size = segment.file_size - segment.file_size % DYNAMIC_ENTRY.size
            yield from DYNAMIC_ENTRY.iter_unpack(self._slice(segment.offset, size))

    def _read_segments(self) -> Iterator[Segment]:
        if self._bytes[:6] != IDENT_64_LITTLE or len(self._bytes) < HEADER.size:
            raise R3Error(f"{self.path} is not a 64-bit little-endian ELF program or library")
        header = HEADER.unpack(self._bytes[: HEADER.size])
        kind, table, entry_size, count = header[1], header[5], header[9], header[10]
        if kind == RELOCATABLE:
            raise R3Error(f"{self.path} is an object file; name the program or the library that it is linked into")
        for number in range(count):
            fields = PROGRAM_HEADER.unpack(self._slice(table + number * entry_size, PROGRAM_HEADER.size))
            yield Segment(fields[0], fields[2], fields[3], fields[5], fields[6])


def is_elf(path: Path) -> bool:
    """Whether a file begins as ELF files do."""
    with path.open("rb") as file:
        return file.read(4) == IDENT_64_LITTLE[:4]


def _padded(size: int) -> int:
    return (size + 3) & ~3
