"""Turns on a GPU: what processes of R3 on one machine run there disturbs nobody's times."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from r3cc.replay.stages import Stage, Watch

LONGEST_WAIT_S = 120.0
"""After that the device is used all the same: whoever has the turn is stuck, and a disturbed time is still a time."""
_POLL_S = 0.001
_SLACK_S = 30.0


class DeviceTurn:
    """The turn on one device, by a lock that the system takes back from a process that dies."""

    def __init__(self, identity: str, folder: Path | None = None) -> None:
        """``identity`` as in ``Properties``; without one there is nobody to wait for."""
        path = (folder or Path(tempfile.gettempdir())) / f"r3-turn-{identity}.lock"
        # Readable and writable for all: a node's users share its GPUs.
        self._lock = FileLock(path, LONGEST_WAIT_S, mode=0o666, poll_interval=_POLL_S) if identity else None

    @contextmanager
    def taken(self, watch: Watch) -> Iterator[None]:
        """Wait for the turn and have it for as long as the context lasts."""
        if self._lock is None:
            yield
            return
        # An OSError: a folder or a file that is not for this user. Then it is as without turns.
        with watch.stage(Stage.TURN, LONGEST_WAIT_S + _SLACK_S), suppress(Timeout, OSError):
            self._lock.acquire()
        try:
            yield
        finally:
            self._lock.release()
