"""What a search found, from its event log alone: the value behind the table and the JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from r3cc.apply.coverage import guard_coverage, measured_share
from r3cc.apply.rules import launch_rule, shape_of, specialised
from r3cc.errors import R3Error
from r3cc.replay.events import (
    Answer,
    AnyEvent,
    Baseline,
    Begin,
    End,
    Final,
    Incumbent,
    KernelPlan,
    Result,
    Session,
    Spent,
    Stop,
    read_log,
)
from r3cc.replay.model import Allowance, Candidate, Interval, L2State
from r3cc.store import Store
from r3cc.store.search import Search

E = TypeVar("E")
REMIX = "remix"
"""What a remix search has for its optimizer."""
CPU_HEADING = "cpu device: not a prediction for any GPU"


class KernelReport(msgspec.Struct, frozen=True):
    """One kernel of a search. Times are nanoseconds per launch, medians with 95 % intervals."""

    id: str
    name: str
    demangled: str
    module: str
    share: float
    numerics: str
    baseline: Interval | None
    best: Interval | None
    """None: no improvement, or the search is not over."""
    speedup: Interval | None
    """Baseline over the best finalist, measured again in fresh processes; inside its interval it is no improvement."""
    finished: bool
    """There is a verdict."""
    improved: bool
    candidate: Candidate | None
    """The winner."""
    changes: tuple[str, ...]
    evaluations: int
    statuses: dict[str, int]
    """Evaluations by how they ended."""
    stopped: str | None
    """Why the search ended: budget, time, plateau, exhausted; None while it is not over."""
    search_ratio: float | None
    """Best ratio seen in the search: too good, as the best of many noisy numbers is."""
    note: str
    l2: L2State | None
    """Cache state in which launches were timed."""
    app_ns: float
    """The kernel's time per launch in the application; 0 when it was not taken."""
    coverage: float | None = None
    """Share of the kernel's time in the application whose launch shapes the winner's guard admits; None without a
    launch rule, and where the recording has no times by shape."""
    measured_share: float | None = None
    """Share of the kernel's time in the application for which the speedup speaks; None as for ``coverage``."""
    allowances: tuple[Allowance, ...] = ()
    """Where the winner's results pass by the kernel's sensitivity alone, on other inputs than the recorded, too."""
    rtol: float | None = None
    atol: float | None = None


class SearchReport(msgspec.Struct, frozen=True):
    """A search and its kernels."""

    search: str
    recording: str
    device: str
    device_name: str
    heading: str | None
    """A warning that belongs over every number."""
    optimizer: str
    seed: int
    complete: bool
    sessions: int
    kernels: tuple[KernelReport, ...]
    spent: Spent | None = None
    """Seconds that the units and kernels with a verdict took, all together; None where the log does not say."""


def search_report(store: Store, search: Search) -> SearchReport:
    """The report of a search in its store, with what only the recording knows. Raises R3Error."""
    report = summarise(search.id, read_log(search.events_path))
    kernels = tuple(_with_coverage(store, report.recording, kernel) for kernel in report.kernels)
    return msgspec.structs.replace(report, kernels=kernels)


def summarise(search: str, events: Sequence[AnyEvent]) -> SearchReport:
    """The report of a search's events; R3Error when they do not begin as a search does."""
    begin = events[0] if events else None
    if not isinstance(begin, Begin):
        raise R3Error(f"the search {search} has no beginning; run `r3 tune --fresh`")
    return SearchReport(
        search=search,
        recording=begin.recording,
        device=begin.device,
        device_name=begin.device_name,
        heading=CPU_HEADING if begin.on_host else None,
        optimizer=begin.optimizer,
        seed=begin.seed,
        complete=any(isinstance(event, End) for event in events),
        sessions=sum(isinstance(event, Session) for event in events),
        kernels=tuple(_kernel(plan, events, begin.optimizer) for plan in begin.kernels),
        spent=_spent(events),
    )


def _spent(events: Sequence[AnyEvent]) -> Spent | None:
    each = [event.spent for event in events if isinstance(event, Result) and event.spent is not None]
    if not each:
        return None
    return Spent(
        sum(spent.opening_s for spent in each),
        sum(spent.search_s for spent in each),
        sum(spent.finals_s for spent in each),
    )


def verb_of(optimizer: str) -> str:
    """The verb that goes on with a search, or repeats it."""
    return REMIX if optimizer == REMIX else "tune"


def _kernel(plan: KernelPlan, events: Sequence[AnyEvent], optimizer: str) -> KernelReport:
    own = [event for event in events if getattr(event, "kernel", None) == plan.kernel]
    answers = [event.evaluation for event in own if isinstance(event, Answer)]
    baseline = _last(own, Baseline)
    result = _last(own, Result)
    stop = _last(own, Stop)
    incumbent = _last(own, Incumbent)
    judged = baseline.evaluation if baseline is not None else None
    recorded = judged.time_ns if judged is not None else None
    return KernelReport(
        id=plan.kernel,
        name=plan.name,
        demangled=plan.demangled,
        module=plan.module,
        share=plan.share,
        numerics=plan.numerics,
        baseline=result.baseline_ns if result is not None else recorded,
        best=result.best_ns if result is not None else None,
        speedup=result.speedup if result is not None else None,
        finished=result is not None,
        improved=result is not None and result.n is not None,
        candidate=result.candidate if result is not None and result.n is not None else None,
        changes=result.changes if result is not None else (),
        evaluations=len(answers),
        statuses=dict(Counter(str(evaluation.status) for evaluation in answers).most_common()),
        stopped=stop.reason if stop is not None else None,
        search_ratio=incumbent.ratio if incumbent is not None else None,
        note=result.note if result is not None else f"not finished: `r3 {verb_of(optimizer)}` goes on with it",
        l2=judged.l2 if judged is not None else None,
        app_ns=judged.app_ns if judged is not None else 0.0,
        allowances=_allowances(result, own),
        rtol=plan.rtol,
        atol=plan.atol,
    )


def _allowances(result: Result | None, events: Sequence[AnyEvent]) -> tuple[Allowance, ...]:
    """Those of the winner, area by area: the search's, and the finals' on what only they judge."""
    found: dict[str, Allowance] = {}
    if result is None or result.n is None:
        return ()
    for event in events:
        if isinstance(event, (Answer, Final)) and event.evaluation.candidate == result.candidate:
            found |= {each.where: each.together(found.get(each.where)) for each in event.evaluation.allowances}
    return tuple(found.values())


def _with_coverage(store: Store, recording: str, report: KernelReport) -> KernelReport:
    candidate = report.candidate
    if candidate is None:
        return report
    try:
        kernel = store.find_kernel(report.id, recording)
        launches = store.launches(kernel, recording)
        rule, special = launch_rule(candidate.launch, launches), specialised(candidate.specialisation, launches)
    except R3Error:  # a search outlives its recording
        return report
    if rule is None and special is None:
        return report
    bounds = dict(candidate.codegen).get("maxntid")
    found = guard_coverage(rule, special, bounds, kernel)
    measured = measured_share(rule, special, bounds, kernel, [shape_of(launch) for launch in launches])
    return msgspec.structs.replace(report, coverage=found and found.share, measured_share=measured)


def _last(events: Sequence[AnyEvent], kind: type[E]) -> E | None:
    return next((event for event in reversed(events) if isinstance(event, kind)), None)
