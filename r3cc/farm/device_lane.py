"""One device's queue of jobs: a thread that keeps a device worker alive and reads statuses off what becomes of it."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TypeVar

import msgspec

from r3cc.devices.base import Properties
from r3cc.errors import R3Error
from r3cc.farm.device_worker import OpenSession, Probe, Ready, Refused, Setup
from r3cc.farm.process import DeadlineMissed, ProcessDied, ProcessLost, SupervisedProcess
from r3cc.replay.model import Status
from r3cc.replay.session import Job, Measurement
from r3cc.replay.stages import Stage

MODULE = "r3cc.farm.device_worker"
Value = TypeVar("Value")

FAULT_SIGNALS = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT})
"""What ends a process because of what it executed, not because somebody wanted it gone."""

ADDRESS_SIGNALS = frozenset({signal.SIGSEGV, signal.SIGBUS})
NOT_RECORDED = (
    "the kernel reaches memory that the recorder does not see, as of malloc or the stack; allocate it by cudaMalloc, "
    "cudaMallocManaged or cudaMallocHost (hipMalloc …)"
)
"""Why the original kernel may fault in replay although it ran in the application, on the same host or with HMM."""

Turn = AbstractContextManager[object]
"""What a lane holds while its device is at work, such as a lock."""
_STARTS = 2
"""Tries to start a worker whose death was not the baseline's fault."""


class DeviceLane:
    """Runs jobs on one device, one after another."""

    def __init__(self, setup: Setup, turn: Turn | None = None) -> None:
        """``turn`` is held while kernels run: lanes of one device that share it never do so at the same time."""
        self._setup = setup
        self._turn: Turn = turn or nullcontext()
        self._session: OpenSession | None = None
        self._worker: SupervisedProcess | None = None
        self._room: int | None = None
        """Workers like this one that fit on the device beside it; None before its session is open."""
        self._probed = False
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.RLock()
        self._waiting = 0
        self._closed = False
        self.properties: Properties | None = None
        """What the device is, once a worker has started."""
        self._failed: set[Stage] = set()
        """Stages of the original kernel on other inputs than the recorded ones that it does not survive."""
        self.restarts = 0
        """Workers that were replaced."""
        self._thread = threading.Thread(target=self._run, name=f"r3 {setup.device}", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Jobs queued or at work."""
        return self._waiting

    @property
    def worker_pid(self) -> int | None:
        """Process id of the worker, None when there is none at the moment."""
        worker = self._worker
        return worker.pid if worker else None

    def open(self, session: OpenSession) -> None:
        """What every worker is to hold before its first job."""
        self._session = session

    def start(self) -> None:
        """Let a worker start by now: opening the device takes time."""
        self._jobs.put(self._start)

    def prepare(self) -> Future[int]:
        """Queue what the first job needs, of which nothing is launched; how many workers like this one fit beside it.

        A failure is the first job's to tell, and leaves no room.
        """
        future: Future[int] = Future()

        def work() -> int:
            return 0 if self._prepared() else self._room or 0

        self._put(work, future)
        return future

    def submit(self, job: Job) -> Future[Measurement]:
        """Queue a job; R3Error through the future where the device cannot be had."""
        future: Future[Measurement] = Future()
        with self._lock:
            self._waiting += 1
        future.add_done_callback(self._answered)

        def work() -> Measurement:
            with self._turn:
                return self._measure(job)

        self._put(work, future)
        return future

    def _put(self, work: Callable[[], Value], future: Future[Value]) -> None:
        with self._lock:
            if self._closed:
                future.cancel()
            else:
                self._jobs.put(partial(self._do, work, future))

    def _answered(self, _: Future[Measurement]) -> None:
        with self._lock:
            self._waiting -= 1

    def end(self) -> None:
        """Kill the worker, and do not wait for its end; jobs under way are cancelled."""
        with self._lock:
            self._closed = True
            if self._worker:
                self._worker.end()

    def close(self) -> None:
        """Kill the worker; jobs under way are cancelled."""
        self.end()
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (work := self._jobs.get()) is not None:
            work()
        self._drop()

    def _do(self, work: Callable[[], Value], future: Future[Value]) -> None:
        if self._closed or not future.set_running_or_notify_cancel():
            future.cancel()
            return
        try:
            future.set_result(work())
        except Exception as error:
            future.set_exception(error)

    def _measure(self, job: Job) -> Measurement:
        failure = self._ready()
        if failure:
            return failure
        assert self._worker is not None
        try:
            measured: Measurement = self._worker.ask(self._survivable(job), self._setup.transfer_deadline_s)
        except ProcessLost as error:
            if error.stage in (Stage.REFERENCE, Stage.NUDGE):
                return self._measure_without(error.stage, job)
            return self._lost(error)
        if measured.reference_failed is not None:
            return self._measure_without(measured.reference_failed, job)
        if measured.device_lost:
            self._drop()
        return measured

    def _survivable(self, job: Job) -> Job:
        """The job without what the original kernel does not survive."""
        plan = job.plan
        if Stage.REFERENCE in self._failed:
            plan = msgspec.structs.replace(plan, perturbed=False)
        return msgspec.structs.replace(job, plan=plan, nudge=Stage.NUDGE not in self._failed)

    def _measure_without(self, stage: Stage, job: Job) -> Measurement:
        """The original kernel does not survive other inputs: this job is judged without, as all later ones."""
        self._drop()
        self._failed.add(stage)
        return self._measure(job)

    def _lost(self, error: ProcessLost) -> Measurement:
        self._drop()
        if isinstance(error, DeadlineMissed):
            status = Status.TIMEOUT if error.stage is Stage.LAUNCH else Status.WORKER_LOST
            return Measurement(status, f"the device worker gave {error}")
        assert isinstance(error, ProcessDied)
        status = Status.DEVICE_FAULT if -error.exit_code in FAULT_SIGNALS else Status.WORKER_LOST
        return Measurement(status, f"the device worker was {error}")

    def _ready(self) -> Measurement | None:
        """Have a worker that has probed the baseline; what went wrong, None if nothing."""
        return self._until_done(lambda: self._prepared() or self._probe())

    def _prepared(self) -> Measurement | None:
        """Have a worker with an open session; what went wrong, None if nothing."""
        return self._until_done(self._open_session)

    def _until_done(self, step: Callable[[], Measurement | None]) -> Measurement | None:
        """Try again, with a new worker, where one died and the baseline is not to blame."""
        failure = None
        for _ in range(_STARTS):
            failure = step()
            if failure is None or failure.status is not Status.WORKER_LOST:
                break
        return failure

    def _start(self) -> None:
        with self._lock:
            if self._worker is None and not self._closed:
                self._worker = SupervisedProcess(MODULE, self._setup)

    def _open_session(self) -> Measurement | None:
        self._start()
        if self._closed:
            raise R3Error("the evaluator was closed")
        return self._asked(self._session) if self._room is None else None

    def _probe(self) -> Measurement | None:
        failure = None if self._probed else self._asked(Probe())
        self._probed = failure is None
        return failure

    def _asked(self, request: OpenSession | Probe | None) -> Measurement | None:
        """Have the worker do what comes before jobs; what went wrong, None if nothing."""
        worker = self._worker
        assert worker is not None
        try:
            answer: Ready | Refused = worker.ask(request, self._setup.transfer_deadline_s)
        except DeadlineMissed as error:
            self._drop()
            status = Status.TIMEOUT if error.stage is Stage.LAUNCH else Status.WORKER_LOST
            return Measurement(status, f"the baseline's replay gave {error}")
        except ProcessDied as error:
            self._drop()
            faulted = error.stage is Stage.LAUNCH and -error.exit_code in FAULT_SIGNALS
            hint = f": {NOT_RECORDED}" if faulted and -error.exit_code in ADDRESS_SIGNALS else ""
            return Measurement(
                Status.DEVICE_FAULT if faulted else Status.WORKER_LOST, f"the baseline's replay was {error}{hint}"
            )
        if isinstance(answer, Refused):
            self._drop()
            if answer.usage:
                raise R3Error(answer.message)
            return Measurement(answer.status, f"the baseline's replay: {answer.message}")
        self.properties, self._room = answer.properties, answer.room
        return None

    def _drop(self) -> None:
        with self._lock:
            if self._worker:
                self._worker.close()
                self._worker = None
                self._room, self._probed = None, False
                self.restarts += 1
