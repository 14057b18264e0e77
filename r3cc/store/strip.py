"""Takes what R3's compilers put into a binary out of it again.

In a program or a library nothing moves: notes become empty ones, bitcode and JSON become zeros, of which whole pages
take no room on the disk. Objects and archives lose the sections (LLVM's objcopy).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from r3cc.errors import R3Error
from r3cc.store.binary import BITCODE_FIELD, DESCRIPTOR, JSON_FIELD, NOTE_NAME, NOTE_TYPE, read_binary
from r3cc.store.elf import HEADER, IDENT_64_LITTLE, NOTE_HEADER, RELOCATABLE, ElfFile, Note
from r3cc.toolchain.llvm import find_llvm_program

ARCHIVE = b"!<arch>\n"
THIN_ARCHIVE = b"!<thin>\n"
SECTIONS = (".note.r3", ".rela.note.r3", ".r3.bitcode", ".rela.r3.bitcode", ".r3.json", ".rela.r3.json")
BLOCK = 4096
NAME_BYTES = 4


class Stripped(msgspec.Struct, frozen=True):
    """What was taken out of one file."""

    notes: int
    """Of a program or a library; of objects and archives, sections are not counted: 0."""
    bytes: int
    """Bytes that hold nothing any more, or are gone."""


def strip(source: Path, target: Path) -> Stripped:
    """Write ``source`` without R3's part to ``target``, which may be the same file and appears whole or not at all.

    A link stays one: what it leads to is written. Raises R3Error for what is no ELF file or archive, for one that is
    cut short, and for a thin archive, whose objects are files of their own.
    """
    target = target.resolve()
    with source.open("rb") as file:
        magic = file.read(HEADER.size)
    if magic.startswith(THIN_ARCHIVE):
        raise R3Error(f"{source} is a thin archive: strip the object files that it names")
    if magic.startswith(ARCHIVE) or (magic.startswith(IDENT_64_LITTLE) and _kind(magic) == RELOCATABLE):
        return _strip_sections(source, target)
    return _strip_image(source, target)


def _kind(header: bytes) -> int:
    return int(HEADER.unpack(header)[1]) if len(header) == HEADER.size else 0


def _strip_sections(source: Path, target: Path) -> Stripped:
    tool = find_llvm_program("llvm-objcopy")
    if tool is None:
        raise R3Error("LLVM's llvm-objcopy was not found; `r3 doctor` says how to get LLVM")
    before = source.stat().st_size
    with _beside(target, source) as temporary:
        removals = [f"--remove-section={name}" for name in SECTIONS]
        command = [str(tool.path), *removals, str(source), str(temporary)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode != 0:
            raise R3Error(f"{source} cannot be stripped: {done.stderr.strip().splitlines()[-1]}")
        after = temporary.stat().st_size
        temporary.replace(target)
    return Stripped(0, max(0, before - after))


def _strip_image(source: Path, target: Path) -> Stripped:
    with ElfFile(source) as file:
        notes = [note for note in file.notes() if (note.name, note.type) == (NOTE_NAME, NOTE_TYPE)]
        changes = [change for note in notes for change in _changes(file, note)]
    content = bytearray(source.read_bytes())
    if any(offset + len(replacement) > len(content) for offset, replacement in changes):
        raise R3Error(f"{source} is cut short: it ends before what its note names")
    for offset, replacement in changes:
        content[offset : offset + len(replacement)] = replacement
    with _beside(target, source) as temporary:
        _write_sparse(temporary, content)
        if read_binary(temporary):
            raise R3Error(f"{source} still carries R3's notes after stripping; it is left as it was")
        temporary.replace(target)
    return Stripped(len(notes), sum(len(replacement) for _, replacement in changes))


def _changes(file: ElfFile, note: Note) -> Iterator[tuple[int, bytes]]:
    """File offsets and what shall stand there."""
    _, _, _, bitcode, bitcode_size, json, json_size, _ = DESCRIPTOR.unpack_from(note.descriptor)
    for field, distance, size in ((BITCODE_FIELD, bitcode, bitcode_size), (JSON_FIELD, json, json_size)):
        if size:
            yield file.offset(note.address + field + distance), bytes(size)
    start = file.offset(note.address) - NAME_BYTES - NOTE_HEADER.size
    rest = NAME_BYTES + len(note.descriptor)
    yield start, struct.pack("<III", 0, rest, 0) + bytes(rest)


def _write_sparse(path: Path, content: bytearray) -> None:
    """Blocks of zeros stay holes where the file system knows them."""
    view, empty = memoryview(content), bytes(BLOCK)
    with path.open("r+b") as file:
        for start in range(0, len(view), BLOCK):
            block = view[start : start + BLOCK]
            if block != empty[: len(block)]:
                file.seek(start)
                file.write(block)
        file.truncate(len(view))


@contextlib.contextmanager
def _beside(target: Path, source: Path) -> Iterator[Path]:
    """A new file in the target's folder with the source's mode, removed unless it took the target's place."""
    handle, name = tempfile.mkstemp(prefix=".r3-strip-", dir=target.absolute().parent)
    os.close(handle)
    path = Path(name)
    try:
        shutil.copymode(source, path)
        yield path
    finally:
        path.unlink(missing_ok=True)
