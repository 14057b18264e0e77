"""A search's page while the search runs: written anew now and then, so that a browser can watch."""

from __future__ import annotations

import os
import threading
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from r3cc.errors import R3Error
from r3cc.report.page import write_page
from r3cc.store import Store
from r3cc.store.search import Search

PERIOD_S = 10.0
"""Between two pages; more where writing one takes long."""
LONGEST_PART = 0.05
"""Part of the time that may go into writing pages."""


class LivePage:
    """Writes a page when its search begins, while it runs, and when it ends, however it ends."""

    def __init__(self, store: Path, path: Path, period_s: float = PERIOD_S) -> None:
        self._store = store
        self._path = path
        self._period_s = period_s
        self._refresh_s = max(1, round(period_s))
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._search: Search | None = None

    def follow(self, search: Search) -> None:
        """Write the first page. Raises R3Error where no page can be written at all."""
        self._search = search
        self._write(search, self._refresh_s)
        self._thread = threading.Thread(target=self._run, args=(search,), name="page", daemon=True)
        self._thread.start()

    def _run(self, search: Search) -> None:
        pause = self._period_s
        while not self._ended.wait(pause):
            began = time.monotonic()
            with suppress(R3Error):  # a full disk, say: the search matters more, and its end says it
                self._write(search, self._refresh_s)
            pause = max(self._period_s, (time.monotonic() - began) / LONGEST_PART)

    def _write(self, search: Search, refresh_s: int | None) -> None:
        with Store.open(self._store) as store:  # of this thread: SQLite asks for that
            write_page(store, search, self._path, refresh_s)

    def __enter__(self) -> Self:
        folder = self._path.parent
        if not os.access(folder, os.W_OK):  # before a search begins for it
            raise R3Error(f"cannot write the page {self._path}: {folder} is no folder that can be written to")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread is not None and self._search is not None:
            self._thread.join()
            with suppress(R3Error) if error is not None else nullcontext():  # what ended the search is what is said
                self._write(self._search, None)
