"""A whole search: kernels one after another, several evaluations in flight, every step in the event log first.

The log is the truth. Killed at any moment, a search loses the answers that were under way and nothing else: a new
process replays the log and goes on.
"""

from __future__ import annotations

import math
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

import msgspec

from r3cc.farm.evaluator import Evaluator
from r3cc.replay.codegen import Options
from r3cc.replay.events import Answer, Baseline, End, Incumbent, KernelPlan, Lost, Proposal, Result, Session, Stop
from r3cc.replay.model import Evaluation, Race, Status, TimingPlan
from r3cc.tune.budget import Allowance, Budget, Limits
from r3cc.tune.explain import measure_parts
from r3cc.tune.finals import RETRIES, decide, finalists, no_improvement
from r3cc.tune.genotype import Genotype
from r3cc.tune.journal import Journal
from r3cc.tune.kernel_search import MINIMIZE, Asked, Judged, KernelSearch, SearchSpace, replay
from r3cc.tune.knob_space import KnobSpace
from r3cc.tune.library import seeds
from r3cc.tune.proposers import (
    O3Proposer,
    Proposer,
    RandomKnobProposer,
    RandomProposer,
    knob_proposer,
    r3_proposer,
)
from r3cc.tune.simplify import simplify
from r3cc.tune.space import Space
from r3cc.tune.unit import Unit
from r3cc.tune.watcher import Watcher

O3_ONLY = "o3-only"
OPTIMIZERS = ("r3", "random", O3_ONLY)
FEWEST_FOR_A_UNIT = 6
"""Evaluations below which a unit's module-scope values are not searched."""
MIN_NOISE = 0.002
"""Relative changes below this count as noise even where the measured one is smaller."""
HOPELESS = 3
"""Times the noise above the incumbent at which a candidate is given up."""
FEW_WARMUPS, FEW_SAMPLES = 1, 2
"""What every candidate gets; more only where it may be the best."""


class Target(msgspec.Struct, frozen=True):
    """A kernel to tune: its plan, its space and how to open an evaluator for it."""

    plan: KernelPlan
    space: Space | KnobSpace
    open_evaluator: Callable[[], Evaluator]
    library: Callable[[], Sequence[Genotype]] = tuple
    """What earlier searches found on similar kernels, asked when the kernel's search begins."""


MakeProposer = Callable[[int], tuple[Proposer, Sequence[Genotype]]]
"""From the evaluations in flight to a new proposer, and what is tried before it is asked."""


class Subject(msgspec.Struct, frozen=True):
    """What one search is about, a kernel or a unit."""

    plan: KernelPlan
    space: SearchSpace
    proposer: MakeProposer
    open_search: Callable[[], Evaluator]
    open_finals: Callable[[], Evaluator]
    library: Callable[[], Sequence[Genotype]] = tuple
    """What earlier searches found on similar kernels."""


class Tuner:
    """Runs a search from where its journal stands: units first, then kernels under what was found for their unit.

    An interrupt (KeyboardInterrupt) ends it in order: evaluators closed, the log complete up to the last answer.
    """

    def __init__(
        self,
        journal: Journal,
        targets: Sequence[Target],
        watcher: Watcher,
        optimizer: str,
        seed: int,
        limits: Limits,
        units: Sequence[Unit] = (),
    ) -> None:
        self._journal = journal
        self._targets = targets
        self._units = units if optimizer != O3_ONLY else ()
        self._watcher = watcher
        self._optimizer = optimizer
        self._seed = seed
        self._budget = Budget(limits, journal, [target.plan for target in targets], self._units)

    def run(self) -> list[Result]:
        """Tune every kernel that has no result yet; results in the order of the kernels."""
        limits = msgspec.structs.asdict(self._budget.limits)
        self._journal.add(Session, pid=os.getpid(), host=socket.gethostname(), **limits)
        values = {kernel: options for unit in self._units for kernel, options in self._unit(unit).items()}
        results = [self._result(self._kernel(target, values.get(target.plan.kernel, ()))) for target in self._targets]
        self._journal.add(End)
        return results

    def _unit(self, unit: Unit) -> dict[str, Options]:
        """What a unit's search found for its kernels."""
        begun = self._journal.earlier(unit.plan.kernel)
        allowance = None if begun else self._budget.allowance(unit.plan).evaluations
        if allowance is not None and allowance < FEWEST_FOR_A_UNIT:
            why = f"{allowance} evaluations are too few for what all its kernels share"
            self._journal.append(no_improvement(unit.plan, None, why))
            return {}
        result = self._result(
            Subject(unit.plan, unit.space, self._knob_proposer(unit.space), unit.open_search, unit.open_finals)
        )
        return dict.fromkeys(unit.kernels, result.candidate.codegen)

    def _kernel(self, target: Target, values: Options) -> Subject:
        if isinstance(target.space, KnobSpace):
            proposer = self._knob_proposer(target.space, target.space.single_values)
            return Subject(target.plan, target.space, proposer, target.open_evaluator, target.open_evaluator)
        space = target.space.under(values) if values else target.space
        library = target.library if self._optimizer == "r3" else tuple
        return Subject(target.plan, space, self._proposer(space), target.open_evaluator, target.open_evaluator, library)

    def _result(self, subject: Subject) -> Result:
        known = self._journal.result(subject.plan.kernel)
        if known is not None:
            return known
        result = self._tune(subject)
        self._journal.append(result)
        self._watcher.kernel_ends(subject.plan, result)
        return result

    def _tune(self, subject: Subject) -> Result:
        plan = subject.plan
        with subject.open_search() as evaluator:
            baseline = self._baseline(subject, evaluator)
            judged = baseline.evaluation
            if judged.status is not Status.OK:
                why = f"the baseline could not be replayed: {judged.status}: {judged.message}"
                return no_improvement(plan, judged, why)
            proposer, first = subject.proposer(baseline.width)
            found = tuple(map(Genotype.of, baseline.library))
            search = KernelSearch(subject.space, proposer, judged, baseline.noise, (*first[:1], *found, *first[1:]))
            replay(search, self._journal.earlier(plan.kernel))
            if not self._journal.stopped(plan.kernel):
                allowance = self._budget.allowance(plan)
                self._watcher.kernel_begins(plan, search.evaluations, allowance)
                run = KernelRun(plan, search, evaluator, self._journal, self._watcher, allowance)
                self._journal.add(Stop, kernel=plan.kernel, reason=run.until_stopped())
        chosen = finalists(search)
        self._watcher.finals_begin(plan, len(chosen))
        began = time.monotonic()
        result = decide(plan, search, judged, chosen, subject.open_finals, self._journal.append)
        if result.n is not None:
            winner = search.judged[result.n].genotype
            measure_parts(plan.kernel, subject.space, winner, subject.open_search, self._journal.append)
        self._budget.pause(time.monotonic() - began)
        return result

    def _baseline(self, subject: Subject, evaluator: Evaluator) -> Baseline:
        kernel = subject.plan.kernel
        known = next((event for event in self._journal.earlier(kernel) if isinstance(event, Baseline)), None)
        if known is not None and known.evaluation.status is Status.OK:
            return known
        judged = evaluator.baseline()
        for _ in range(RETRIES):
            if judged.status is Status.WORKER_LOST:
                judged = evaluator.baseline()
        noise, width = noise_of(judged), evaluator.width
        library = tuple(genotype.document() for genotype in subject.library())
        return self._journal.add(Baseline, kernel=kernel, evaluation=judged, noise=noise, width=width, library=library)

    def _proposer(self, space: Space) -> MakeProposer:
        match self._optimizer:
            case "random":
                return lambda width: (RandomProposer(space, self._seed), ())
            case "o3-only":
                return lambda width: (O3Proposer(), ())
            case _:
                return lambda width: (r3_proposer(space, self._seed, width), seeds(space))

    def _knob_proposer(self, space: KnobSpace, first: Sequence[Genotype] = ()) -> MakeProposer:
        if self._optimizer == O3_ONLY or not space.knobs:
            return lambda width: (O3Proposer(), ())
        if self._optimizer == "random":
            return lambda width: (RandomKnobProposer(space.knobs, self._seed), ())
        return lambda width: (knob_proposer(space.knobs, self._seed, width), first)


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
        self._losses: Counter[int] = Counter()
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
            n, evaluation = self._in_flight.pop(future), future.result()
            if evaluation.status is Status.WORKER_LOST and self._losses[n] < RETRIES:
                self._again(n, evaluation)
            else:
                self._answer(n, evaluation)

    def _again(self, n: int, lost: Evaluation) -> None:
        """The one thing that is retried: what somebody killed. A candidate that fails has its status at once."""
        self._losses[n] += 1
        self._journal.add(Lost, n=n, kernel=self._plan.kernel, message=lost.message)
        self._submit(self._search.pending[n])

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
        if self._search.at_floor:
            return "floor"
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
            race = Race(math.exp(self._search.best_loss), HOPELESS * self._search.noise)
            future = self._evaluator.submit(asked.candidate, TimingPlan(FEW_WARMUPS, FEW_SAMPLES, race))
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
