"""A whole search: kernels one after another, several evaluations in flight, every step in the event log first.

The log is the truth. Killed at any moment, a search loses the answers that were under way and nothing else: a new
process replays the log and goes on.
"""

from __future__ import annotations

import math
import os
import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

import msgspec

from r3cc.farm.evaluator import Evaluator
from r3cc.replay.events import Answer, Baseline, End, Incumbent, KernelPlan, Proposal, Result, Session, Stop
from r3cc.replay.model import Evaluation, Status, TimingPlan
from r3cc.tune.budget import Allowance, share_of
from r3cc.tune.finals import decide, finalists, no_improvement
from r3cc.tune.genotype import Genotype
from r3cc.tune.journal import Journal
from r3cc.tune.kernel_search import MINIMIZE, Asked, Judged, KernelSearch, replay
from r3cc.tune.library import seeds
from r3cc.tune.proposers import O3Proposer, Proposer, R3Proposer, RandomProposer
from r3cc.tune.simplify import simplify
from r3cc.tune.space import Space
from r3cc.tune.watcher import Watcher

OPTIMIZERS = ("r3", "random", "o3-only")
MIN_NOISE = 0.002
"""Relative changes below this count as noise even where the measured one is smaller."""
HOPELESS = 3
"""Times the noise above the incumbent at which sampling a candidate ends early."""


class Target(msgspec.Struct, frozen=True):
    """A kernel to tune: its plan, its space and how to open an evaluator for it."""

    plan: KernelPlan
    space: Space
    open_evaluator: Callable[[], Evaluator]


class Limits(msgspec.Struct, frozen=True):
    """Where a session stops; None for no limit."""

    budget: int | None = None
    """Evaluations over all kernels and sessions."""
    time_s: float | None = None
    """Wall time of this session."""


class Tuner:
    """Runs a search from where its journal stands.

    An interrupt (KeyboardInterrupt) ends it in order: evaluators closed, the log complete up to the last answer.
    """

    def __init__(
        self, journal: Journal, targets: Sequence[Target], watcher: Watcher, optimizer: str, seed: int, limits: Limits
    ) -> None:
        self._journal = journal
        self._targets = targets
        self._watcher = watcher
        self._optimizer = optimizer
        self._seed = seed
        self._limits = limits
        self._start = time.monotonic()

    def run(self) -> list[Result]:
        """Tune every kernel that has no result yet; results in the order of the kernels."""
        limits = msgspec.structs.asdict(self._limits)
        self._journal.add(Session, pid=os.getpid(), host=socket.gethostname(), **limits)
        results = [self._result(index, target) for index, target in enumerate(self._targets)]
        self._journal.add(End)
        return results

    def _result(self, index: int, target: Target) -> Result:
        known = self._journal.result(target.plan.kernel)
        if known is not None:
            return known
        result = self._tune(index, target)
        self._journal.append(result)
        self._watcher.kernel_ends(target.plan, result)
        return result

    def _tune(self, index: int, target: Target) -> Result:
        plan = target.plan
        with target.open_evaluator() as evaluator:
            baseline = self._baseline(plan.kernel, evaluator)
            judged = baseline.evaluation
            if judged.status is not Status.OK:
                why = f"the baseline could not be replayed: {judged.status}: {judged.message}"
                return no_improvement(plan, judged, why)
            search = self._kernel_search(target, baseline)
            replay(search, self._journal.earlier(plan.kernel))
            if not self._journal.stopped(plan.kernel):
                allowance = self._allowance(index)
                self._watcher.kernel_begins(plan, search.evaluations, allowance)
                run = KernelRun(plan, search, evaluator, self._journal, self._watcher, allowance)
                self._journal.add(Stop, kernel=plan.kernel, reason=run.until_stopped())
        chosen = finalists(search)
        self._watcher.finals_begin(plan, len(chosen))
        return decide(plan, search, judged, chosen, target.open_evaluator, self._journal.append)

    def _baseline(self, kernel: str, evaluator: Evaluator) -> Baseline:
        known = next((event for event in self._journal.earlier(kernel) if isinstance(event, Baseline)), None)
        if known is not None and known.evaluation.status is Status.OK:
            return known
        judged = evaluator.baseline()
        noise, width = noise_of(judged), evaluator.width
        return self._journal.add(Baseline, kernel=kernel, evaluation=judged, noise=noise, width=width)

    def _kernel_search(self, target: Target, baseline: Baseline) -> KernelSearch:
        space = target.space
        first: Sequence[Genotype] = ()
        match self._optimizer:
            case "random":
                proposer: Proposer = RandomProposer(space, self._seed)
            case "o3-only":
                proposer = O3Proposer()
            case _:
                proposer = R3Proposer(space, self._seed, baseline.width)
                first = seeds(space.base, space.vocabulary)
        return KernelSearch(space, proposer, baseline.evaluation, baseline.noise, first)

    def _allowance(self, index: int) -> Allowance:
        """What a kernel may spend of what the ones before it left: unspent parts pass on."""
        part = share_of([t.plan.share for t in self._targets[index:] if not self._journal.result(t.plan.kernel)])
        before = sum(self._journal.spent(target.plan.kernel) for target in self._targets[:index])
        budget, time_s = self._limits.budget, self._limits.time_s
        evaluations = None if budget is None else max(1, round((budget - before) * part))
        now = time.monotonic()
        deadline = None if time_s is None else now + max(0.0, self._start + time_s - now) * part
        return Allowance(evaluations, deadline)


class KernelRun:
    """The live part of one kernel's search."""

    def __init__(
        self,
        plan: KernelPlan,
        search: KernelSearch,
        evaluator: Evaluator,
        journal: Journal,
        watcher: Watcher,
        allowance: Allowance,
    ) -> None:
        self._plan = plan
        self._search = search
        self._evaluator = evaluator
        self._journal = journal
        self._watcher = watcher
        self._allowance = allowance
        self._in_flight: dict[Future[Evaluation], int] = {}
        self._exhausted = False

    def until_stopped(self) -> str:
        """Ask, evaluate and tell until a limit is reached, then simplify the winner; which limit it was."""
        for asked in sorted(self._search.pending.values(), key=lambda asked: asked.n):
            self._submit(asked)
        self._fill()
        while self._in_flight:
            self._take_answers()
            self._fill()
        reason = self._stop_reason() or "exhausted"
        simplify(self._search, self._judge)
        return reason

    def _take_answers(self) -> None:
        done, _ = wait(self._in_flight, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=self._in_flight.__getitem__):
            self._answer(self._in_flight.pop(future), future.result())

    def _judge(self, genotype: Genotype) -> Judged | None:
        """A simpler candidate's evaluation; None when the budget is spent."""
        if self._allowance.exhausted(self._search.evaluations):
            return None
        asked = self._search.propose(self._journal.next_proposal, MINIMIZE, genotype)
        self._write_down(asked)
        self._submit(asked)
        while self._in_flight:
            self._take_answers()
        return self._search.judged[asked.n if asked.repeats is None else asked.repeats]

    def _fill(self) -> None:
        while len(self._in_flight) < self._evaluator.width and self._stop_reason() is None:
            asked = self._search.ask(self._journal.next_proposal)
            if asked is None:
                self._exhausted = True
                return
            self._write_down(asked)
            self._submit(asked)

    def _stop_reason(self) -> str | None:
        if self._exhausted:
            return "exhausted"
        if (reason := self._allowance.spent(self._search.evaluations)) is not None:
            return reason
        return "plateau" if self._search.plateau else None

    def _write_down(self, asked: Asked) -> None:
        self._journal.add(
            Proposal,
            n=asked.n,
            kernel=self._plan.kernel,
            source=asked.source,
            genotype=asked.genotype.document(),
            candidate=asked.candidate,
            changes=self._search.space.changes(asked.genotype),
            repeats=asked.repeats,
        )

    def _submit(self, asked: Asked) -> None:
        if asked.repeats is None:
            hopeless = math.exp(self._search.best_loss + HOPELESS * self._search.noise)
            future = self._evaluator.submit(asked.candidate, TimingPlan(abandon_above=hopeless))
            self._in_flight[future] = asked.n

    def _answer(self, n: int, evaluation: Evaluation) -> None:
        kernel = self._plan.kernel
        loss, better = self._search.tell(n, evaluation)
        self._journal.add(Answer, n=n, kernel=kernel, evaluation=evaluation, loss=loss)
        ratio = math.exp(self._search.best_loss)
        if better:
            self._journal.add(Incumbent, n=n, kernel=kernel, ratio=ratio)
        self._watcher.evaluated(self._plan, evaluation, ratio)


def noise_of(baseline: Evaluation) -> float:
    """Relative half-width of the baseline's interval, at least MIN_NOISE."""
    interval = baseline.ratio or baseline.time_ns
    if interval is None or interval.median <= 0:
        return MIN_NOISE
    return max(MIN_NOISE, (interval.high - interval.low) / 2 / interval.median)
