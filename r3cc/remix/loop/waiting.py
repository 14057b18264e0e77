"""Waiting for a condition among coroutines of one loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Signal:
    """``fire`` says that something changed; who waits looks again. Not for threads."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    def fire(self) -> None:
        """Wake everyone who waits."""
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until ``condition`` holds; it is asked now and after each ``fire``."""
        while not condition():
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
