"""Takes out of a store what nothing names any more, and what can be made again."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from r3cc.errors import R3Error
from r3cc.store import documents
from r3cc.store.cache_use import alone
from r3cc.store.model import Process, Recording
from r3cc.store.pack import HEADER, DamagedRecord, PackReader, Record, RecordType
from r3cc.store.store import Store

KEY = re.compile("[0-9a-f]{32}")
IMAGE_FIELDS = ("before", "after")
"""Fields that name a chunk list."""


class Collected(msgspec.Struct, frozen=True):
    """What was, or would be, freed; bytes."""

    packs: int
    """In packs: torn tails, replaced documents, chunks that no document names."""
    cache: int
    running: tuple[str, ...]
    """Recordings that were left alone because they may still be written."""
    cache_in_use: bool = False
    """The cache was left alone: something that runs has paths in it."""


def collect(store: Store) -> Collected:
    """Rewrite packs that hold waste, and empty the cache. Raises R3Error where another process does."""
    with alone(store.path / "gc") as only:
        if not only:  # both would write the same new packs
            raise R3Error(f"another `r3 store gc` is at work on {store.path}")
        collected = _survey(store, rewrite)
        with alone(store.cache) as unused:
            if not unused:
                return msgspec.structs.replace(collected, cache=0, cache_in_use=True)
            shutil.rmtree(store.cache, ignore_errors=True)
            return collected


def measure(store: Store) -> Collected:
    """What ``collect`` would free."""
    return _survey(store, waste)


def is_running(recording: Recording, processes: Iterable[Process]) -> bool:
    """Whether processes may still write to a recording; one of another host counts as running until it says its end."""
    if recording.exit_status is None and _may_run(recording.host, recording.pid):
        return True
    return any(not process.complete and _lives_here(process.host, process.pid) for process in processes)


def waste(path: Path) -> int:
    """Bytes of a pack that are not needed."""
    reader = PackReader(path)
    kept = sum(HEADER.size + record.size for record in _needed(reader))
    freed = reader.size() - kept
    reader.close()
    return freed


def rewrite(path: Path) -> int:
    """Replace a pack by one without waste; gives the bytes freed. The new file appears whole or not at all."""
    freed = waste(path)
    if freed:
        temporary = path.with_suffix(".new")
        reader = PackReader(path)
        with temporary.open("wb") as file:
            for record in _needed(reader):
                file.write(reader.stored(record))
            file.flush()
            os.fsync(file.fileno())
        reader.close()
        temporary.replace(path)
    return freed


def _survey(store: Store, treat: Callable[[Path], int]) -> Collected:
    freed, running = 0, []
    for recording in store.recordings():
        if is_running(recording, store.processes(recording.id)):
            running.append(recording.id)
            continue
        for path in store.recording_path(recording.id).glob("*.r3pack"):
            try:
                freed += treat(path)
            except DamagedRecord as error:
                raise R3Error(f"{path} is damaged: {error}; see `r3 store verify`") from None
    return Collected(freed, _tree_size(store.cache), tuple(running))


def _needed(reader: PackReader) -> list[Record]:
    """Records to keep, in order: each identity's last document, and the chunks that these reach."""
    records = list(_intact(reader))
    chunks = {record.key: record for record in records if record.type is RecordType.CHUNK}
    last: dict[tuple[str, str], tuple[Record, dict[str, Any]]] = {}
    for record in (record for record in records if record.type is RecordType.DOCUMENT):
        body = msgspec.json.decode(reader.content(record), type=dict[str, Any])
        last[documents.identity(body)] = record, body
    kept = {record.offset for record, _ in last.values()}
    for _, body in last.values():
        kept.update(chunks[key].offset for key in _reached(reader, chunks, body) if key in chunks)
    return [record for record in records if record.offset in kept]


def _intact(reader: PackReader) -> Iterator[Record]:
    """All records; raises DamagedRecord where dropping a torn tail would drop intact ones."""
    for record in reader.scan():
        if isinstance(record, Record):
            yield record
        elif hidden := reader.hidden_behind(record):
            raise DamagedRecord(f"{record.reason} at byte {record.offset}, and intact ones follow at {hidden.offset}")


def _reached(reader: PackReader, chunks: Mapping[bytes, Record], body: dict[str, Any]) -> Iterator[bytes]:
    """Keys that a document names, in whatever field, and those in the chunk lists among them."""
    for field, key in _keys(body, ""):
        yield key
        if field in IMAGE_FIELDS and key in chunks:
            content = reader.content(chunks[key])
            yield from (content[start : start + len(key)] for start in range(0, len(content), len(key)))


def _keys(value: Any, field: str) -> Iterator[tuple[str, bytes]]:
    """Every (field, key) in a JSON value."""
    if isinstance(value, dict):
        for name, entry in value.items():
            yield from _keys(entry, name)
    elif isinstance(value, list):
        for entry in value:
            yield from _keys(entry, field)
    elif isinstance(value, str) and KEY.fullmatch(value):
        yield field, bytes.fromhex(value)


def _may_run(host: str, pid: int) -> bool:
    return host != platform.node() or _lives_here(host, pid)


def _lives_here(host: str, pid: int) -> bool:
    return host == platform.node() and Path(f"/proc/{pid}").exists()


def _tree_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
