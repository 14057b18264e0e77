"""The live part of one kernel's search: evaluations in flight, every step in the event log first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

from r3cc.farm.evaluator import Evaluator
from r3cc.replay.events import Answer, Compared, Incumbent, KernelPlan, Lost, Proposal
from r3cc.replay.model import Evaluation, Race, Status, TimingPlan
from r3cc.tune.baseline import RETRIES
from r3cc.tune.budget import Allowance
from r3cc.tune.by_shape import apart
from r3cc.tune.genotype import Genotype
from r3cc.tune.journal import Journal
from r3cc.tune.kernel_search import MINIMIZE, SHAPES, Asked, Judged, KernelSearch
from r3cc.tune.side_by_side import Comparer, Comparison, Rounds
from r3cc.tune.simplify import simplify
from r3cc.tune.watcher import Watcher

FEW_WARMUPS, FEW_SAMPLES = 1, 2
"""What every candidate gets; more only where it seems to be the best."""


class KernelRun:
    """Asks, evaluates and tells on one evaluator."""

    def __init__(
        self,
        plan: KernelPlan,
        search: KernelSearch,
        evaluator: Evaluator,
        journal: Journal,
        watcher: Watcher,
        allowance: Allowance,
        rounds: Rounds,
    ) -> None:
        """``rounds`` are taken on the same evaluator."""
        self._plan = plan
        self._search = search
        self._evaluator = evaluator
        self._journal = journal
        self._watcher = watcher
        self._allowance = allowance
        self._comparer = Comparer(rounds, search.noise, lambda: allowance.is_late)
        self._in_flight: dict[Future[Evaluation], int] = {}
        self._losses: Counter[int] = Counter()
        self._exhausted = False
        self._began = allowance.clock()
        self._answers = 0

    def until_stopped(self) -> str:
        """Ask, evaluate and tell until a limit is reached; which limit it was."""
        for asked in sorted(self._search.pending.values(), key=lambda asked: asked.n):
            self._submit(asked)
        self._fill()
        while self._in_flight:
            self._take_answers()
            self._fill()
        return self._stop_reason() or "exhausted"

    def simplify(self) -> None:
        """Give each launch shape the block that serves it, and take away from the winner what it does not need."""
        apart(self._search, lambda genotype: self._judge(SHAPES, genotype))
        simplify(self._search, lambda genotype: self._judge(MINIMIZE, genotype), self._fastest, self._is_slower)

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

    def _judge(self, source: str, genotype: Genotype) -> Judged | None:
        """The evaluation of a candidate that no optimizer asked for; None when the budget is spent."""
        if self._allowance.exhausted(self._search.evaluations):
            return None
        asked = self._search.propose(self._journal.next_proposal, source, genotype)
        self._write_down(asked)
        self._submit(asked)
        while self._in_flight:
            self._take_answers()
        return self._search.judged[asked.n if asked.repeats is None else asked.repeats]

    def _fastest(self, contenders: Sequence[Judged]) -> Judged | None:
        """The fastest of the search's best, measured beside one another; None when there is no time for that."""
        at = self._comparer.fastest([judged.evaluation.candidate for judged in contenders])
        return None if at is None else contenders[at]

    def _is_slower(self, winner: Judged, judged: Judged) -> bool | None:
        """Whether a candidate is slower than the winner, measured beside it; None when time is up before that."""
        one, other = winner.evaluation, judged.evaluation
        if _is_same(one, other):
            found: Comparison | None = Comparison(None, slower=False)
        else:
            found = self._comparer.compare(one.candidate, other.candidate)
        if found is None:
            return None
        self._journal.add(
            Compared,
            kernel=self._plan.kernel,
            n=judged.n,
            against=winner.n,
            ratio=found.ratio,
            slower=found.slower,
        )
        self._search.compared(judged.n, winner.n, found.slower)
        return found.slower

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
        if (reason := self._allowance.spent(self._search.evaluations, self._under_way_s())) is not None:
            return reason
        if self._search.at_floor:
            return "floor"
        return "plateau" if self._search.plateau else None

    def _under_way_s(self) -> float:
        """About how long it takes until everything in flight is answered."""
        if not self._answers:
            return 0.0
        return (self._allowance.clock() - self._began) / self._answers * len(self._in_flight)

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
            race = Race(math.exp(self._search.best_loss), self._search.noise)
            timing = TimingPlan(FEW_WARMUPS, FEW_SAMPLES, race, l2=self._search.baseline.l2)
            future = self._evaluator.submit(asked.candidate, timing)
            self._in_flight[future] = asked.n

    def _answer(self, n: int, evaluation: Evaluation) -> None:
        kernel = self._plan.kernel
        self._answers += 1
        loss, better = self._search.tell(n, evaluation)
        self._journal.add(Answer, n=n, kernel=kernel, evaluation=evaluation, loss=loss)
        ratio = math.exp(self._search.best_loss)
        if better:
            self._journal.add(Incumbent, n=n, kernel=kernel, ratio=ratio)
        self._watcher.evaluated(self._plan, evaluation, ratio)


def _is_same(one: Evaluation, other: Evaluation) -> bool:
    """Whether two candidates run the very same code in the same way."""
    return one.object_hash is not None and (one.object_hash, one.candidate.launch) == (
        other.object_hash,
        other.candidate.launch,
    )
