"""Compile processes: LLVM may abort or never end on a candidate, and keeps its options for the life of a process."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import msgspec

from r3cc.errors import R3Error
from r3cc.farm.process import DeadlineMissed, Failed, ProcessDied, SupervisedProcess
from r3cc.replay.compile import CodeObject, CodeRequest, CompileSetup
from r3cc.replay.model import Status
from r3cc.store.cache_use import CacheUse

MODULE = "r3cc.farm.compile_worker"

SLOWEST_RATIO = 10.0
"""A candidate may take this many times the recorded build's compilation."""
PATIENCE = 10.0
"""The recorded build's own code may take this many times what a candidate may."""

IDLE_S = 30.0
"""Seconds without work after which a process ends: the evaluators of many kernels may be open at a time."""


class DescribeRequest(msgspec.Struct, frozen=True):
    """Asks for the kernel's facts."""


class _Start(msgspec.Struct, frozen=True):
    """Asks for a process and nothing else."""


Request = CodeRequest | DescribeRequest | _Start


class _Task(msgspec.Struct, frozen=True):
    request: Request
    future: Future[Any]

    @property
    def options(self) -> tuple[str, ...] | None:
        """LLVM options that the process must have been given, None if any will do."""
        return self.request.llvm_options if isinstance(self.request, CodeRequest) else None


class CompilePool:
    """A few processes, each compiling one candidate at a time with one set of LLVM options for its whole life.

    Until it is closed, `r3 store gc` leaves the cache alone.
    """

    def __init__(self, setup: CompileSetup, processes: int, deadline_s: float) -> None:
        self._setup = setup
        self._use = CacheUse(setup.cache)
        self.deadline_s = deadline_s
        """Longest time for compiling a candidate."""
        self.idle_s = IDLE_S
        self._waiting: list[_Task] = []
        self._ahead = 0
        """Processes that are to start before there is work for them."""
        self._changed = threading.Condition()
        self._closed = False
        self._slots = [_Slot(self) for _ in range(processes)]

    def allow(self, baseline_s: float) -> None:
        """Candidates of a kernel whose recorded build took so long may take longer."""
        self.deadline_s = max(self.deadline_s, SLOWEST_RATIO * baseline_s)

    def deadline_of(self, request: Request) -> float:
        """Longest time for a request: nothing can be judged without the recorded build's own code and facts."""
        candidate = isinstance(request, CodeRequest) and request != CodeRequest()
        return self.deadline_s if candidate else PATIENCE * self.deadline_s

    @property
    def worker_pids(self) -> list[int]:
        """Process ids of the live compile processes."""
        return [slot.process.pid for slot in self._slots if slot.process]

    def start(self, count: int) -> None:
        """Let so many processes start that have not yet: reading LLVM takes time."""
        with self._changed:
            self._ahead = count
            self._changed.notify_all()

    def submit(self, request: CodeRequest) -> Future[CodeObject]:
        """Queue a compilation; its status says how it ended."""
        return self._put(request)

    def describe(self) -> Future[Any]:
        """Queue the reading of the kernel's facts."""
        return self._put(DescribeRequest())

    def close(self) -> None:
        """End the processes; what is queued is cancelled."""
        with self._changed:
            self._closed = True
            for task in self._waiting:
                task.future.cancel()
            self._waiting.clear()
            self._changed.notify_all()
        for slot in self._slots:
            slot.close()
        self._use.close()

    def _put(self, request: CodeRequest | DescribeRequest) -> Future[Any]:
        task = _Task(request, Future())
        with self._changed:
            if self._closed:
                task.future.cancel()
            else:
                self._waiting.append(task)
                self._changed.notify()
        return task.future

    def take(self, options: tuple[str, ...] | None, idle: Callable[[], None]) -> _Task | None:
        """The next task, rather one that suits a process with these options; None when the pool closes.

        ``idle`` is called when there was none for a while.
        """
        with self._changed:
            while not self._closed:
                suited = [task for task in self._waiting if task.options in (None, options)]
                if self._waiting:
                    task = (suited or self._waiting)[0]
                    self._waiting.remove(task)
                    if task.future.set_running_or_notify_cancel():
                        return task
                elif options is None and self._ahead > 0:
                    self._ahead -= 1
                    return _Task(_Start(), Future())
                elif not self._changed.wait(self.idle_s):
                    idle()
        return None

    def process(self, options: tuple[str, ...]) -> SupervisedProcess:
        """A new process for these options."""
        return SupervisedProcess(MODULE, msgspec.structs.replace(self._setup, llvm_options=options))


class _Slot:
    """A thread that keeps one compile process."""

    def __init__(self, pool: CompilePool) -> None:
        self._pool = pool
        self._options: tuple[str, ...] | None = None
        self.process: SupervisedProcess | None = None
        self._closed = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="r3 compile", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the process and the thread."""
        with self._lock:
            self._closed = True
            if self.process:
                self.process.end()
        self._thread.join()
        self._drop()

    def _run(self) -> None:
        while (task := self._pool.take(self._options, self._drop)) is not None:
            try:
                task.future.set_result(self._answer(task))
            except Exception as error:
                task.future.set_exception(error)

    def _answer(self, task: _Task) -> Any:
        deadline_s = self._pool.deadline_of(task.request)
        try:
            process = self._process_for(task)
            if isinstance(task.request, _Start):
                return None
            answer = process.ask(task.request, deadline_s)
        except DeadlineMissed:
            self._drop()
            return CodeObject(Status.COMPILE_TIMEOUT, f"compiling took more than {deadline_s:g} s")
        except ProcessDied as error:
            self._drop()
            lost = -error.exit_code in (signal.SIGKILL, signal.SIGTERM)  # not LLVM's doing
            return CodeObject(Status.WORKER_LOST if lost else Status.COMPILE_ERROR, f"the compile process was {error}")
        if isinstance(answer, Failed):
            raise R3Error(answer.message)
        return answer

    def _process_for(self, task: _Task) -> SupervisedProcess:
        if self.process and task.options not in (None, self._options):
            self._drop()
        with self._lock:
            if self._closed:
                raise ProcessDied(None, "closed", -signal.SIGKILL)
            if self.process is None:
                self._options = task.options or ()
                self.process = self._pool.process(self._options)
            return self.process

    def _drop(self) -> None:
        with self._lock:
            if self.process:
                self.process.close()
                self.process = None
