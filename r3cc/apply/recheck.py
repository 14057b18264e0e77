"""A profile on the recorded launches: does each tuned kernel still compute the same, and is it still faster?"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence

import msgspec

from r3cc.apply.profile import Entry, Profile, choose
from r3cc.apply.rules import has_values, launched, shape_of, takes
from r3cc.errors import R3Error, UsageError
from r3cc.farm import EvaluatorSettings
from r3cc.farm.local import LocalEvaluator
from r3cc.llvm.inspect import kernel_identity
from r3cc.replay.model import (
    Candidate,
    Evaluation,
    LaunchConfiguration,
    Numerics,
    Specialisation,
    Status,
    Table,
    TimingPlan,
)
from r3cc.store import Store
from r3cc.store.model import Kernel, Launch, Process

WRONG = (Status.MISMATCH, Status.DEVICE_FAULT, Status.LAUNCH_ERROR, Status.TIMEOUT)
"""Statuses of a kernel that was compiled and doesn't do what it did when it was recorded."""


class Verdict(enum.StrEnum):
    """What a check says of one kernel."""

    GOOD = "good"
    MISMATCH = "mismatch"
    SLOWER = "lost speedup"
    NOT_RUN = "not run"


class Checked(msgspec.Struct, frozen=True):
    """One entry of a profile, replayed."""

    name: str
    demangled: str
    verdict: Verdict
    message: str
    evaluation: Evaluation | None


class Demand(msgspec.Struct, frozen=True):
    """What a kernel has to reach. A speedup is lost when its whole interval lies below."""

    min_speedup: float = 1.0
    threshold: float | None = None
    """Part of the profile's own speedup."""

    def speedup(self, entry: Entry) -> float:
        """The least speedup that ``entry`` may have."""
        if self.threshold is None:
            return self.min_speedup
        return max(self.min_speedup, self.threshold / entry.evidence.ratio.median)


Judge = Callable[[Kernel, Entry], Evaluation]


def candidate_of(entry: Entry) -> Candidate:
    """What a build makes of an entry, as replay takes it."""
    codegen = tuple(sorted({**entry.attributes, **entry.module}.items()))
    launch = LaunchConfiguration()
    if entry.launch is not None:
        grid = None if entry.launch.grid == "derived" else entry.launch.grid
        shapes = tuple((each.grid, each.block, each.shared) for each in entry.launch.guard.shapes)
        own = tuple(
            ((each.shape.grid, each.shape.block, each.shape.shared), each.block) for each in entry.launch.by_shape
        )
        launch = LaunchConfiguration(grid=grid, block=entry.launch.block, shapes=shapes, by_shape=own)
    special = entry.specialised
    if special is None:
        return Candidate(entry.pipeline, codegen, launch)
    arguments = tuple((each.index, each.value) for each in special.arguments)
    tables = tuple(
        Table(each.value, each.variable or "", each.argument or 0, each.offset or 0) for each in special.tables
    )
    wanted = Specialisation(arguments, special.block, special.grid, tables)
    return Candidate(entry.pipeline, codegen, launch, None, wanted)


def reached(entry: Entry, launch: Launch) -> bool:
    """Whether what a build does to a recorded launch is what replay makes of the entry.

    Without a second version all launches get the entry's code, those outside the rule's shapes at their own dimensions.
    """
    given = launched(entry.launch, shape_of(launch))
    if entry.specialised is None:
        return given is None or has_values(entry.launch, None, launch)
    bounds = entry.attributes.get("maxntid")
    return (
        given is not None
        and takes(entry.specialised, bounds, given)
        and has_values(entry.launch, entry.specialised, launch)
    )


def check(store: Store, recording: str | None, profile: Profile, judge: Judge, demand: Demand) -> Iterator[Checked]:
    """Each recorded kernel that the profile names, replayed with its entry.

    Raises R3Error where the recording holds none of them.
    """
    processes = store.processes(recording)
    found = False
    for kernel in store.kernels(recording):
        named = [entry for entry in profile.kernels if entry.name == kernel.name]
        if not named:
            continue
        found = True
        entry, problem = entry_for(store, kernel, named, processes)
        yield judged(kernel, entry, judge, demand) if entry else _not_run(kernel, problem)
    if not found:
        raise R3Error(f"the recording {store.recording(recording).id} holds no kernel that the profile names")


def entry_for(
    store: Store, kernel: Kernel, named: Sequence[Entry], processes: Sequence[Process]
) -> tuple[Entry | None, str]:
    """The entry of a kernel's name for its code and its device, or why there is none."""
    process = next((each for each in processes if each.device == kernel.device), None)
    device = "cpu" if kernel.device == "cpu" or process is None else process.device_name
    architecture = str(store.module(kernel.module).info.get("architecture", ""))
    entry = choose(named, device, architecture)
    if entry is None:
        others = ", ".join(sorted({each.device for each in named}))
        return None, f"the profile has nothing for {device} ({architecture}), it has {others}"
    digest = kernel_identity(store.bitcode(kernel.module), kernel.name).digest
    same = choose([each for each in named if each.digest == digest], device, architecture)
    return same, "" if same else "its code has changed since the profile was made; record and tune it again"


def judged(kernel: Kernel, entry: Entry, judge: Judge, demand: Demand) -> Checked:
    """The verdict on one kernel, which does not keep others from theirs. Raises UsageError as the judge does."""
    try:
        evaluation = judge(kernel, entry)
    except UsageError:
        raise
    except R3Error as error:
        return _not_run(kernel, str(error))
    wanted = demand.speedup(entry)
    if evaluation.status in WRONG:
        return _checked(kernel, Verdict.MISMATCH, evaluation, _what_differs(evaluation))
    if evaluation.status is not Status.OK or evaluation.ratio is None:
        return _checked(kernel, Verdict.NOT_RUN, evaluation, f"{evaluation.status}: {evaluation.message}")
    best = 1 / evaluation.ratio.low
    if best < wanted:
        return _checked(kernel, Verdict.SLOWER, evaluation, f"at most {best:.3f}x, wanted is {wanted:.3f}x")
    return _checked(kernel, Verdict.GOOD, evaluation, f"{1 / evaluation.ratio.median:.3f}x")


def replay(store: Store, recording: str | None, device: str | None, samples: int) -> Judge:
    """A judge that replays what an entry reaches on a device of this machine, at the entry's numerics."""

    def judge(kernel: Kernel, entry: Entry) -> Evaluation:
        names = frozenset(each.launch for each in store.launches(kernel, recording) if reached(entry, each))
        if not names:
            return Evaluation(candidate_of(entry), Status.REJECTED, "no recorded launch is one that its guard admits")
        evidence = entry.evidence
        settings = EvaluatorSettings(
            numerics=Numerics(evidence.numerics), rtol=evidence.rtol, atol=evidence.atol, compile_processes=1
        )
        with LocalEvaluator.open(store, kernel, device, settings, recording, only=names) as evaluator:
            return evaluator.submit(candidate_of(entry), TimingPlan(samples=samples, held_out=True)).result()

    return judge


def _what_differs(evaluation: Evaluation) -> str:
    if not evaluation.mismatches:
        return f"{evaluation.status}: {evaluation.message}"
    worst = evaluation.mismatches[0]
    return f"{worst.where}: {worst.count} {worst.element} differ, by up to {worst.furthest[0]}"


def _checked(kernel: Kernel, verdict: Verdict, evaluation: Evaluation, message: str) -> Checked:
    return Checked(kernel.name, kernel.demangled, verdict, message, evaluation)


def _not_run(kernel: Kernel, problem: str) -> Checked:
    return Checked(kernel.name, kernel.demangled, Verdict.NOT_RUN, problem, None)
