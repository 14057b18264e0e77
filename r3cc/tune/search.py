"""A whole search: kernels one after another, several evaluations in flight, every step in the event log first.

The log is the truth. Killed at any moment, a search loses the answers that were under way and nothing else: a new
process replays the log and goes on.
"""

from __future__ import annotations

import math
import os
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count

import msgspec

from r3cc.farm.evaluator import Evaluator
from r3cc.replay.codegen import Options
from r3cc.replay.events import Baseline, End, Grant, KernelPlan, Result, Session, Spent, Stop
from r3cc.replay.model import Evaluation, Status
from r3cc.tune.baseline import judge_baseline, noise_of
from r3cc.tune.budget import UNIT_PART, Allowance, Budget, Clock, Cost, Limits
from r3cc.tune.explain import measure_parts
from r3cc.tune.finals import PROCESSES, baseline_seconds, decide, finalists, no_improvement, seconds
from r3cc.tune.genotype import Genotype
from r3cc.tune.journal import Journal
from r3cc.tune.kernel_run import KernelRun
from r3cc.tune.kernel_search import Judged, KernelSearch, SearchSpace, replay
from r3cc.tune.knob_space import KnobSpace
from r3cc.tune.opened import FreshEvaluators, OpenEvaluators
from r3cc.tune.proposers import (
    O3Proposer,
    Proposer,
    RandomKnobProposer,
    RandomProposer,
    knob_proposer,
    r3_proposer,
)
from r3cc.tune.side_by_side import Rounds
from r3cc.tune.space import Space
from r3cc.tune.unit import Unit
from r3cc.tune.watcher import Watcher

O3_ONLY = "o3-only"
OPTIMIZERS = ("r3", "random", O3_ONLY)
FEWEST_FOR_A_UNIT = 6
"""Evaluations below which a unit's module-scope values are not searched."""
LEAST_FOR_A_UNIT_S = 20.0
"""Seconds below which they are not: the finals, over every recorded kernel, take longer than that."""
MOST_STANDING_BY = 24
"""Processes that are started ahead for finals, over all kernels: each takes memory."""
STARTING_S = 1.5
"""About how long a process takes to start: what was opened ahead does not show it."""
LIMITS = ("budget", "time")
"""Reasons to stop that more of it would lift."""


class Target(msgspec.Struct, frozen=True):
    """A kernel to tune: its plan, its space and how to open an evaluator for it."""

    plan: KernelPlan
    space: Space | KnobSpace
    open_evaluator: Callable[[], Evaluator]
    library: Callable[[], Sequence[Genotype]] = tuple
    """What earlier searches found on similar kernels, asked when the kernel's search begins."""


MakeProposer = Callable[[Baseline], tuple[Proposer, Sequence[Genotype]]]
"""From the judged baseline to a new proposer, and what is tried before it is asked."""


class Subject(msgspec.Struct, frozen=True):
    """What one search is about, a kernel or a unit."""

    plan: KernelPlan
    space: SearchSpace
    proposer: MakeProposer
    open_search: Callable[[], Evaluator]
    open_finals: Callable[[], Evaluator] | None = None
    """None: what the search has opened serves."""
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
        clock: Clock = time.monotonic,
    ) -> None:
        self._journal = journal
        self._targets = targets
        self._units = units if optimizer != O3_ONLY else ()
        self._watcher = watcher
        self._optimizer = optimizer
        self._seed = seed
        self._searches: dict[str, KernelSearch | Evaluation] = {}
        """Of kernels and units: how far each has come, or how its baseline failed."""
        self._clock = clock
        self._budget = Budget(limits, journal, [target.plan for target in targets], self._units, clock)
        self._open = OpenEvaluators()
        self._rounds: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(1))
        """Numbers of the rounds in which a kernel's or unit's candidates are measured beside one another."""
        self._spent: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
        """Seconds by kernel or unit and field of ``Spent``."""

    def run(self) -> list[Result]:
        """Tune every kernel that has no result yet; results in the order of the kernels."""
        limits = msgspec.structs.asdict(self._budget.limits)
        self._journal.add(Session, pid=os.getpid(), host=socket.gethostname(), **limits)
        with self._open:
            values = {kernel: options for unit in self._units for kernel, options in self._unit(unit).items()}
            subjects = [self._kernel(target, values.get(target.plan.kernel, ())) for target in self._targets]
            if self._budget.explores:
                self._explore(subjects)
            results = [self._result(subject) for subject in subjects]
        self._journal.add(End)
        return results

    def _unit(self, unit: Unit) -> dict[str, Options]:
        """What a unit's search found for its kernels."""
        short = None if self._journal.earlier(unit.plan.kernel) else self._too_little(unit)
        if short is not None:
            why = f"{short} are too few for what all its kernels share"
            self._append(no_improvement(unit.plan, None, why))
            return {}
        proposer = self._knob_proposer(unit.space)
        subject = Subject(unit.plan, unit.space, proposer, unit.open_search, unit.open_finals)
        costly = None if self._journal.earlier(unit.plan.kernel) else self._too_costly(subject)
        if costly is not None:
            self._open.drop(unit.plan.kernel)
            spent = self._spent_on(unit.plan)
            self._append(msgspec.structs.replace(no_improvement(unit.plan, None, costly), spent=spent))
            return {}
        result = self._result(subject)
        return dict.fromkeys(unit.kernels, result.candidate.codegen)

    def _too_little(self, unit: Unit) -> str | None:
        """What a unit would get, if that is not worth a search."""
        allowance = self._budget.allowance(unit.plan)
        if allowance.evaluations is not None and allowance.evaluations < FEWEST_FOR_A_UNIT:
            return f"{allowance.evaluations} evaluations"
        seconds = math.inf if allowance.deadline is None else allowance.deadline - self._clock()
        return f"{seconds:.0f} seconds" if seconds < LEAST_FOR_A_UNIT_S else None

    def _too_costly(self, subject: Subject) -> str | None:
        """Why a unit's search, now that it is opened, would leave too little time for its kernels'."""
        time_s = self._budget.limits.time_s
        self._opened(subject)
        finals_s = self._cost(subject.plan).finals_s
        if time_s is None or finals_s <= time_s * UNIT_PART:
            return None
        return f"finals over all its kernels, of about {finals_s:.0f} s, would take too much of the time"

    def _kernel(self, target: Target, values: Options) -> Subject:
        if isinstance(target.space, KnobSpace):
            proposer = self._knob_proposer(target.space, target.space.single_values)
            return Subject(target.plan, target.space, proposer, target.open_evaluator)
        space = target.space.under(values) if values else target.space
        library = target.library if self._optimizer == "r3" else tuple
        return Subject(target.plan, space, self._proposer(space), target.open_evaluator, library=library)

    def _result(self, subject: Subject) -> Result:
        known = self._journal.result(subject.plan.kernel)
        if known is not None:
            return known
        plan = subject.plan
        result = msgspec.structs.replace(self._tune(subject), spent=self._spent_on(plan))
        self._open.drop(plan.kernel)
        self._append(result)
        self._watcher.kernel_ends(subject.plan, result)
        return result

    def _append(self, result: Result) -> None:
        self._journal.append(result)
        self._budget.over(result.kernel)

    def _explore(self, subjects: Sequence[Subject]) -> None:
        """The first round: each kernel's part by share. What comes of it says where more is worth most."""
        new = [each for each in subjects if not self._is_explored(each.plan)]
        for subject, after in zip(new, [*new[1:], None], strict=False):
            plan = subject.plan
            evaluator, search = self._opened(subject)
            if isinstance(search, KernelSearch) and not search.stopped:
                with self._timed(plan, "search_s"):
                    if after is not None:
                        self._open.start(after.plan.kernel, after.open_search, plan.kernel)
                    self._stand_by(subject, len(subjects))
                    run, reason = self._advance(plan, search, evaluator, self._budget.exploration(plan))
                    if reason not in LIMITS:
                        self._end(plan, search, run, reason)
                self._budget.explored(self._spent[plan.kernel]["search_s"])
            self._open.keep_for(plan.kernel, len(subjects) + sum(PROCESSES))
            self._reckon(plan)

    def _is_explored(self, plan: KernelPlan) -> bool:
        return self._journal.result(plan.kernel) is not None or self._journal.grant(plan.kernel) is not None

    def _tune(self, subject: Subject) -> Result:
        plan = subject.plan
        search = self._searches.get(plan.kernel)
        if search is None or (isinstance(search, KernelSearch) and not search.stopped):
            evaluator, search = self._opened(subject)
            if isinstance(search, KernelSearch) and not search.stopped:
                with self._timed(plan, "search_s"):
                    self._stand_by(subject, 1)
                    self._end(plan, search, *self._advance(plan, search, evaluator, self._allowance(plan, search)))
        if isinstance(search, Evaluation):
            why = f"the baseline could not be replayed: {search.status}: {search.message}"
            return no_improvement(plan, search, why)
        chosen = finalists(search)
        self._watcher.finals_begin(plan, len(chosen), self._cost(plan).finals_s if chosen else 0.0)
        with self._timed(plan, "finals_s"):
            return self._finals(subject, search, chosen)

    def _stand_by(self, subject: Subject, searches: int) -> None:
        """Let the processes of the subject's finals start while it is searched: later, everything waits for them.

        So many searches do so; only where there is room for all of theirs.
        """
        count, kernel = sum(PROCESSES), subject.plan.kernel
        if count * searches <= MOST_STANDING_BY and self._open.room(kernel) >= (1 + count) * searches:
            self._fresh(subject).start(count)

    def _fresh(self, subject: Subject) -> FreshEvaluators:
        """What the subject's finals are measured with."""
        if subject.open_finals is None:
            return self._open.fresh(subject.plan.kernel, subject.open_search)
        return self._open.instead(subject.plan.kernel, subject.open_finals)

    def _finals(self, subject: Subject, search: KernelSearch, chosen: Sequence[Judged]) -> Result:
        plan = subject.plan
        with self._fresh(subject) as fresh:
            result = decide(plan, search, search.baseline, chosen, fresh, self._journal.append)
        if result.n is not None:
            winner = search.judged[result.n].genotype

            def rounds() -> Rounds:
                return self._rounds_on(self._evaluator(subject), plan, search)

            measure_parts(plan.kernel, subject.space, winner, rounds, self._journal.append)
            return result
        loss = slowed(search) if isinstance(subject.space, Space) and subject.space.unit_values else None
        return result if loss is None else msgspec.structs.replace(result, note=f"{result.note}; {loss}")

    def _rounds_on(self, evaluator: Evaluator, plan: KernelPlan, search: KernelSearch) -> Rounds:
        return Rounds(evaluator, self._rounds[plan.kernel], search.baseline.l2)

    def _evaluator(self, subject: Subject) -> Evaluator:
        return self._open.get(subject.plan.kernel, subject.open_search)

    def _opened(self, subject: Subject) -> tuple[Evaluator, KernelSearch | Evaluation]:
        """An evaluator, and the search as far as it has come."""
        plan = subject.plan
        was_ahead = self._open.is_started(plan.kernel)
        began = self._clock()
        evaluator = self._evaluator(subject)
        opening_s = self._clock() - began
        search = self._search(subject, evaluator)
        took_s = self._clock() - began
        self._spent[plan.kernel]["opening_s"] += took_s
        is_new = self._budget.cost(plan.kernel) is None
        if is_new:
            judged = search.baseline if isinstance(search, KernelSearch) else search
            fresh_s = opening_s + (STARTING_S if was_ahead else 0.0)
            finals_s = seconds(fresh_s, *baseline_seconds(judged, took_s - opening_s), self._open.room(plan.kernel))
            self._budget.costs(plan.kernel, Cost(took_s, finals_s))
        self._reckon(plan)
        if is_new:
            late_s = 0.0 if subject.open_finals else self._budget.late_s  # units are left out rather than late
            self._watcher.opened(plan, self._cost(plan), late_s)
        return evaluator, search

    def _cost(self, plan: KernelPlan) -> Cost:
        return self._budget.cost(plan.kernel) or Cost(0.0, 0.0)

    def _reckon(self, plan: KernelPlan) -> None:
        """Tell the budget what the subject still costs."""
        is_open = plan.kernel in self._open
        self._budget.costs(plan.kernel, msgspec.structs.replace(self._cost(plan), is_open=is_open))

    @contextmanager
    def _timed(self, plan: KernelPlan, part: str) -> Iterator[None]:
        began = self._clock()
        try:
            yield
        finally:
            self._spent[plan.kernel][part] += self._clock() - began

    def _spent_on(self, plan: KernelPlan) -> Spent:
        return msgspec.convert({**dict.fromkeys(Spent.__struct_fields__, 0.0), **self._spent[plan.kernel]}, Spent)

    def _search(self, subject: Subject, evaluator: Evaluator) -> KernelSearch | Evaluation:
        """The subject's search as far as it has come, or the evaluation of a baseline that failed."""
        kernel = subject.plan.kernel
        if kernel not in self._searches:
            baseline = self._baseline(subject, evaluator)
            judged = baseline.evaluation
            if judged.status is not Status.OK:
                self._searches[kernel] = judged
                return judged
            proposer, first = subject.proposer(baseline)
            found = tuple(map(Genotype.of, baseline.library))
            search = KernelSearch(subject.space, proposer, judged, baseline.noise, (*first[:1], *found), first[1:])
            replay(search, self._journal.earlier(kernel))
            self._searches[kernel] = search
        return self._searches[kernel]

    def _advance(
        self, plan: KernelPlan, search: KernelSearch, evaluator: Evaluator, allowance: Allowance
    ) -> tuple[KernelRun, str]:
        """Go on within an allowance; why it ended."""
        self._watcher.kernel_begins(plan, search.evaluations, allowance)
        rounds = self._rounds_on(evaluator, plan, search)
        run = KernelRun(plan, search, evaluator, self._journal, self._watcher, allowance, rounds)
        return run, run.until_stopped()

    def _end(self, plan: KernelPlan, search: KernelSearch, run: KernelRun, reason: str) -> None:
        """The search is over: what is left of its allowance makes the winner simpler."""
        run.simplify()
        search.stopped = reason
        self._journal.add(Stop, kernel=plan.kernel, reason=reason)

    def _allowance(self, plan: KernelPlan, search: KernelSearch) -> Allowance:
        """What a unit or kernel may spend in all. A continued search goes on with what it was granted."""
        if not self._budget.explores or plan.kernel not in {target.plan.kernel for target in self._targets}:
            return self._budget.allowance(plan)
        allowance = self._budget.rest(plan, self._expected())
        budget = self._budget.limits.budget
        known = self._journal.grant(plan.kernel)
        if known is not None and known.budget == budget:
            return allowance.granting(known.evaluations)
        self._journal.add(
            Grant,
            kernel=plan.kernel,
            budget=budget,
            evaluations=allowance.evaluations,
            expected=search.expected_gain,
        )
        return allowance

    def _expected(self) -> dict[str, float]:
        """By how much of its first time each kernel whose search goes on is expected to become faster yet."""
        going_on = {
            kernel: search
            for kernel, search in self._searches.items()
            if isinstance(search, KernelSearch) and not search.stopped
        }
        return {kernel: search.expected_gain * math.exp(search.best_loss) for kernel, search in going_on.items()}

    def _baseline(self, subject: Subject, evaluator: Evaluator) -> Baseline:
        kernel = subject.plan.kernel
        known = next((event for event in self._journal.earlier(kernel) if isinstance(event, Baseline)), None)
        if known is not None and known.evaluation.status is Status.OK:
            return known
        judged = judge_baseline(evaluator)
        noise, width = noise_of(judged), evaluator.width
        library = tuple(genotype.document() for genotype in subject.library())
        return self._journal.add(Baseline, kernel=kernel, evaluation=judged, noise=noise, width=width, library=library)

    def _proposer(self, space: Space) -> MakeProposer:
        match self._optimizer:
            case "random":
                return lambda baseline: (RandomProposer(space, self._seed), ())
            case "o3-only":
                return lambda baseline: (O3Proposer(), ())
            case _:
                # First default<O3> as it is: no search ends below it.
                return lambda baseline: (
                    r3_proposer(space, self._seed, baseline.width, registers_of(baseline.evaluation)),
                    (Genotype(),),
                )

    def _knob_proposer(self, space: KnobSpace, first: Sequence[Genotype] = ()) -> MakeProposer:
        if self._optimizer == O3_ONLY or not space.knobs:
            return lambda baseline: (O3Proposer(), ())
        if self._optimizer == "random":
            return lambda baseline: (RandomKnobProposer(space.knobs, self._seed), ())
        return lambda baseline: (knob_proposer(space.knobs, self._seed, baseline.width), first)


def slowed(search: KernelSearch) -> str | None:
    """What a kernel without a winner of its own loses by its unit's values, which builds have all the same."""
    plain = next((judged for judged in search.judged.values() if judged.genotype == Genotype()), None)
    if plain is None or plain.evaluation.status is not Status.OK or plain.loss <= search.noise:
        return None
    return f"by its unit's values it takes {math.exp(plain.loss):.3f} times as long"


def registers_of(baseline: Evaluation) -> int | None:
    """Registers a thread of the baseline's code; None where the device's tool does not tell."""
    return baseline.resources.get("registers") or None
