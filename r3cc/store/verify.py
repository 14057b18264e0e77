"""Full check of a store: every record's checksum and key, and every chunk that a launch or module names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from r3cc.errors import R3Error
from r3cc.store.model import Launch
from r3cc.store.pack import DamagedRecord, PackReader, RecordType, Torn
from r3cc.store.store import Store


class TornTail(msgspec.Struct, frozen=True):
    """The end of a pack that a killed process left behind."""

    offset: int
    bytes: int
    reason: str


class PackReport(msgspec.Struct, frozen=True):
    """What a pack holds, and what is wrong with it."""

    recording: str
    pack: str
    chunks: int
    documents: int
    bytes: int
    torn: TornTail | None
    damaged: tuple[str, ...]
    """A sentence for each record whose content is not what it says."""


class StoreReport(msgspec.Struct, frozen=True):
    """Everything that was checked."""

    packs: tuple[PackReport, ...]
    missing: tuple[str, ...]
    """A sentence for each launch or module whose memory or bitcode cannot be read."""
    killed: tuple[str, ...]
    """Packs of processes that did not end by themselves."""

    @property
    def sound(self) -> bool:
        """Whether everything that is complete can be read; a torn tail is not damage."""
        return not self.missing and not any(pack.damaged for pack in self.packs)


def verify(store: Store) -> StoreReport:
    """Read the whole store."""
    recordings = [recording.id for recording in store.recordings()]
    packs = [
        check_pack(identifier, path)
        for identifier in recordings
        for path in sorted(store.recording_path(identifier).glob("*.r3pack"))
    ]
    missing = [problem for identifier in recordings for problem in _missing(store, identifier)]
    processes = [process for identifier in recordings for process in store.processes(identifier)]
    return StoreReport(tuple(packs), tuple(missing), tuple(p.pack for p in processes if not p.complete))


def check_pack(recording: str, path: Path) -> PackReport:
    """Read one pack with every checksum and key."""
    reader = PackReader(path)
    size, torn = reader.size(), None
    counts = dict.fromkeys(RecordType, 0)
    damaged = []
    for record in reader.scan():
        if isinstance(record, Torn):
            hidden = reader.hidden_behind(record)
            if hidden is None:
                torn = TornTail(record.offset, size - record.offset, record.reason)
            else:
                damaged.append(f"bytes {record.offset} to {hidden.offset}, which hide what follows: {record.reason}")
            break
        counts[record.type] += 1
        try:
            reader.stored(record)
            reader.content(record)
        except DamagedRecord as error:
            damaged.append(f"the {record.type.name.lower()} {record.key.hex()} at byte {record.offset}: {error}")
    reader.close()
    return PackReport(
        recording,
        path.stem,
        counts[RecordType.CHUNK],
        counts[RecordType.DOCUMENT],
        size,
        torn,
        tuple(damaged),
    )


def _missing(store: Store, recording: str) -> Iterator[str]:
    for module in store.modules(recording):
        for key in module.code:
            yield from _problem(store, f"module {module.module[:12]}", key)
    if store.recording(recording).redacted:
        return
    for kernel in store.kernels(recording):
        for launch in store.launches(kernel, recording):
            for key, size in image_keys(launch):
                yield from _image_problem(store, launch, key, size)


def image_keys(launch: Launch) -> list[tuple[str, int]]:
    """Keys and sizes in bytes of the memory images that a launch names, each once."""
    regions = [(image.before, image.after, image.size) for image in launch.regions]
    variables = [(image.before, image.after, image.size) for image in launch.globals]
    return list({(key, size): None for before, after, size in regions + variables for key in (before, after)})


def _image_problem(store: Store, launch: Launch, key: str, size: int) -> Iterator[str]:
    try:
        chunks = {chunk for chunk in store.chunk_keys(key, size) if any(chunk)}
    except R3Error as error:
        yield f"launch {launch.launch}: {error}"
        return
    for chunk in chunks:
        yield from _problem(store, f"launch {launch.launch}", chunk.hex())


def _problem(store: Store, owner: str, key: str) -> Iterator[str]:
    try:
        store.blob(key)
    except R3Error as error:
        yield f"{owner}: {error}"
