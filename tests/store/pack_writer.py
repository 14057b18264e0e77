"""Writes packs as docs/store-format.md says: an independent second writer, for tests of the reader."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import msgspec
import xxhash
import zstandard

from r3cc.store.model import Recording
from r3cc.store.recordings import Recordings

CHUNK_SIZE = 262_144
ZERO = bytes(16)


def record(kind: int, content: bytes) -> bytes:
    """One record: header and payload."""
    payload = zstandard.ZstdCompressor().compress(content)
    checked = b"R3PK" + struct.pack("<IQ", kind, len(payload)) + xxhash.xxh3_128_digest(content)
    checksum = struct.pack("<Q", xxhash.xxh3_64_intdigest(checked + payload))
    return checked + checksum + payload


class PackWriter:
    """Appends records to one pack."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        self._known: set[bytes] = set()

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    def chunk(self, content: bytes) -> str:
        """Store content once; gives its key."""
        key = xxhash.xxh3_128_digest(content)
        if key not in self._known:
            self._append(record(1, content))
            self._known.add(key)
        return key.hex()

    def image(self, content: bytes) -> str:
        """Store a memory image; gives its key."""
        keys = []
        for start in range(0, len(content), CHUNK_SIZE):
            chunk = content[start : start + CHUNK_SIZE]
            keys.append(bytes.fromhex(self.chunk(chunk)) if any(chunk) else ZERO)
        return self.chunk(b"".join(keys))

    def document(self, kind: str, **fields: Any) -> None:
        self._append(record(2, json.dumps({"kind": kind, **fields}).encode()))

    def process(self, **fields: Any) -> None:
        known: dict[str, Any] = {
            "pid": 4242,
            "host": "node1",
            "executable": "/apps/app",
            "arguments": ["app", "input.nml"],
            "rank": None,
            "start": "2026-01-02T03:04:05Z",
            "device": "cpu",
            "device_name": "host",
            "architecture": "x86-64",
            "driver": "",
            "arena_base": "0x600000000000",
            "arena_size": 1 << 40,
        }
        self.document("process", **(known | fields))

    def module(self, bitcode: bytes, **info: Any) -> str:
        module = hashlib.sha256(bitcode).hexdigest()
        self.document("module", module=module, bitcode=self.chunk(bitcode), info=info, binary="/apps/app")
        return module

    def kernel(self, module: str, name: str, **fields: Any) -> None:
        known: dict[str, Any] = {
            "launches": 10,
            "total_ns": 1000,
            "timed": 10,
            "recorded": 1,
            "not_recordable": [],
            "shapes": [],
        }
        self.document("kernel", module=module, name=name, **(known | fields))

    def launch(self, module: str, name: str, number: int = 0, **fields: Any) -> str:
        identifier = f"{self.path.stem}/{number}"
        known: dict[str, Any] = {
            "ordinal": number,
            "grid": [4, 1, 1],
            "block": [128, 1, 1],
            "shared": 0,
            "held_out": False,
            "identity": "0" * 32,
            "device": "cpu",
            "time_ns": 100,
            "snapshot": "reachable",
            "arguments": "",
            "parameters": [],
            "regions": [],
            "globals": [],
        }
        self.document("launch", launch=identifier, module=module, name=name, **(known | fields))
        return identifier

    def end(self) -> None:
        self.document("end", launches=10, recorded=1, recording_ns=1000, wall_ns=100_000)

    def _append(self, content: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(content)


def add_recording(store: Path, identifier: str = "20260102-030405-abcd", **fields: Any) -> Path:
    """Make a recording that has ended well; gives its folder."""
    known = Recording(
        id=identifier,
        command=("app", "input.nml"),
        start="2026-01-02T03:04:05+00:00",
        wall_ns=2_000_000_000,
        host="node1",
        device="cpu",
        exit_status=0,
    )
    folder = store / "recordings" / identifier
    folder.mkdir(parents=True, exist_ok=True)
    Recordings(store / "recordings").write(msgspec.structs.replace(known, **fields))
    return folder
