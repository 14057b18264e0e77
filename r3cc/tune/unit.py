"""Module-scope values: one build has one code generation and one ptxas a unit, so its kernels are judged together.

A *unit* is a module of which several kernels ran. Its module-scope knobs are searched before its kernels are, for the
share-weighted sum of their times, and what the finals confirm on every recorded kernel of the unit then holds for each
of them.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack

import msgspec

from r3cc.closing import Closing
from r3cc.farm.evaluator import Evaluator
from r3cc.farm.local import gather
from r3cc.replay.events import KernelPlan
from r3cc.replay.model import Candidate, Evaluation, Interval, Status, TimingPlan
from r3cc.tune.knob_space import KnobSpace


class Unit(msgspec.Struct, frozen=True):
    """A unit to tune."""

    plan: KernelPlan
    """Its line in the event log, under the module's id."""
    kernels: tuple[str, ...]
    """Ids of the kernels that are searched under its values."""
    space: KnobSpace
    """The module-scope knobs."""
    open_search: Callable[[], Evaluator]
    """Evaluator over the kernels that are tuned."""
    open_finals: Callable[[], Evaluator]
    """Evaluator over every recorded kernel of the unit."""


class Member(msgspec.Struct, frozen=True):
    """A kernel of a unit."""

    name: str
    weight: float
    """Its share of device time."""
    open: Callable[[Mapping[str, threading.Lock]], Evaluator]
    """Opens its evaluator, which holds a device's lock while it uses the device."""


class UnitOpener(msgspec.Struct, frozen=True):
    """Opens a unit's evaluator, here or in an executor's worker."""

    members: tuple[Member, ...]

    def __call__(self) -> UnitEvaluator:
        """An evaluator over all members."""
        return UnitEvaluator.open(self.members)


class UnitEvaluator(Closing):
    """Judges a candidate on every kernel of a unit: valid on all, or not at all; times weighted by share."""

    def __init__(self, members: Sequence[Member], evaluators: Sequence[Evaluator]) -> None:
        self._members = tuple(members)
        self._evaluators = list(evaluators)

    @classmethod
    def open(cls, members: Sequence[Member]) -> UnitEvaluator:
        """Open an evaluator for each member; they use a device one at a time."""
        locks: Mapping[str, threading.Lock] = defaultdict(threading.Lock)
        with ExitStack() as opened:
            evaluators = [opened.enter_context(member.open(locks)) for member in members]
            opened.pop_all()
        return cls(members, evaluators)

    @property
    def width(self) -> int:
        """As many as its narrowest member takes."""
        return min(evaluator.width for evaluator in self._evaluators)

    def fresh(self) -> UnitEvaluator:
        """Over fresh evaluators of the members."""
        return UnitEvaluator(self._members, [evaluator.fresh() for evaluator in self._evaluators])

    def prepare(self, jobs: int = 1) -> Future[int]:
        """Every member where they fit all at a time, else none: they are opened as their turns come."""
        room: Future[int] = Future()
        count = len(self._evaluators)
        if self._evaluators[0].prepare(jobs).result() < count - 1:
            room.set_result(0)
        else:
            prepared = [evaluator.prepare(jobs) for evaluator in self._evaluators]
            gather(prepared, room, lambda rooms: min(rooms) // count)
        return room

    def baseline(self) -> Evaluation:
        """The recorded build's own code on every kernel."""
        return self._together([evaluator.baseline() for evaluator in self._evaluators])

    def submit(self, candidate: Candidate, plan: TimingPlan = TimingPlan()) -> Future[Evaluation]:  # noqa: B008
        """Queue a candidate on every kernel. There is no race: one kernel may lose what others gain."""
        whole = plan if plan.race is None else TimingPlan(l2=plan.l2)
        parts = [evaluator.submit(candidate, whole) for evaluator in self._evaluators]
        gathered: Future[Evaluation] = Future()
        gather(parts, gathered, self._together)
        return gathered

    def _together(self, evaluations: Sequence[Evaluation]) -> Evaluation:
        return together(evaluations, self._members)

    def close(self) -> None:
        """End all members."""
        for evaluator in self._evaluators:
            evaluator.close()


def together(evaluations: Sequence[Evaluation], members: Sequence[Member]) -> Evaluation:
    """One evaluation of a candidate's on every kernel of a unit.

    The first failure, its kernel named; else share-weighted means of times and ratios. Bounds are weighted alike, which
    makes them wider than they need to be.
    """
    for evaluation, member in zip(evaluations, members, strict=True):
        if evaluation.status is not Status.OK:
            return msgspec.structs.replace(evaluation, message=f"{member.name}: {evaluation.message}", ratio=None)
    weights = [member.weight for member in members]
    states = {evaluation.l2 for evaluation in evaluations}
    objects = "".join(evaluation.object_hash or "" for evaluation in evaluations)
    return Evaluation(
        candidate=evaluations[0].candidate,
        status=Status.OK,
        object_hash=hashlib.sha256(objects.encode()).hexdigest() if objects else None,
        time_ns=weighted([evaluation.time_ns for evaluation in evaluations], weights),
        baseline_ns=weighted([evaluation.baseline_ns for evaluation in evaluations], weights),
        ratio=weighted([evaluation.ratio for evaluation in evaluations], weights),
        launches=sum(evaluation.launches for evaluation in evaluations),
        l2=states.pop() if len(states) == 1 else None,
        phases_ns=dict(sum((Counter(evaluation.phases_ns) for evaluation in evaluations), Counter())),
    )


def weighted(intervals: Sequence[Interval | None], weights: Sequence[float]) -> Interval | None:
    """Weighted mean of intervals, bound by bound; None where one is missing."""
    known = [interval for interval in intervals if interval is not None]
    if len(known) < len(intervals):
        return None
    total = sum(weights)
    parts = [weight / total if total else 1 / len(weights) for weight in weights]
    pairs = list(zip(known, parts, strict=True))
    return Interval(
        sum(interval.median * part for interval, part in pairs),
        sum(interval.low * part for interval, part in pairs),
        sum(interval.high * part for interval, part in pairs),
        min(interval.samples for interval in known),
    )
