"""Evaluations on this machine: a pool of compile processes and one device worker."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Self, TypeVar

import msgspec

from r3cc.closing import Closing
from r3cc.devices.base import Limits
from r3cc.devices.count import cuda_device_names
from r3cc.devices.hip import is_host_runtime
from r3cc.errors import R3Error
from r3cc.farm.compile_pool import CompilePool
from r3cc.farm.device_lane import DeviceLane, Turn
from r3cc.farm.device_worker import OpenSession, Setup
from r3cc.farm.evaluator import EvaluatorSettings
from r3cc.replay.codegen import bad_codegen
from r3cc.replay.compile import CodeObject, CodeRequest, CompileSetup
from r3cc.replay.facts import KernelFacts
from r3cc.replay.foreign import foreign_setup, is_foreign
from r3cc.replay.geometry import derive, problem
from r3cc.replay.launches import LaunchSource, SomeLaunches, StoreLaunches
from r3cc.replay.model import Candidate, Evaluation, L2State, LaunchConfiguration, Status, TimingPlan
from r3cc.replay.session import Job, Measurement, Rules
from r3cc.replay.specialise import guard_problem
from r3cc.store import Store
from r3cc.store.model import Kernel, Launch
from r3cc.store.variants import variants_folder
from r3cc.store.whole_file import write_whole

Value = TypeVar("Value")
Result = TypeVar("Result")

BASELINE_PLAN = TimingPlan(samples=8, held_out=True)
"""The baseline is measured once, and everything is compared with it."""

_Depth = tuple[bool, bool, int, int, L2State | None]
ALL_CUDA = "cuda:*"
"""Every GPU of one model: ratios to a baseline beside them may be compared."""
_MeasureKey = tuple[str, LaunchConfiguration, _Depth, frozenset[int]]


class LocalEvaluator(Closing):
    """An ``Evaluator`` for one kernel on one device of this machine."""

    def __init__(
        self,
        source: LaunchSource,
        setup: CompileSetup,
        device: str,
        settings: EvaluatorSettings,
        turns: Mapping[str, Turn] | None = None,
    ) -> None:
        """Use ``open``; this takes launches from anywhere."""
        self._source = source
        self._launches: list[Launch] = [each.launch for each in source.launches()]
        self._settings = settings
        self.device = device
        self._device_kind = device.split(":")[0]
        self._lock = threading.RLock()
        self._closed = False
        self._compiles = True
        """Whether the compile processes are its own."""
        self._others: list[Self] = []
        """Fresh ones made of it."""
        self._codes: dict[CodeRequest, Future[CodeObject]] = {}
        self._measurements: dict[_MeasureKey, Future[Measurement]] = {}
        self._evaluations: dict[tuple[str, _Depth], Future[Evaluation]] = {}
        self._baseline: Future[Evaluation] | None = None
        self._turns = turns
        self.pool = CompilePool(setup, compile_processes(settings), settings.compile_deadline_s)
        self._open_lanes()
        self._session = self._open_session()

    def _open_lanes(self) -> None:
        turns, deadline = self._turns, self._settings.transfer_deadline_s
        self.lanes = tuple(
            DeviceLane(Setup(each, deadline), turns[each] if turns is not None else None)
            for each in devices_of(self.device)
        )
        """One for each device."""
        self.lane = self.lanes[0]
        self.lane.start()

    @classmethod
    def open(
        cls,
        store: Store,
        kernel: Kernel,
        device: str | None = None,
        settings: EvaluatorSettings = EvaluatorSettings(),  # noqa: B008
        recording: str | None = None,
        turns: Mapping[str, Turn] | None = None,
        only: Collection[str] | None = None,
    ) -> Self:
        """Evaluator for a kernel's recorded launches, on ``device`` or the one they were recorded on.

        ``cuda:*`` is every GPU of the first one's model. Evaluators with the same ``turns`` (locks by device) use each
        device one at a time. ``only`` names the launches that count; None: all.

        Raises R3Error where the kernel has no recorded launch, no IR, or was recorded on another kind of device.
        """
        chosen = check_device(kernel, device)
        source: LaunchSource = StoreLaunches(store.path, kernel, store.recording(recording).id)
        if only is not None:
            source = SomeLaunches(source, frozenset(only))
        if not source.launches():
            reasons = "; ".join(each.reason for each in kernel.not_recordable) or "the quota or a filter left it out"
            raise R3Error(f"no launch of {kernel.demangled} was recorded: {reasons}")
        architecture = next(
            (process.architecture for process in store.processes(recording) if process.device == kernel.device), ""
        )
        module = store.module(kernel.module)
        if is_foreign(module.info):
            setup = foreign_setup(store, module, kernel, chosen, architecture)
        else:
            setup = compile_setup(store, kernel, chosen, architecture)
        return cls(source, setup, chosen, settings, turns)

    @property
    def width(self) -> int:
        """One evaluation in each compile process, one on each device, one ready for them."""
        return compile_processes(self._settings) + 1 + len(self.lanes)

    def fresh(self) -> Self:
        """New device workers and no measurement, but what was compiled; closed with this one at the latest."""
        other = copy.copy(self)
        other._compiles, other._others = False, []
        other._measurements, other._evaluations, other._baseline = {}, {}, None
        other._open_lanes()
        self._others.append(other)
        return other

    def prepare(self, jobs: int = 1) -> Future[int]:
        """Have workers for so many jobs at a time, each with its session open."""
        future: Future[int] = Future()
        if self._compiles:
            self.pool.start(jobs)

        def opened(session: OpenSession | CodeObject) -> None:
            if isinstance(session, CodeObject):
                future.set_result(0)
                return
            lanes = self.lanes[:jobs]
            for lane in lanes:
                lane.open(session)
            gather([lane.prepare() for lane in lanes], future, min)

        after(self._session, future, opened)
        return future

    def baseline(self) -> Evaluation:
        """The recorded build's own code, measured beside itself."""
        with self._lock:
            if self._baseline is None or _lost(self._baseline):
                self._baseline = self.submit(Candidate(), BASELINE_PLAN)
        return self._baseline.result()

    def submit(self, candidate: Candidate, plan: TimingPlan = TimingPlan()) -> Future[Evaluation]:  # noqa: B008
        """Queue a candidate."""
        key = (candidate.id, _depth(plan))
        with self._lock:
            if key not in self._evaluations or _lost(self._evaluations[key]):
                self._evaluations[key] = self._start(candidate, plan)
            return self._evaluations[key]

    def _start(self, candidate: Candidate, plan: TimingPlan) -> Future[Evaluation]:
        reason = self._rejection(candidate)
        if reason:
            return finished(Evaluation(candidate, Status.REJECTED, reason))
        future: Future[Evaluation] = Future()
        code = self._code(CodeRequest.of(candidate))
        after(code, future, lambda compiled: self._compiled(candidate, plan, compiled, future))
        return future

    def _compiled(self, candidate: Candidate, plan: TimingPlan, code: CodeObject, future: Future[Evaluation]) -> None:
        if code.path is None:
            future.set_result(_evaluation(candidate, code, Measurement(code.status, code.message)))
            return
        measured = self._measurement(code, candidate, plan)
        after(measured, future, lambda result: future.set_result(_evaluation(candidate, code, result)))

    def _measurement(self, code: CodeObject, candidate: Candidate, plan: TimingPlan) -> Future[Measurement]:
        assert code.path is not None and code.object_hash is not None
        fixed = frozenset(index for index, _ in candidate.specialisation.arguments)
        key = (code.object_hash, candidate.launch, _depth(plan), fixed if plan.perturbed else frozenset())
        job = Job(code.path, candidate.launch, plan, fixed)
        with self._lock:
            if key not in self._measurements or _lost(self._measurements[key]):
                future = self._measurements[key] = Future()
                if _lost(self._session):
                    self._session = self._open_session()
                after(self._session, future, lambda opened: self._measure(opened, job, future))
            return self._measurements[key]

    def _measure(self, opened: OpenSession | CodeObject, job: Job, future: Future[Measurement]) -> None:
        if isinstance(opened, CodeObject):
            future.set_result(Measurement(opened.status, f"the baseline does not compile: {opened.message}"))
            return
        lane = min(self.lanes, key=lambda lane: lane.waiting)
        lane.open(opened)
        after(lane.submit(job), future, future.set_result)

    def _open_session(self) -> Future[OpenSession | CodeObject]:
        """What the device worker needs first: the baseline's code and what its IR says about memory."""
        future: Future[OpenSession | CodeObject] = Future()
        code = self._code(CodeRequest())
        after(code, future, lambda compiled: self._baseline_compiled(compiled, future))
        return future

    def _baseline_compiled(self, code: CodeObject, future: Future[OpenSession | CodeObject]) -> None:
        if code.path is None:
            future.set_result(code)
            return
        path = code.path
        self.pool.allow(code.took_ns / 1e9)

        def described(facts: KernelFacts | CodeObject) -> None:
            if isinstance(facts, CodeObject):
                future.set_result(facts)
            else:
                future.set_result(OpenSession(self._source, facts, _rules(self._settings), path))

        after(self.pool.describe(), future, described)

    def _code(self, request: CodeRequest) -> Future[CodeObject]:
        with self._lock:
            if request not in self._codes or _lost(self._codes[request]):
                self._codes[request] = self.pool.submit(request)
            return self._codes[request]

    def _rejection(self, candidate: Candidate) -> str | None:
        limits = (self.lane.properties.limits if self.lane.properties else None) or Limits()
        problems = (problem(derive(launch, candidate.launch), limits) for launch in self._launches)
        unguarded = (guard_problem(candidate, launch) for launch in self._launches)
        return bad_codegen(candidate.codegen, self._device_kind) or next(filter(None, (*problems, *unguarded)), None)

    def close(self) -> None:
        """End all processes."""
        if not self._closed:
            self._end()
            self._closed = True
            for other in self._others:
                other.close()
            if self._compiles:
                self.pool.close()
            for lane in self.lanes:
                lane.close()

    def _end(self) -> None:
        """Kill all device workers before any of them is waited for: one with a GPU takes a while to go."""
        if not self._closed:
            for lane in self.lanes:
                lane.end()
            for other in self._others:
                other._end()


def _depth(plan: TimingPlan) -> _Depth:
    """What tells one measurement of a candidate from another."""
    return plan.held_out, plan.perturbed, plan.samples, plan.repetition, plan.l2


def devices_of(device: str) -> list[str]:
    """The devices that a name stands for: itself, or for ``cuda:*`` the GPUs of the first one's model."""
    if device != ALL_CUDA:
        return [device]
    names = cuda_device_names()
    return [f"cuda:{number}" for number, name in enumerate(names) if name == names[0]] or ["cuda:0"]


_ALSO_REPLAYED_ON = {"cpu": "hip"}
"""HIP's programs have no recorder on AMD's GPUs: what the cpu device recorded of them may be replayed there."""


def check_device(kernel: Kernel, device: str | None) -> str:
    """The device to use. Raises R3Error for one of another kind than the kernel was recorded on."""
    if device is None:
        return kernel.device
    recorded, wanted = kernel.device.split(":")[0], device.split(":")[0]
    if wanted not in (recorded, _ALSO_REPLAYED_ON.get(recorded)):
        raise R3Error(
            f"{kernel.demangled} was recorded on {kernel.device} and can be replayed on a {recorded} device only; "
            f"record it with `r3 record --device {device}` to replay it on {device}"
        )
    return device


def compile_setup(store: Store, kernel: Kernel, device: str, architecture: str) -> CompileSetup:
    """What compile processes need; puts the module's bitcode into the store's cache.

    Raises R3Error without IR, and for a module that the device's kind cannot run.
    """
    module = store.module(kernel.module)
    if device.startswith("hip") and not str(module.info.get("triple")).startswith("amdgcn"):
        raise R3Error(f"{kernel.demangled} was not built for AMD's GPUs: {device} cannot run it")
    bitcode = store.cache / "modules" / f"{kernel.module}.bc"
    if not bitcode.is_file():
        write_whole(bitcode, store.bitcode(kernel.module))
    return CompileSetup(
        bitcode, module.info, kernel.name, _code_device(device), architecture, store.cache, variants_folder(store.path)
    )


def _code_device(device: str) -> str:
    """The device that code is made for: R3's own HIP runtime runs the cpu device's."""
    return "cpu" if device.startswith("hip") and is_host_runtime() else device


def compile_processes(settings: EvaluatorSettings) -> int:
    """How many compile processes to keep."""
    cores = len(os.sched_getaffinity(0))
    return settings.compile_processes or max(cores - 1, 1)


def _lost(future: Future[Any]) -> bool:
    """Whether a future's work was lost with a worker: asked for again, it is done again."""
    if not future.done() or future.cancelled() or future.exception() is not None:
        return False
    return getattr(future.result(), "status", None) is Status.WORKER_LOST


def finished(value: Value) -> Future[Value]:
    """A future that is done."""
    future: Future[Value] = Future()
    future.set_result(value)
    return future


def after(first: Future[Value], outcome: Future[Result], use: Callable[[Value], object]) -> None:
    """Hand the value of ``first`` to ``use`` once it is there; what goes wrong on the way ends ``outcome``."""

    def done(completed: Future[Value]) -> None:
        if outcome.cancelled():
            return
        if completed.cancelled():
            outcome.cancel()
            outcome.set_running_or_notify_cancel()
            return
        try:
            use(completed.result())
        except Exception as error:
            if not outcome.done():
                outcome.set_exception(error)

    first.add_done_callback(done)


def gather(parts: Sequence[Future[Value]], outcome: Future[Result], together: Callable[[list[Value]], Result]) -> None:
    """Hand the values of all parts to ``together`` once the last one is there; what goes wrong ends ``outcome``."""
    missing = threading.Semaphore(len(parts) - 1)

    def arrived(_: Future[Value]) -> None:
        if missing.acquire(blocking=False):
            return
        try:
            outcome.set_result(together([part.result() for part in parts]))
        except BaseException as error:
            outcome.set_exception(error)

    for part in parts:
        part.add_done_callback(arrived)


def _rules(settings: EvaluatorSettings) -> Rules:
    return msgspec.convert(settings, Rules, from_attributes=True)


def _evaluation(candidate: Candidate, code: CodeObject, measured: Measurement) -> Evaluation:
    phases: dict[str, Any] = dict(code.phases_ns)
    for name, spent in measured.phases_ns.items():
        phases[name] = phases.get(name, 0) + spent
    return Evaluation(
        candidate=candidate,
        status=measured.status,
        message=measured.message,
        ir_hash=code.ir_hash,
        object_hash=code.object_hash,
        time_ns=measured.time_ns,
        baseline_ns=measured.baseline_ns,
        ratio=measured.ratio,
        mismatches=measured.mismatches,
        allowances=measured.allowances,
        launches=measured.launches,
        l2=measured.l2,
        app_ns=measured.app_ns,
        mark_overhead_ns=measured.mark_overhead_ns,
        by_shape=measured.by_shape,
        floor_ns=measured.floor_ns,
        resources={**code.resources, **measured.resources},
        phases_ns=phases,
    )
