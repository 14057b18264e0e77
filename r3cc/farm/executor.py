"""Evaluations on any ``concurrent.futures.Executor``: its workers each open an evaluator of their own.

What travels is small: where the store is, which kernel, the candidate, the evaluation. Workers read the store by path.
A worker that dies loses the evaluations it had; they come back as ``worker_lost``, and the search does them again.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Executor, Future, InvalidStateError
from contextlib import suppress
from pathlib import Path
from typing import Self

import msgspec

from r3cc.closing import Closing
from r3cc.errors import R3Error
from r3cc.farm.device_lane import Turn
from r3cc.farm.evaluator import Evaluator, EvaluatorSettings
from r3cc.farm.local import LocalEvaluator
from r3cc.replay.model import Candidate, Evaluation, Status, TimingPlan
from r3cc.store import Store
from r3cc.store.model import Kernel

DEADLINE_S = 1800.0
"""Longest wait for one answer, with the opening of the worker's evaluator; its own stages have shorter ones."""
Opener = Callable[[], Evaluator]
"""Opens an evaluator in a worker; must be picklable."""


class StoreOpener(msgspec.Struct, frozen=True):
    """Opens the evaluator of a kernel in a store that the worker can read."""

    store: Path
    kernel: Kernel
    device: str
    settings: EvaluatorSettings
    recording: str | None

    def __call__(self, turns: Mapping[str, Turn] | None = None) -> Evaluator:
        """An evaluator on the worker's own machine. Raises R3Error."""
        store = Store.open(self.store)
        return LocalEvaluator.open(store, self.kernel, self.device, self.settings, self.recording, turns)


class ExecutorEvaluator(Closing):
    """An ``Evaluator`` whose work is done by an executor's workers."""

    def __init__(self, executor: Executor, opener: Opener, width: int, deadline_s: float = DEADLINE_S) -> None:
        self._deadline_s = deadline_s
        self._executor = executor
        self._opener = opener
        self._session = uuid.uuid4().hex
        self.width = width

    def fresh(self) -> Self:
        """Workers open their evaluators anew for it."""
        return type(self)(self._executor, self._opener, self.width, self._deadline_s)

    def prepare(self, jobs: int = 1) -> Future[int]:
        """Nothing here: a worker opens its evaluator when it gets the first work for it."""
        room: Future[int] = Future()
        room.set_result(0)
        return room

    def baseline(self) -> Evaluation:
        """The recorded build's own code, measured by one of the workers."""
        return self._submit(None, TimingPlan()).result()

    def submit(self, candidate: Candidate, plan: TimingPlan = TimingPlan()) -> Future[Evaluation]:  # noqa: B008
        """Queue a candidate."""
        return self._submit(candidate, plan)

    def _submit(self, candidate: Candidate | None, plan: TimingPlan) -> Future[Evaluation]:
        outcome: Future[Evaluation] = Future()
        started = self._executor.submit(judge, self._session, self._opener, candidate, plan)
        started.add_done_callback(lambda done: _settle(done, outcome, candidate or Candidate()))
        _give_up_after(self._deadline_s, outcome, candidate or Candidate())
        return outcome

    def close(self) -> None:
        """Nothing here: a worker closes its evaluator when it gets another one's work, or ends."""


def _settle(done: Future[Evaluation], outcome: Future[Evaluation], candidate: Candidate) -> None:
    """Hand on what came back. What a person has to mend is raised; anything else that went wrong lost the worker."""
    try:
        evaluation = done.result()
    except R3Error as error:
        with suppress(InvalidStateError):
            outcome.set_exception(error)
        return
    except (Exception, CancelledError) as error:
        why = f"the executor's worker was lost: {type(error).__name__}"
        evaluation = Evaluation(candidate, Status.WORKER_LOST, why)
    with suppress(InvalidStateError):  # it was given up
        outcome.set_result(evaluation)


def _give_up_after(seconds: float, outcome: Future[Evaluation], candidate: Candidate) -> None:
    """Engines, too, lose tasks without a word: no answer in time is a lost worker."""

    def lost() -> None:
        with suppress(InvalidStateError):
            why = f"the executor's worker was lost: no answer in {seconds:g} s"
            outcome.set_result(Evaluation(candidate, Status.WORKER_LOST, why))

    timer = threading.Timer(seconds, lost)
    timer.daemon = True
    timer.start()
    outcome.add_done_callback(lambda _: timer.cancel())


class _Held:
    """The one evaluator that a worker process holds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._session = ""
        self._evaluator: Evaluator | None = None

    def evaluator(self, session: str, opener: Opener) -> Evaluator:
        """The session's evaluator; that of another session is closed."""
        with self._lock:
            if self._session != session or self._evaluator is None:
                if self._evaluator is not None:
                    self._evaluator.close()
                    self._evaluator = None
                self._evaluator, self._session = opener(), session
            return self._evaluator


_HELD = _Held()
"""Of this process, if it is a worker: an executor gives its tasks no other place to leave something."""


def judge(session: str, opener: Opener, candidate: Candidate | None, plan: TimingPlan) -> Evaluation:
    """Run by a worker: one evaluation, of the baseline for no candidate."""
    evaluator = _HELD.evaluator(session, opener)
    return evaluator.baseline() if candidate is None else evaluator.submit(candidate, plan).result()
