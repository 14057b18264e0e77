"""Writes packs (docs/store-format.md, "Packs") where a recording does not come from the recorder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import xxhash
import zstandard

from r3cc.store.pack import CHECKED, HEADER, MAGIC, RecordType, content_key

CHUNK_SIZE = 1 << 18
_ZERO = bytes(16)


class PackWriter:
    """Appends records to a new pack. Each is one write: what is written before a crash can be read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: set[bytes] = set()
        self._file = path.open("xb", buffering=0)

    def close(self) -> None:
        """No more records."""
        self._file.close()

    def blob(self, content: bytes) -> str:
        """Store content under its key, once; gives the key."""
        key = content_key(content)
        if key not in self._known:
            self._append(RecordType.CHUNK, key, content)
            self._known.add(key)
        return key.hex()

    def image(self, content: bytes) -> str:
        """Store a memory image; gives its name."""
        keys = []
        for start in range(0, len(content), CHUNK_SIZE):
            chunk = content[start : start + CHUNK_SIZE]
            keys.append(bytes.fromhex(self.blob(chunk)) if any(chunk) else _ZERO)
        return self.blob(b"".join(keys))

    def document(self, kind: str, **fields: Any) -> None:
        """Store a document."""
        content = msgspec.json.encode({"kind": kind, **fields})
        self._append(RecordType.DOCUMENT, content_key(content), content)

    def _append(self, kind: RecordType, key: bytes, content: bytes) -> None:
        payload = zstandard.ZstdCompressor().compress(content)
        header = HEADER.pack(MAGIC, kind, len(payload), key, bytes(8))[:CHECKED]
        checksum = xxhash.xxh3_64_intdigest(header + payload).to_bytes(8, "little")
        self._file.write(header + checksum + payload)
