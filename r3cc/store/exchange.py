"""A recording, with its searches, as one file for a colleague, a paper or a bug report.

The file is a tar of the store's own files (docs/store-format.md). A redacted one holds no memory contents: of its packs
the documents and the modules' code are left, so that everything still has its identity.
"""

from __future__ import annotations

import enum
import io
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from r3cc.errors import R3Error
from r3cc.store.eventlog import read_events
from r3cc.store.identifiers import PATTERN
from r3cc.store.model import Recording
from r3cc.store.pack import PackReader, Record, RecordType
from r3cc.store.search import Search
from r3cc.store.store import Store
from r3cc.store.variants import variant_paths, variants_folder

FORMAT_NAME = "r3-export"
VERSION = 1
HEAD = "FORMAT"
VARIANT = re.compile(r'"variant": ?"([0-9a-f]{16})"')
MEMBER = re.compile(
    rf"recordings/{PATTERN.pattern}/(recording\.json|[\w.-]+\.r3pack)"
    rf"|searches/{PATTERN.pattern}/events\.jsonl|variants/[0-9a-f]{{16}}\.(bc|json)"
)
"""Files that an export may hold; anything else is refused."""


class Memory(enum.Enum):
    """What an export holds of the application's memory."""

    WHOLE = "with memory contents"
    REDACTED = "without memory contents"


class Head(msgspec.Struct, frozen=True):
    """First file of an export."""

    format: str
    version: int
    recording: str
    searches: tuple[str, ...]
    redacted: bool


class Imported(msgspec.Struct, frozen=True):
    """What an import brought."""

    recording: str
    searches: tuple[str, ...]
    redacted: bool
    known: tuple[str, ...]
    """Of these, what the store had already; it stays as it was."""


def export(store: Store, recording: Recording, searches: Sequence[Search], target: Path, memory: Memory) -> Head:
    """Write a recording and searches to ``target``; the file appears whole or not at all."""
    head = Head(
        FORMAT_NAME,
        VERSION,
        recording.id,
        tuple(search.id for search in searches),
        memory is Memory.REDACTED or recording.redacted,
    )
    temporary = target.with_name(target.name + ".new")
    try:
        with tarfile.open(temporary, "w") as archive:
            _add(archive, HEAD, msgspec.json.encode(head))
            described = msgspec.structs.replace(recording, redacted=head.redacted)
            _add(archive, f"recordings/{recording.id}/recording.json", msgspec.json.encode(described))
            for pack in sorted(store.recording_path(recording.id).glob("*.r3pack")):
                _add_pack(archive, f"recordings/{recording.id}/{pack.name}", pack, store, recording.id, memory)
            for search in searches:
                archive.add(search.events_path, f"searches/{search.id}/events.jsonl", filter=_anonymous)
            for path in _variants(store, searches):
                archive.add(path, f"variants/{path.name}", filter=_anonymous)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return head


def searches_of(store: Store, recording: str) -> list[Search]:
    """Searches over a recording, the oldest first."""
    return [search for search in store.searches.all() if _recording_of(search) == recording]


def recording_of(search: Search) -> str:
    """The recording that a search is over. Raises R3Error for a log without a beginning."""
    found = _recording_of(search)
    if found is None:
        raise R3Error(f"the search {search.id} has no beginning: there is nothing to export")
    return found


def import_file(store: Store, source: Path) -> Imported:
    """Take an export into a store. Raises R3Error for what is none, a newer one, and for other files in it."""
    with tempfile.TemporaryDirectory(prefix=".import-", dir=store.path) as folder:
        head = _unpack(source, Path(folder))
        known = [part for part in _parts(head) if (store.path / part).exists()]
        for part in _parts(head):
            if part not in known and (Path(folder) / part).is_dir():
                (store.path / part).parent.mkdir(exist_ok=True)
                (Path(folder) / part).rename(store.path / part)
        _take_variants(store, Path(folder))
    names = tuple(part.rsplit("/", 1)[-1] for part in known)
    return Imported(head.recording, head.searches, head.redacted, names)


def _parts(head: Head) -> list[str]:
    return [f"recordings/{head.recording}", *(f"searches/{search}" for search in head.searches)]


def _unpack(source: Path, folder: Path) -> Head:
    try:
        with tarfile.open(source, "r:") as archive:
            head = _head(source, archive.next(), archive)
            while (member := archive.next()) is not None:
                if not member.isfile() or not MEMBER.fullmatch(member.name):
                    raise R3Error(f"{source} holds '{member.name}', which does not belong into an export of R3")
                target = folder / member.name
                target.parent.mkdir(parents=True, exist_ok=True)
                content = archive.extractfile(member)
                assert content is not None
                with target.open("wb") as file:
                    shutil.copyfileobj(content, file)
    except (tarfile.TarError, EOFError) as error:
        raise R3Error(f"{source} is not an export of R3, or is cut off: {error}") from None
    if not (folder / "recordings" / head.recording / "recording.json").is_file():
        raise R3Error(f"{source} is damaged: the recording {head.recording} is not in it")
    return head


def _head(source: Path, first: tarfile.TarInfo | None, archive: tarfile.TarFile) -> Head:
    content = archive.extractfile(first) if first is not None and first.isfile() and first.name == HEAD else None
    try:
        head = msgspec.json.decode(content.read() if content else b"", type=Head)
    except msgspec.DecodeError:
        raise R3Error(f"{source} is not an export of R3; `r3 store export` writes one") from None
    if head.format != FORMAT_NAME:
        raise R3Error(f"{source} is not an export of R3: its format is '{head.format}'")
    if head.version > VERSION:
        raise R3Error(f"the export {source} has version {head.version}, this R3 reads up to {VERSION}")
    if not all(PATTERN.fullmatch(name) for name in (head.recording, *head.searches)):
        raise R3Error(f"{source} is damaged: it names no recording")
    return head


def _take_variants(store: Store, folder: Path) -> None:
    for path in sorted(folder.glob("variants/*")):
        target = variants_folder(store.path) / path.name
        target.parent.mkdir(exist_ok=True)
        if not target.exists():
            path.rename(target)


def _add_pack(archive: tarfile.TarFile, name: str, pack: Path, store: Store, recording: str, memory: Memory) -> None:
    """A pack as it stands; redacted: its documents and the code of its modules."""
    if memory is Memory.WHOLE:
        archive.add(pack, name, filter=_anonymous)
        return
    code = {key for module in store.modules(recording) for key in module.code}
    with tempfile.TemporaryFile() as kept:
        reader = PackReader(pack)
        for record in reader.scan():
            if isinstance(record, Record) and (record.type is RecordType.DOCUMENT or record.key.hex() in code):
                kept.write(reader.stored(record))
        reader.close()
        information = tarfile.TarInfo(name)
        information.size = kept.tell()
        kept.seek(0)
        archive.addfile(information, kept)


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    information = tarfile.TarInfo(name)
    information.size = len(content)
    archive.addfile(information, io.BytesIO(content))


def _anonymous(information: tarfile.TarInfo) -> tarfile.TarInfo:
    """Names and numbers of this machine's users belong to nobody else."""
    information.uid = information.gid = 0
    information.uname = information.gname = ""
    information.mode = 0o644
    return information


def _variants(store: Store, searches: Sequence[Search]) -> Iterator[Path]:
    names = {name for search in searches for name in VARIANT.findall(search.events_path.read_text(encoding="utf-8"))}
    for name in sorted(names):
        yield from (path for path in variant_paths(store.path, name) if path.is_file())


def _recording_of(search: Search) -> str | None:
    first: dict[str, Any] = next(read_events(search.events_path), {})
    found = first.get("recording")
    return found if isinstance(found, str) else None
