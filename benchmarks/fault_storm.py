"""A storm of faults over a search on the real cpu device: every status right, and the winner the same as without.

Two searches of one kernel. In the calm one, candidates that are chosen to fail are answered at once with the status
that they should get. In the storm the same candidates are made to fail in truth, in real processes: texts that do not
parse, launches that cannot be, LLVM aborted, a compiler that hangs, code that does not load, wild addresses, endless
kernels, wrong results, no memory. On top of that others, which are fine, lose their device worker, their compile
process or the disk under the cache while they are judged. Times are made up from the candidate, so that both searches
take one course exactly where every status of the storm is right.
"""

from __future__ import annotations

import enum
import os
import resource
import shutil
import signal
import subprocess
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from benchmarks.common import ROOT, Options, build, options_of, options_parser, record_command, report, run
from benchmarks.examples import spaces
from r3cc.farm import EvaluatorSettings
from r3cc.farm.local import LocalEvaluator
from r3cc.replay.compile import CodeRequest
from r3cc.replay.events import Answer, AnyEvent, Incumbent, Lost, Proposal, Result, decode_event
from r3cc.replay.model import Candidate, Evaluation, Interval, LaunchConfiguration, Status, TimingPlan
from r3cc.store import Store
from r3cc.store.eventlog import EventLog, read_events
from r3cc.store.variants import variants_folder
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.llvm import require_clang
from r3cc.tune.budget import Limits
from r3cc.tune.journal import Journal
from r3cc.tune.plan import Choice
from r3cc.tune.search import Target, Tuner
from r3cc.tune.space import Space
from r3cc.tune.watcher import Silent

SOURCE = ROOT / "examples/first-steps/saxpy.cu"
RIGHT = "y[i] = a * x[i] + y[i];"
SETTINGS = EvaluatorSettings(compile_processes=1, compile_deadline_s=10.0, launch_deadline_s=3.0, probes=2)
HUNG_S = 2.0
"""Deadline of a compilation that is made to hang."""
WAIT_S = 120.0
BUDGET = 120
"""Evaluations of one search, at most."""
MOST_SEARCHES = 20
QUICK = TimingPlan(warmups=0, samples=1)
O1 = "default<O1>"


class Fault(enum.Enum):
    """What is done to a candidate, and the status that it has to get; None: it is asked for again, and is fine."""

    TEXT = "a pipeline that does not parse", Status.REJECTED
    BLOCK = "a block that no device takes", Status.REJECTED
    ABORT = "LLVM aborts", Status.COMPILE_ERROR
    HANG_COMPILER = "the compile process hangs", Status.COMPILE_TIMEOUT
    UNDEFINED = "code that does not load", Status.LAUNCH_ERROR
    WILD = "a wild address", Status.DEVICE_FAULT
    ENDLESS = "an endless kernel", Status.TIMEOUT
    WRONG = "a wrong result", Status.MISMATCH
    NO_MEMORY = "no memory for the launch", Status.OUT_OF_MEMORY
    KILL_DEVICE = "the device worker is killed", None
    KILL_COMPILER = "the compile process is killed", None
    FULL_DISK = "the disk of the cache is full", None

    @property
    def status(self) -> Status | None:
        status: Status | None = self.value[1]
        return status


VARIANTS = {
    Fault.UNDEFINED: "y[i] = nowhere(a * x[i]) + y[i];",
    Fault.WILD: "*(volatile float *)((char *)y + (1ull << 34)) = a * x[i];",
    Fault.ENDLESS: "for (volatile int forever = 1; forever;)\n      ;",
    Fault.WRONG: "y[i] = a * x[i] + y[i] + (i == 5);",
    Fault.NO_MEMORY: "y[i] = a * x[i] + y[i];\n  __syncthreads();",
}
"""What the kernel's statement becomes."""


def main() -> None:
    parser = options_parser(__doc__ or "")
    parser.add_argument("--faults", type=int, default=200, help="searches with other seeds follow until so many [200]")
    given = parser.parse_args()
    options = options_of(given)
    found = storm(options, 20 if options.quick else given.faults)
    rows = [(each.value[0], str(found.injected[each])) for each in Fault]
    rows += [("in all", str(sum(found.injected.values()))), ("wrong statuses", str(len(found.wrong)))]
    rows += [("same course", str(found.same_course)), ("same winner", str(found.same_winner))]
    results = {"injected": {each.name: found.injected[each] for each in Fault}, "wrong": found.wrong}
    report(options, "fault_storm", results | {"same_course": found.same_course, "winners": found.winners}, rows)
    if found.wrong or not found.same_course or not found.same_winner:
        raise SystemExit(1)


@dataclass
class Found:
    """What the searches came to."""

    injected: Counter[Fault]
    wrong: list[str] = field(default_factory=list)
    same_course: bool = True
    same_winner: bool = True
    winners: list[str] = field(default_factory=list)


def storm(options: Options, faults: int) -> Found:
    """Pairs of searches, calm and stormy, each with another seed, until there were so many faults."""
    store = recorded(options)
    ((choice, space),) = spaces(store, [store.find_kernel("saxpy", None)], "cpu")
    harm = Faults(store, {fault: keep_variant(store, statement, options) for fault, statement in VARIANTS.items()})
    found = Found(harm.injected)
    for seed in range(1, MOST_SEARCHES):
        harm.again.clear()
        budget = max(12, min(BUDGET, 2 * (faults - harm.injected.total())))
        calm = search(store, choice, space, budget, seed, None, options.out / "calm.jsonl")
        stormy = search(store, choice, space, budget, seed, harm, options.out / "storm.jsonl")
        winners = [next(event for event in events if isinstance(event, Result)) for events in (calm, stormy)]
        found.wrong += wrong_statuses(stormy)
        found.same_course &= course(calm) == course(stormy)
        found.same_winner &= winners[0].candidate == winners[1].candidate and winners[0].n == winners[1].n
        found.winners.append(" ".join(winners[1].changes) or "no improvement")
        print(f"seed {seed}: {harm.injected.total()} faults, {len(found.wrong)} wrong statuses", flush=True)
        if harm.injected.total() >= faults:
            break
    return found


def recorded(options: Options) -> Store:
    """A recording of saxpy on the cpu device."""
    path = options.out / "storm-store"
    shutil.rmtree(path, ignore_errors=True)
    run([*record_command(path, "cpu"), "--", build(SOURCE, options), "20000"])
    return Store.open(path)


def keep_variant(store: Store, statement: str, options: Options) -> str:
    """The kernel with another statement as a variant of the store's; its id."""
    text = SOURCE.read_text()
    assert RIGHT in text
    declared = text.replace("__global__ void saxpy", "__device__ float nowhere(float);\n__global__ void saxpy")
    cuda = find_cuda()
    assert cuda is not None
    command = [
        *(str(require_clang().path), "-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch={options.architecture}"),
        *("-Wno-unknown-cuda-version", f"--cuda-path={cuda.path}", "-O3", "-Xclang", "-disable-llvm-passes"),
        *("-fgpu-rdc", "-emit-llvm", "-c", "-o", "-", "-"),
    ]
    made = subprocess.run(command, input=declared.replace(RIGHT, statement).encode(), capture_output=True, check=True)
    folder = variants_folder(store.path)
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{zlib.crc32(made.stdout):016x}"
    (folder / f"{name}.bc").write_bytes(made.stdout)
    return name


def search(
    store: Store, choice: Choice, space: Space, budget: int, seed: int, faults: Faults | None, log: Path
) -> tuple[AnyEvent, ...]:
    """One search as ``r3 tune`` does it; its events."""
    log.unlink(missing_ok=True)

    def open_evaluator() -> Weather:
        return Weather(Forgetful.open(store, choice.kernel, "cpu", SETTINGS), faults)

    with EventLog(log) as events:
        target = Target(choice.plan, space, open_evaluator)
        Tuner(Journal(events, ()), [target], Silent(), "r3", seed, Limits(budget)).run()
    return tuple(map(decode_event, read_events(log)))


def course(events: Sequence[AnyEvent]) -> list[tuple[object, ...]]:
    """What was asked for, what it came to and what became the best, in order."""
    return [
        (event.n, event.candidate.id)
        if isinstance(event, Proposal)
        else (event.n, event.evaluation.status, event.loss)
        if isinstance(event, Answer)
        else (event.n, "best")
        for event in events
        if isinstance(event, (Proposal, Answer, Incumbent))
    ]


def wrong_statuses(events: Sequence[AnyEvent]) -> list[str]:
    """Answers whose status is not that of their fault, or not ok where nothing was done for good."""
    return [
        f"{fault.name if fault else 'none'}: {event.evaluation.status}: {event.evaluation.message}"
        for event in events
        if isinstance(event, Answer)
        and (fault := fault_of(event.evaluation.candidate), status := event.evaluation.status)
        and status is not ((fault.status if fault else None) or Status.OK)
    ] + [
        f"lost too often: {event.message}" for event in events if isinstance(event, Lost) and "closed" in event.message
    ]


def fault_of(candidate: Candidate) -> Fault | None:
    """What happens to a candidate: to three of four something, to the baseline's own build nothing."""
    drawn = zlib.crc32(f"storm {candidate.id}".encode())
    everyone = list(Fault)
    return None if drawn % 4 == 0 or candidate == Candidate() else everyone[drawn // 4 % len(everyone)]


def ratio_of(candidate: Candidate) -> float:
    """A made-up time over the baseline's: the larger part by block and length of the pipeline, the rest by chance."""
    block = candidate.launch.block
    chance = zlib.crc32(candidate.canonical()) % 1000 / 1000
    return (0.8 if block is not None and block[0] == 128 else 1.0) * (0.95 + 0.1 * chance)


class Forgetful(LocalEvaluator):
    """Judges anew what it has judged before."""

    def forget(self) -> None:
        """All evaluations, measurements and code objects that are known here; those in the cache stay."""
        self._evaluations.clear()
        self._measurements.clear()
        self._codes.clear()


class Weather:
    """A real evaluator with made-up times, one candidate at a time. ``faults`` None: failures are answered at once."""

    width = 1

    def __init__(self, real: Forgetful, faults: Faults | None) -> None:
        self._real = real
        self._faults = faults

    def fresh(self) -> Weather:
        """On fresh processes."""
        return Weather(self._real.fresh(), self._faults)

    def prepare(self, jobs: int = 1) -> Future[int]:
        """As the real one."""
        return self._real.prepare(jobs)

    def baseline(self) -> Evaluation:
        """Valid in truth; its time is made up."""
        return timed(self._real.baseline(), Candidate())

    def submit(self, candidate: Candidate, plan: TimingPlan = TimingPlan()) -> Future[Evaluation]:  # noqa: B008
        """The candidate's evaluation, with its fault."""
        self._real.forget()
        fault = None if plan.held_out else fault_of(candidate)
        answer: Future[Evaluation] = Future()
        if fault is not None and self._faults is not None:
            judged = self._faults.inject(fault, self._real, candidate)
        elif fault is not None and fault.status is not None:
            judged = Evaluation(candidate, fault.status)
        else:
            judged = self._real.submit(candidate, QUICK).result(WAIT_S)
        answer.set_result(timed(msgspec.structs.replace(judged, candidate=candidate), candidate))
        return answer

    def close(self) -> None:
        """End all processes."""
        self._real.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def timed(evaluation: Evaluation, candidate: Candidate) -> Evaluation:
    """A valid evaluation with its made-up time, and as if its code were like no other."""
    if evaluation.status is not Status.OK:
        return evaluation
    ratio = ratio_of(candidate) if candidate != Candidate() else 1.0
    interval = Interval(ratio, ratio * 0.999, ratio * 1.001, 8)
    baseline = Interval(1e6, 0.999e6, 1.001e6, 8)
    return msgspec.structs.replace(
        evaluation,
        ratio=interval,
        time_ns=Interval(1e6 * ratio, 0.999e6 * ratio, 1.001e6 * ratio, 8),
        baseline_ns=baseline,
        floor_ns=0.0,
        object_hash=candidate.id,
    )


@dataclass
class Faults:
    """Does the harm, and counts it."""

    store: Store
    variants: dict[Fault, str]
    injected: Counter[Fault] = field(default_factory=Counter)
    again: set[str] = field(default_factory=set)
    """Candidates that were lost once: the second time they are left alone."""

    def inject(self, fault: Fault, real: Forgetful, candidate: Candidate) -> Evaluation:
        """A candidate's evaluation under its fault."""
        if fault.status is None and candidate.id in self.again:
            return real.submit(candidate, QUICK).result(WAIT_S)
        self.again.add(candidate.id)
        self.injected[fault] += 1
        harm: dict[Fault, Any] = {
            Fault.TEXT: lambda: judge(real, Candidate("defalt<O1>")),
            Fault.BLOCK: lambda: judge(real, Candidate(launch=LaunchConfiguration(block=(2048, 1, 1)))),
            Fault.ABORT: lambda: judge(real, Candidate("loop(licm)")),
            Fault.HANG_COMPILER: lambda: self._hang_compiler(real),
            Fault.NO_MEMORY: lambda: self._no_memory(real),
            Fault.KILL_DEVICE: lambda: self._kill_device(real, candidate),
            Fault.KILL_COMPILER: lambda: self._kill_compiler(real, candidate),
            Fault.FULL_DISK: lambda: self._full_disk(real, candidate),
        }
        evaluation: Evaluation = harm.get(fault, lambda: judge(real, Candidate(variant=self.variants[fault])))()
        if fault.status is None and evaluation.status is not Status.WORKER_LOST:
            self.injected[fault] -= 1  # the harm came too late
        return evaluation

    def _hang_compiler(self, real: Forgetful) -> Evaluation:
        pid = compiler(real, CodeRequest(O1))
        patience, real.pool.deadline_s = real.pool.deadline_s, HUNG_S
        os.kill(pid, signal.SIGSTOP)
        try:
            return judge(real, Candidate(O1))
        finally:
            real.pool.deadline_s = patience

    def _no_memory(self, real: Forgetful) -> Evaluation:
        """The launch needs a stack a thread; the worker gets no more than it has, but for loading the code."""
        variant = Candidate(variant=self.variants[Fault.NO_MEMORY])
        pid = worker(real)
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + (4 << 20)
        resource.prlimit(pid, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        try:
            return judge(real, variant)
        finally:
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    def _kill_device(self, real: Forgetful, candidate: Candidate) -> Evaluation:
        pid = worker(real)
        os.kill(pid, signal.SIGSTOP)
        future = real.submit(candidate, QUICK)
        until = time.monotonic() + WAIT_S
        while not real.lane.waiting and not future.done() and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        return future.result(WAIT_S)

    def _kill_compiler(self, real: Forgetful, candidate: Candidate) -> Evaluation:
        pid = compiler(real, CodeRequest.of(candidate))
        os.kill(pid, signal.SIGSTOP)
        future = real.submit(candidate, QUICK)
        time.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
        return future.result(WAIT_S)

    def _full_disk(self, real: Forgetful, candidate: Candidate) -> Evaluation:
        """No byte can be written by the compile process, and nothing that it made before is remembered."""
        pid = compiler(real, CodeRequest.of(candidate))
        shutil.rmtree(self.store.cache / "code", ignore_errors=True)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        try:
            return judge(real, candidate)
        finally:
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def judge(real: Forgetful, candidate: Candidate) -> Evaluation:
    return real.submit(candidate, QUICK).result(WAIT_S)


def compiler(real: Forgetful, request: CodeRequest) -> int:
    """The compile process that the next request with these options will go to."""
    real.pool.submit(request).result(WAIT_S)
    real.forget()
    return real.pool.worker_pids[0]


def worker(real: Forgetful) -> int:
    """The device's worker, alive and idle."""
    while (pid := real.lane.worker_pid) is None or judge(real, Candidate()).status is not Status.OK:
        real.forget()
        judge(real, Candidate())
    real.forget()
    return pid


if __name__ == "__main__":
    main()
