"""Evaluators that are open: a kernel's is opened once for a whole search where the device has room for all of them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import ExitStack

from r3cc.closing import Closing
from r3cc.farm.evaluator import Evaluator

OpenEvaluator = Callable[[], Evaluator]


class OpenEvaluators(Closing):
    """Evaluators by kernel or unit, each prepared and kept until it is dropped."""

    def __init__(self) -> None:
        self._evaluators: dict[str, Evaluator] = {}
        self._room: dict[str, int] = {}

    def __contains__(self, subject: str) -> bool:
        return subject in self._evaluators

    def get(self, subject: str, open_: OpenEvaluator) -> Evaluator:
        """The subject's evaluator, opened and prepared if it is not yet."""
        if subject not in self._evaluators:
            evaluator = self._evaluators[subject] = open_()
            self._room[subject] = evaluator.prepare(evaluator.width).result()
        return self._evaluators[subject]

    def room(self, subject: str) -> int:
        """Evaluators like that of the subject that fit beside it on its device."""
        return self._room[subject]

    def keep_for(self, subject: str, others: int) -> None:
        """Keep the subject's evaluator where so many others are to be open beside it, else drop it."""
        if self._room.get(subject, 0) < others:
            self.drop(subject)

    def fresh(self, subject: str, open_: OpenEvaluator) -> OpenEvaluator:
        """Opens evaluators with new device processes: fresh ones of the subject's where these fit beside it."""
        kept = self._evaluators.get(subject)
        if kept is not None and self._room[subject] > 0:
            return kept.fresh
        self.drop(subject)
        return open_

    def drop(self, subject: str) -> None:
        """Close the subject's evaluator, if it is open."""
        evaluator = self._evaluators.pop(subject, None)
        if evaluator is not None:
            evaluator.close()

    def close(self) -> None:
        """Close all that are open."""
        for subject in list(self._evaluators):
            self.drop(subject)


def fresh_processes(open_: OpenEvaluator, count: int, jobs: int) -> Generator[Evaluator, None, None]:
    """So many evaluators, each with device processes that nothing ran in, to be used one after another.

    As many as the device has room for are prepared at a time; nothing else goes on while one is used.
    """
    while count > 0:
        with ExitStack() as opened:
            first = opened.enter_context(open_())
            room = first.prepare(jobs).result()
            together = [first, *(opened.enter_context(first.fresh()) for _ in range(min(room, count - 1)))]
            preparing: list[Future[int]] = [each.prepare(jobs) for each in together]
            for each in preparing:
                each.result()
            yield from together
            count -= len(together)
