"""The hand-off between the compiler's processes (passes/common/handoff.h): a file in memory."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Self

import msgspec

FD_VARIABLE = "R3_HANDOFF_FD"
FILE_NAME = "r3-handoff"
_MAGIC = 0x4F483352
_COMMAND, _MODULE = 1, 2
_HEADER = struct.Struct("<III")
_SIZE = struct.Struct("<Q")


class CapturedModule(msgspec.Struct, frozen=True):
    """A device module at the capture point, with its JSON (docs/binary-format.md)."""

    bitcode: bytes
    info: dict[str, Any]


class Handoff:
    """One compilation's hand-off; close it."""

    def __init__(self, directory: str, command: Sequence[str]) -> None:
        """``directory`` and ``command`` are what the module's JSON shall name."""
        self.fd = os.memfd_create(FILE_NAME, 0)
        os.write(self.fd, _encode(_COMMAND, [directory, *command]))

    @property
    def environment(self) -> dict[str, str]:
        """What tells the plugin."""
        return {FD_VARIABLE: str(self.fd)}

    def module(self) -> CapturedModule | None:
        """The module that a compilation put there; None if it came to none."""
        size = os.fstat(self.fd).st_size
        for kind, fields in _records(os.pread(self.fd, size, 0)):
            if kind == _MODULE and len(fields) == 4:
                return CapturedModule(fields[3], msgspec.json.decode(fields[2]))
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)


def _encode(kind: int, fields: Sequence[str]) -> bytes:
    parts = [_HEADER.pack(_MAGIC, kind, len(fields))]
    for field in fields:
        data = field.encode(errors="surrogateescape")
        parts += [_SIZE.pack(len(data)), data]
    return b"".join(parts)


def _records(data: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """All complete records; what follows a damaged one is left out."""
    at = 0
    while at + _HEADER.size <= len(data):
        magic, kind, count = _HEADER.unpack_from(data, at)
        at += _HEADER.size
        if magic != _MAGIC:
            return
        fields = []
        for _ in range(count):
            if at + _SIZE.size > len(data):
                return
            (size,) = _SIZE.unpack_from(data, at)
            at += _SIZE.size
            if at + size > len(data):
                return
            fields.append(data[at : at + size])
            at += size
        yield kind, fields
