"""The derived SQLite index: which pack holds which chunk and document.

It can be deleted at any time: what it says is read from the packs again. Several processes may use it at once.
Where it can't be written (a full disk, a store of someone else) it is made in memory.
"""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from r3cc.store import documents
from r3cc.store.pack import DamagedRecord, PackReader, Record, RecordType, Torn

VERSION = 1
"""Raise it whenever the tables change: an index of another version is made anew."""

LOCK_TIMEOUT_S = 120.0

_CACHE_KIB = 64 << 10
"""Keys come in no order: what does not hold them all writes each part of the index many times."""

_KEYS_AT_ONCE = 512
"""Chunks that one query looks for."""

SCHEMA = """
CREATE TABLE packs (
  pack INTEGER PRIMARY KEY, recording TEXT, stem TEXT, valid INTEGER, size INTEGER, modified INTEGER, torn TEXT,
  UNIQUE (recording, stem));
CREATE TABLE chunks (key BLOB, pack INTEGER, offset INTEGER, size INTEGER, PRIMARY KEY (key, pack)) WITHOUT ROWID;
CREATE INDEX chunks_by_pack ON chunks (pack);
CREATE TABLE documents (
  pack INTEGER, kind TEXT, identity TEXT, kernel TEXT, offset INTEGER, body BLOB, PRIMARY KEY (pack, kind, identity));
CREATE INDEX documents_by_kind ON documents (kind, identity);
CREATE INDEX documents_by_kernel ON documents (kind, kernel);
"""


Stamp = tuple[int, int]
"""Size of a file in bytes, and when it was last changed (ns)."""


@dataclass(frozen=True)
class PackState:
    """A pack as the index knows it."""

    pack: int
    recording: str
    stem: str
    valid: int
    """Bytes that could be read."""
    size: int
    """Bytes in the file when it was read."""
    modified: int
    torn: str
    """Why the rest could not be read; empty if there is no rest."""


@dataclass(frozen=True)
class Document:
    """One document, and the pack that it stands in."""

    recording: str
    stem: str
    body: dict[str, Any]


class Index:
    """The index of the store whose packs are under ``recordings``; safe to use from several threads."""

    def __init__(self, path: Path, recordings: Path) -> None:
        self._file = path
        self._recordings = recordings
        self._lock = threading.RLock()
        self._connection = _connect(path)

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._connection.close()

    def refresh(self) -> None:
        """Read what was appended to packs since the last time, and forget packs that are gone."""
        with self._lock:
            try:
                self._refresh()
            except sqlite3.OperationalError as error:
                self._connection.close()
                self._connection = _in_memory(self._file, error)
                self._refresh()
            except sqlite3.DatabaseError:  # damaged behind our back
                self._connection.close()
                self._connection = _remake(self._file)
                self._refresh()

    def packs(self) -> list[PackState]:
        """Every pack, in the order of recordings."""
        rows = self._rows(
            "SELECT pack, recording, stem, valid, size, modified, torn FROM packs ORDER BY recording, stem", ()
        )
        return [PackState(*row) for row in rows]

    def documents(
        self, kind: str, recording: str | None = None, identity: str | None = None, kernel: str | None = None
    ) -> list[Document]:
        """Documents of a kind, in the order of packs and writing; None leaves a field open."""
        conditions = {"kind": kind, "recording": recording, "identity": identity, "kernel": kernel}
        given = {column: value for column, value in conditions.items() if value is not None}
        rows = self._rows(
            "SELECT recording, stem, body FROM documents JOIN packs USING (pack) WHERE "
            + " AND ".join(f"{column} = ?" for column in given)
            + " ORDER BY recording, stem, offset",
            tuple(given.values()),
        )
        return [Document(row[0], row[1], msgspec.json.decode(row[2])) for row in rows]

    def chunk(self, key: bytes) -> list[tuple[Path, Record]]:
        """Every place where a chunk stands."""
        rows = self._rows(
            "SELECT recording, stem, offset, chunks.size FROM chunks JOIN packs USING (pack) WHERE key = ?", (key,)
        )
        return [(self._path(row[0], row[1]), Record(RecordType.CHUNK, key, row[2], row[3])) for row in rows]

    def places(self, keys: Collection[bytes]) -> dict[bytes, tuple[Path, Record]]:
        """One place of each of many chunks; those that stand nowhere are left out."""
        packs = {state.pack: self._path(state.recording, state.stem) for state in self.packs()}
        found: dict[bytes, tuple[Path, Record]] = {}
        wanted = list(keys)
        for at in range(0, len(wanted), _KEYS_AT_ONCE):
            some = wanted[at : at + _KEYS_AT_ONCE]
            marks = ",".join("?" * len(some))
            rows = self._rows(f"SELECT key, pack, offset, size FROM chunks WHERE key IN ({marks})", tuple(some))
            found |= {
                key: (packs[pack], Record(RecordType.CHUNK, key, offset, size))
                for key, pack, offset, size in rows
                if pack in packs
            }
        return found

    def _refresh(self) -> None:
        files = self._files()
        if self._current(files):
            return
        with self._transaction():
            known = {(state.recording, state.stem): state for state in self.packs()}
            for gone in known.keys() - files.keys():
                self._forget(known[gone])
            for name, stamp in files.items():
                self._read(name, stamp, known.get(name))

    def _path(self, recording: str, stem: str) -> Path:
        return self._recordings / recording / f"{stem}.r3pack"

    def _files(self) -> dict[tuple[str, str], Stamp]:
        """Packs that are there; another process may be removing a recording."""
        stamps = {}
        with contextlib.suppress(FileNotFoundError):
            for folder in self._recordings.iterdir():
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    stamps.update({(folder.name, path.stem): _stamp(path) for path in folder.glob("*.r3pack")})
        return stamps

    def _current(self, files: dict[tuple[str, str], Stamp]) -> bool:
        return files == {(state.recording, state.stem): (state.size, state.modified) for state in self.packs()}

    def _read(self, name: tuple[str, str], stamp: Stamp, known: PackState | None) -> None:
        size, modified = stamp
        if known is not None and (known.size, known.modified) == stamp:
            return
        if known is not None and size < known.size:
            self._forget(known)
            known = None
        try:
            reader = PackReader(self._path(*name))
        except FileNotFoundError:  # removed since it was listed
            if known is not None:
                self._forget(known)
            return
        pack = known.pack if known is not None else self._add(name)
        try:
            valid, torn = self._add_records(pack, reader, known.valid if known is not None else 0)
        finally:
            reader.close()
        self._connection.execute(
            "UPDATE packs SET valid = ?, size = ?, modified = ?, torn = ? WHERE pack = ?",
            (valid, size, modified, torn, pack),
        )

    def _add(self, name: tuple[str, str]) -> int:
        cursor = self._connection.execute(
            "INSERT INTO packs (recording, stem, valid, size, modified, torn) VALUES (?, ?, 0, 0, 0, '')", name
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _add_records(self, pack: int, reader: PackReader, valid: int) -> tuple[int, str]:
        """Enter what a pack holds from ``valid`` on; gives the end of its readable part, and what is wrong there."""
        for record in reader.scan(valid):
            if isinstance(record, Torn):
                return valid, record.reason
            if record.type is RecordType.DOCUMENT:
                try:
                    self._add_document(pack, record, reader.content(record))
                except (DamagedRecord, msgspec.DecodeError, UnicodeDecodeError) as error:
                    return valid, f"a document is damaged: {error}"
            else:
                self._connection.execute(
                    "INSERT OR IGNORE INTO chunks VALUES (?, ?, ?, ?)", (record.key, pack, record.offset, record.size)
                )
            valid = record.end
        return valid, ""

    def _add_document(self, pack: int, record: Record, content: bytes) -> None:
        body = msgspec.json.decode(content, type=dict[str, Any])
        self._connection.execute(
            "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?, ?)",
            (pack, *documents.identity(body), documents.kernel_identity(body), record.offset, content),
        )

    def _forget(self, state: PackState) -> None:
        for table in ("packs", "chunks", "documents"):
            self._connection.execute(f"DELETE FROM {table} WHERE pack = ?", (state.pack,))

    def _rows(self, query: str, parameters: tuple[object, ...]) -> list[Any]:
        with self._lock:
            return self._connection.execute(query, parameters).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:  # on a full disk SQLite has taken it back itself
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


def _stamp(path: Path) -> Stamp:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _connect(path: Path) -> sqlite3.Connection:
    """Open the index; a damaged one or one of another version is made anew; in memory where nothing can be written."""
    try:
        return _prepare(path)
    except sqlite3.OperationalError as error:
        return _in_memory(path, error)
    except sqlite3.DatabaseError:
        return _remake(path)


def _in_memory(path: Path, error: sqlite3.OperationalError) -> sqlite3.Connection:
    sys.stderr.write(f"r3: cannot write {path}: {error}; the packs are read into memory instead\n")
    return _prepare(Path(":memory:"))


def _remake(path: Path) -> sqlite3.Connection:
    for file in (path, path.with_name(f"{path.name}-journal")):
        file.unlink(missing_ok=True)
    return _prepare(path)


def _prepare(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            _create_tables(connection)
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _create_tables(connection: sqlite3.Connection) -> None:
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        connection.execute(f'DROP TABLE "{table}"')
    for statement in SCHEMA.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
