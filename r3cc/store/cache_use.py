"""Who uses a part of a store: its cache is emptied where nobody does.

What lies there can be made again, but not while a search has its path.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class CacheUse:
    """Keeps a cache from being emptied until it is closed, or its process ends.

    A store that can't be written to needs no such care, and gets none.
    """

    def __init__(self, cache: Path) -> None:
        self._file = _opened(cache)
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_SH)

    def close(self) -> None:
        """It is not used any more."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


@contextmanager
def alone(part: Path) -> Iterator[bool]:
    """Whether nobody uses a part of a store, and nobody begins to while the context lasts."""
    file = _opened(part)
    try:
        yield file is None or _locked(file)
    finally:
        if file is not None:
            os.close(file)


def _opened(part: Path) -> int | None:
    try:
        return os.open(part.with_name(f"{part.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        return None


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
