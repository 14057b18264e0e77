"""What ``r3-clang`` put into a program or a library (docs/binary-format.md)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from r3cc.errors import R3Error
from r3cc.store.elf import ElfFile, Note

DESCRIPTOR = struct.Struct("<IIqqQqQ32s")
VERSION = 1
NOTE_NAME = b"R3"
NOTE_TYPE = 1
RELOCATABLE_DEVICE_CODE = 1
TUNED = 2
WRAPPER_FIELD, BITCODE_FIELD, JSON_FIELD = 8, 16, 32
"""Offsets of the descriptor's fields that hold a distance from themselves."""


@dataclass(frozen=True)
class EmbeddedModule:
    """One device module of one architecture in a binary."""

    bitcode: bytes
    """Empty in a tuned build."""
    info: dict[str, Any]
    """The JSON of docs/binary-format.md."""
    relocatable: bool
    """Built with -fgpu-rdc."""
    tuned: bool
    """Built with --r3-use."""
    wrapper: int | None
    """Virtual address of the fat-binary wrapper; None under -fgpu-rdc."""
    fat_binary_digest: str
    """SHA-256 of the fat binary, in hex."""

    @property
    def profile(self) -> str:
        """SHA-256 of the profile that a tuned build took, in hex; empty for a plain one."""
        return str(self.info.get("profile", {}).get("sha256", ""))


def read_binary(path: Path) -> list[EmbeddedModule]:
    """Modules that a binary carries, in the order of its notes; empty if it carries none.

    Raises R3Error for a file that is no ELF program or library, for a damaged one, and for a note of a newer version.
    """
    with ElfFile(path) as file:
        return [_module(file, note) for note in file.notes() if (note.name, note.type) == (NOTE_NAME, NOTE_TYPE)]


def _module(file: ElfFile, note: Note) -> EmbeddedModule:
    if len(note.descriptor) < DESCRIPTOR.size:
        raise R3Error(f"{file.path} is damaged: an R3 note has {len(note.descriptor)} bytes")
    version, flags, wrapper, bitcode, bitcode_size, json, json_size, digest = DESCRIPTOR.unpack_from(note.descriptor)
    if version > VERSION:
        raise R3Error(f"{file.path} has an R3 note of version {version}, this R3 reads up to {VERSION}; use a newer R3")
    content = file.read(note.address + JSON_FIELD + json, json_size)
    return EmbeddedModule(
        bitcode=file.read(note.address + BITCODE_FIELD + bitcode, bitcode_size),
        info=_info(file.path, content),
        relocatable=bool(flags & RELOCATABLE_DEVICE_CODE),
        tuned=bool(flags & TUNED),
        wrapper=note.address + WRAPPER_FIELD + wrapper if wrapper else None,
        fat_binary_digest=digest.hex(),
    )


def _info(path: Path, content: bytes) -> dict[str, Any]:
    try:
        text = zstandard.ZstdDecompressor().decompress(content)
        return msgspec.json.decode(text, type=dict[str, Any])
    except (zstandard.ZstdError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise R3Error(f"{path} is damaged: the description of a module cannot be read: {error}") from None
