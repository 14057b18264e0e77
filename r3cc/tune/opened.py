"""Evaluators that are open: a kernel's is opened once for a whole search where the device has room for all of them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress

from r3cc.closing import Closing
from r3cc.errors import R3Error
from r3cc.farm.evaluator import Evaluator

OpenEvaluator = Callable[[], Evaluator]


class OpenEvaluators(Closing):
    """Evaluators by kernel or unit, each prepared and kept until it is dropped."""

    def __init__(self) -> None:
        self._evaluators: dict[str, Evaluator] = {}
        self._room: dict[str, int] = {}
        self._fresh: dict[str, FreshEvaluators] = {}
        """Those that stand by."""
        self._started: dict[str, Evaluator] = {}
        """Opened ahead, not prepared."""

    def __contains__(self, subject: str) -> bool:
        return subject in self._evaluators

    def get(self, subject: str, open_: OpenEvaluator) -> Evaluator:
        """The subject's evaluator, opened and prepared if it is not yet."""
        if subject not in self._evaluators:
            started = self._started.pop(subject, None)
            evaluator = self._evaluators[subject] = started or open_()
            self._room[subject] = evaluator.prepare(evaluator.width).result()
        return self._evaluators[subject]

    def start(self, subject: str, open_: OpenEvaluator, beside: str) -> None:
        """Let the subject's processes start while another one is searched, if one more like that one's fits beside it.

        What is wrong with the subject is said in its turn.
        """
        if subject not in self._evaluators | self._started and self._room[beside] > len(self._started):
            with suppress(R3Error):
                self._started[subject] = open_()

    def is_started(self, subject: str) -> bool:
        """Whether it was opened ahead, and is not prepared yet."""
        return subject in self._started

    def room(self, subject: str) -> int:
        """Evaluators like that of the subject that fit beside it on its device."""
        return self._room[subject]

    def keep_for(self, subject: str, others: int) -> None:
        """Keep the subject's evaluator where so many others are to be open beside it, else drop it."""
        if self._room.get(subject, 0) < others:
            self.drop(subject)

    def fresh(self, subject: str, open_: OpenEvaluator) -> FreshEvaluators:
        """Evaluators with new device processes: fresh ones of the subject's where these fit beside it.

        The same ones until they or the subject's are closed.
        """
        known = self._fresh.get(subject)
        if known is not None and not known.closed:
            return known
        room = self._room.get(subject, 0) - (len(self._evaluators) + len(self._started) - 1)
        if subject not in self._evaluators or room < 1:
            return self.instead(subject, open_)
        self._fresh[subject] = FreshEvaluators(self._evaluators[subject].fresh, room)
        return self._fresh[subject]

    def instead(self, subject: str, open_: OpenEvaluator) -> FreshEvaluators:
        """Evaluators that are opened in place of the subject's, which is closed before the first of them is."""

        def opened() -> Evaluator:
            self.drop(subject)
            return open_()

        return FreshEvaluators(opened)

    def drop(self, subject: str) -> None:
        """Close the subject's evaluator, if it is open."""
        fresh = self._fresh.pop(subject, None)
        if fresh is not None:
            fresh.close()
        for evaluator in (self._evaluators.pop(subject, None), self._started.pop(subject, None)):
            if evaluator is not None:
                evaluator.close()

    def close(self) -> None:
        """Close all that are open."""
        for subject in [*self._evaluators, *self._started]:
            self.drop(subject)


class FreshEvaluators(Closing):
    """Evaluators, each with device processes that nothing ran in, to be used one after another.

    As many as the device has room for are prepared at a time; nothing else goes on while one is used.
    """

    def __init__(self, open_: OpenEvaluator, room: int | None = None) -> None:
        """``room``: how many the device has room for, at least 1; None: the first one finds out."""
        self._open = open_
        self._room = room
        self._lock = threading.Lock()
        self.closed = False
        self._batch: list[Evaluator] = []
        """What is open: the first one and fresh ones of it, closed together once all were used."""
        self._ready: deque[Evaluator] = deque()

    def start(self, count: int) -> None:
        """Let the processes of so many start by now, which takes time, as far as there is known to be room."""
        while len(self._batch) < min(count, self._room or 0):
            self._opened()

    def prepare(self, jobs: Sequence[int]) -> None:
        """Have one ready for each number of evaluations at a time, or for the first of them if there is no more room.

        Does nothing while some are ready.
        """
        if self._ready:
            return
        if self._room is None:
            self._room = self._opened().prepare(jobs[0]).result() + 1
        wanted = jobs[: self._room]
        self.start(len(wanted))
        preparing = [evaluator.prepare(each) for evaluator, each in zip(self._batch, wanted, strict=False)]
        for future in preparing:
            future.result()
        self._ready.extend(self._batch[: len(wanted)])

    def each(self, jobs: Sequence[int]) -> Iterator[Evaluator]:
        """One for each number of evaluations at a time; valid until the next one is asked for."""
        for number in range(len(jobs)):
            if not self._ready:
                self._close_batch()
                self.prepare(jobs[number:])
            yield self._ready.popleft()

    def close(self) -> None:
        """End all, those in use in another thread, too."""
        with self._lock:
            self.closed = True
        self._close_batch()

    def _opened(self) -> Evaluator:
        with self._lock:
            if self.closed:
                raise CancelledError
            evaluator = self._batch[0].fresh() if self._batch else self._open()
            self._batch.append(evaluator)
            return evaluator

    def _close_batch(self) -> None:
        with self._lock:
            batch, self._batch = self._batch, []
            self._ready.clear()
        for evaluator in batch:  # the first one closes the others, too
            evaluator.close()
