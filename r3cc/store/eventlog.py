"""The append-only file of a search: one JSON object a line (docs/search-log.md)."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from r3cc.closing import Closing
from r3cc.errors import R3Error


class EventLog(Closing):
    """Appends events to a file that only one process writes; a torn last line is dropped.

    Use it as a context manager. Raises R3Error when another process is writing the log.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            self._lock()
            self._drop_torn_line()
        except BaseException:
            os.close(self._file)
            raise

    def append(self, event: Any) -> None:
        """Write one event (an object or a data class) as one line; it is whole or not there."""
        line = msgspec.json.encode(event) + b"\n"
        start = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
        except OSError as error:
            raise R3Error(f"cannot write the event log {self.path}: {error.strerror}") from None
        if written != len(line):
            os.ftruncate(self._file, start)
            raise R3Error(f"cannot write the event log {self.path}: the disk is full")

    def close(self) -> None:
        """Release the log."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise R3Error(
                f"the search in {self.path.parent} is running in another process; --fresh begins another one"
            ) from None

    def _drop_torn_line(self) -> None:
        content = self.path.read_bytes()
        if content and not content.endswith(b"\n"):
            os.ftruncate(self._file, content.rfind(b"\n") + 1)


def is_written(path: Path) -> bool:
    """Whether a process has the log open to append to it."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """Events of a log in order, also while it is being written; a torn last line is left out.

    Raises R3Error for a whole line that is not a JSON object.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.endswith(b"\n"):
                yield _decode(path, number, line)


def _decode(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise R3Error(f"line {number} of the event log {path} is damaged: {error}") from None
