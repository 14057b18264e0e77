"""A search as a whole, on a synthetic kernel: it learns, survives everything, and does not claim what is not there."""

from __future__ import annotations

import itertools
import os
import signal
import statistics
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Self

import msgspec
import numpy as np
import pytest

from r3cc.farm.evaluator import Evaluator
from r3cc.replay.events import (
    VERSION,
    Answer,
    AnyEvent,
    Baseline,
    Begin,
    End,
    Final,
    Incumbent,
    KernelPlan,
    Lost,
    Part,
    Proposal,
    Result,
    Stop,
    decode_event,
)
from r3cc.replay.model import Candidate, Evaluation, Interval, L2State, Status, TimingPlan
from r3cc.store.eventlog import EventLog, read_events
from r3cc.tune.budget import Limits
from r3cc.tune.continuing import same_question
from r3cc.tune.genotype import Genotype
from r3cc.tune.journal import Journal
from r3cc.tune.knobs import KERNEL_KNOBS
from r3cc.tune.search import Target, Tuner
from r3cc.tune.space import Space
from r3cc.tune.watcher import Silent
from tests.python_path import python_path
from tests.tune.synthetic import BASELINE_NS, Model, SyntheticEvaluator, broken, indifferent, lot, plan, rugged, space

SEEDS = itertools.count()


def run(
    log: Path,
    *,
    model: Model = rugged,
    optimizer: str = "r3",
    seed: int = 1,
    budget: int | None = 120,
    time_s: float | None = None,
    plans: Sequence[KernelPlan] = (plan(),),
    open_evaluator: Callable[[], Evaluator] | None = None,
) -> list[Result]:
    """One session; evaluators differ in the noise they see, as fresh processes do."""
    count = itertools.count()
    opener = open_evaluator or (lambda: SyntheticEvaluator(model, seed=1000 * seed + next(count)))
    targets = [Target(each, space(), opener) for each in plans]
    earlier = [decode_event(event) for event in read_events(log)]
    with EventLog(log) as events:
        journal = Journal(events, earlier)
        return Tuner(journal, targets, Silent(), optimizer, seed, Limits(budget, time_s)).run()


def events_of(log: Path) -> list[AnyEvent]:
    return [decode_event(event) for event in read_events(log)]


def kinds(log: Path, kind: type) -> list[AnyEvent]:
    return [event for event in events_of(log) if isinstance(event, kind)]


def course(log: Path) -> list[tuple[int, str]]:
    """Proposals and incumbents in order, without times."""
    chosen = (event for event in events_of(log) if isinstance(event, (Proposal, Incumbent)))
    return [(event.n, event.candidate.id if isinstance(event, Proposal) else "best") for event in chosen]


def true_ratio(results: Sequence[Result]) -> float:
    value = rugged(results[0].candidate)
    assert isinstance(value, float)
    return value


def test_a_search_finds_and_confirms_a_faster_kernel(tmp_path: Path) -> None:
    (result,) = run(tmp_path / "log")
    assert result.n is not None
    assert result.speedup is not None
    assert result.speedup.low > 1.15
    assert result.speedup.samples >= 30
    assert result.changes
    winner = next(p for p in kinds(tmp_path / "log", Proposal) if isinstance(p, Proposal) and p.n == result.n)
    assert isinstance(winner, Proposal)
    assert winner.candidate == result.candidate
    assert rugged(result.candidate) == pytest.approx(1 / result.speedup.median, rel=0.05)


def test_the_log_has_every_step_in_order(tmp_path: Path) -> None:
    run(tmp_path / "log", budget=40)
    order = [type(event) for event in events_of(tmp_path / "log")]
    assert order[1] is Baseline
    assert order[-2:] == [Result, End]
    assert order.index(Stop) < order.index(Final)
    proposals = [p for p in kinds(tmp_path / "log", Proposal) if isinstance(p, Proposal)]
    assert [p.n for p in proposals] == list(range(len(proposals)))
    evaluated = [p for p in proposals if p.repeats is None]
    assert 36 <= len(evaluated) <= 40
    assert len({p.candidate.id for p in evaluated}) == len(evaluated)
    answered = {a.n for a in kinds(tmp_path / "log", Answer) if isinstance(a, Answer)}
    assert answered == {p.n for p in evaluated}


def test_the_optimizer_beats_random_search(tmp_path: Path) -> None:
    ratios = {
        optimizer: [true_ratio(run(tmp_path / f"{optimizer}{s}", optimizer=optimizer, seed=s)) for s in range(5)]
        for optimizer in ("r3", "random")
    }
    assert statistics.mean(ratios["r3"]) < statistics.mean(ratios["random"])


def test_o3_alone_is_one_candidate(tmp_path: Path) -> None:
    (result,) = run(tmp_path / "log", optimizer="o3-only")
    assert [p.candidate for p in kinds(tmp_path / "log", Proposal) if isinstance(p, Proposal)] == [Candidate()]
    assert result.n is None


class Undecided(SyntheticEvaluator):
    """Its processes do not agree on the cache state that is nearer to the application's; warm, changes buy more."""

    def _evaluate(self, candidate: Candidate, plan: TimingPlan) -> Evaluation:
        state = plan.l2 or (L2State.COLD, L2State.WARM)[self._seed // 10007 % 2]
        found = super()._evaluate(candidate, plan)
        power = 1.0 if state is L2State.COLD else 2.0
        ratio = found.ratio and Interval(*(each**power for each in msgspec.structs.astuple(found.ratio)[:3]), 4)
        return msgspec.structs.replace(found, l2=state, ratio=ratio)

    def fresh(self) -> Self:
        other = super().fresh()
        self._seed += 10007
        return other


@pytest.mark.parametrize("room", [0, 20])
def test_all_of_a_search_is_timed_in_one_cache_state(tmp_path: Path, room: int) -> None:
    """Workers chose each for itself: a number of the finals was the mean of cold and warm ones."""
    count = itertools.count()

    class Roomy(Undecided):
        def prepare(self, jobs: int = 1) -> Future[int]:
            found: Future[int] = Future()
            found.set_result(room)
            return found

    (result,) = run(tmp_path / "log", budget=60, open_evaluator=lambda: Roomy(seed=10007 * next(count)))
    assert result.n is not None
    assert result.speedup is not None
    assert rugged(result.candidate) == pytest.approx(1 / result.speedup.median, rel=0.05)
    judged = [event.evaluation for event in events_of(tmp_path / "log") if isinstance(event, (Answer, Final, Part))]
    assert {each.l2 for each in judged if each.status is Status.OK} == {L2State.COLD}


class Interrupted(SyntheticEvaluator):
    """The person presses Ctrl-C during the n-th evaluation."""

    left = 0

    def submit(self, *arguments: object, **options: object) -> object:  # type: ignore[override]
        Interrupted.left -= 1
        if Interrupted.left == 0:
            raise KeyboardInterrupt
        return super().submit(*arguments, **options)  # type: ignore[arg-type]


def interrupt(log: Path, after: int, budget: int = 120) -> set[str]:
    """A search that ends in its n-th evaluation; the candidates that were answered."""
    Interrupted.left = after
    with pytest.raises(KeyboardInterrupt):
        run(log, budget=budget, open_evaluator=Interrupted)
    return {answer.evaluation.candidate.id for answer in kinds(log, Answer) if isinstance(answer, Answer)}


def fixed_noise() -> Evaluator:
    return SyntheticEvaluator(rugged)


@pytest.mark.parametrize("after", [1, 5, 37, 61])
def test_a_continued_search_equals_one_that_was_never_interrupted(tmp_path: Path, after: int) -> None:
    whole = run(tmp_path / "whole", budget=90, open_evaluator=fixed_noise)
    interrupt(tmp_path / "parts", after, budget=90)
    interrupt(tmp_path / "parts", 20, budget=90)
    parts = run(tmp_path / "parts", budget=90, open_evaluator=fixed_noise)
    assert course(tmp_path / "parts") == course(tmp_path / "whole")
    assert [result.candidate for result in parts] == [result.candidate for result in whole]


class Narrowed(Space):
    """As a later version might have it: what were two candidates is one, and what was one is another."""

    def candidate(self, genotype: Genotype) -> Candidate:
        found = super().candidate(genotype)
        return msgspec.structs.replace(found, codegen=tuple(pair for pair in found.codegen if pair[0] != "maxnreg"))


def test_a_search_goes_on_where_genotypes_mean_other_candidates_now(tmp_path: Path) -> None:
    """A log says what was evaluated; another version of R3 must not tell the answers to something else."""
    answered = interrupt(tmp_path / "log", 70)
    noting = Noting()
    old = space()
    narrowed = Narrowed(old.base, old.vocabulary, KERNEL_KNOBS, old.facts, old.shapes)
    evaluators = iter([noting, *(SyntheticEvaluator(rugged) for _ in range(7))])
    earlier = events_of(tmp_path / "log")
    with EventLog(tmp_path / "log") as events:
        target = Target(plan(), narrowed, lambda: next(evaluators))
        (result,) = Tuner(Journal(events, earlier), [target], Silent(), "r3", 1, Limits(120)).run()
    assert result.n is not None
    assert not answered & noting.searched
    asked = {p.n: p.candidate for p in kinds(tmp_path / "log", Proposal) if isinstance(p, Proposal)}
    answers = [a for a in kinds(tmp_path / "log", Answer) if isinstance(a, Answer)]
    assert all(asked[answer.n] == answer.evaluation.candidate for answer in answers)
    assert asked[result.n] == result.candidate


def test_another_llvm_makes_another_search() -> None:
    """Edits name passes of its pipeline, and equal candidates are other code."""

    def asked(**versions: str) -> Begin:
        kernels = (plan(),)
        return Begin(
            at=1.0,
            version=VERSION,
            recording="r",
            device="cpu",
            device_name="",
            optimizer="r3",
            seed=1,
            kernels=kernels,
            versions=versions,
        )

    assert same_question(asked(llvm="22.1.8", r3="1"), asked(llvm="22.1.8", r3="2"))
    assert not same_question(asked(llvm="22.1.8"), asked(llvm="22.1.9"))


class Noting(SyntheticEvaluator):
    """Notes what the search asks for; what is measured again, to simplify the winner, is no part of that."""

    def __init__(self) -> None:
        super().__init__(rugged)
        self.searched: set[str] = set()

    def submit(self, candidate: Candidate, plan: TimingPlan = TimingPlan()) -> Future[Evaluation]:  # noqa: B008
        if plan.repetition == 0:
            self.searched.add(candidate.id)
        return super().submit(candidate, plan)


def test_nothing_is_evaluated_twice_after_an_interruption(tmp_path: Path) -> None:
    answered = interrupt(tmp_path / "log", 30)
    first = Noting()
    evaluators = iter([first, *(SyntheticEvaluator(rugged) for _ in range(7))])
    run(tmp_path / "log", open_evaluator=lambda: next(evaluators))
    assert answered and first.searched
    assert not answered & first.searched


KILLED = """
import sys
from pathlib import Path
from tests.tune.synthetic import SyntheticEvaluator
from tests.tune.test_search import run
run(Path(sys.argv[1]), open_evaluator=lambda: SyntheticEvaluator(delay=0.01))
"""


def test_a_killed_tuner_is_continued(tmp_path: Path) -> None:
    log = tmp_path / "log"
    tuner = subprocess.Popen([sys.executable, "-c", KILLED, str(log)], env={**os.environ, "PYTHONPATH": python_path()})
    while len(kinds(log, Answer)) < 10:
        assert tuner.poll() is None, "the tuner ended by itself"
        time.sleep(0.02)
    tuner.send_signal(signal.SIGKILL)
    tuner.wait()
    with log.open("ab") as torn:
        torn.write(b'{"event":"evaluation","n":')
    before = len(kinds(log, Answer))
    (result,) = run(log)
    assert before >= 10
    assert result.n is not None
    assert kinds(log, Stop)
    evaluated = sorted(p.n for p in kinds(log, Proposal) if isinstance(p, Proposal) and p.repeats is None)
    assert sorted(a.n for a in kinds(log, Answer) if isinstance(a, Answer)) == evaluated


def test_a_storm_of_faults_ends_as_no_improvement(tmp_path: Path) -> None:
    (result,) = run(tmp_path / "log", model=broken, budget=60)
    assert result.n is None
    assert result.note == "no other code was valid"
    assert result.baseline_ns is not None
    answers = [a for a in kinds(tmp_path / "log", Answer) if isinstance(a, Answer)]
    assert len(answers) == 54, "a tenth is kept back for simplifying a winner"
    assert {a.evaluation.status for a in answers} > {Status.COMPILE_ERROR, Status.DEVICE_FAULT, Status.MISMATCH}
    assert all(-0.05 < a.loss < 1 for a in answers)


class Calm(SyntheticEvaluator):
    """One evaluation at a time, so that answers come in one order."""

    width = 1


class Storm(Calm):
    """Kills workers: two of three evaluations are lost, once or twice, before they are answered."""

    injected = 0

    def submit(self, candidate: Candidate, plan: TimingPlan = TimingPlan()) -> Future[Evaluation]:  # noqa: B008
        before = self.submitted[candidate.id]
        if before < zlib.crc32(lot(candidate).encode()) % 3:
            self.submitted[candidate.id] += 1
            Storm.injected += 1
            lost: Future[Evaluation] = Future()
            lost.set_result(Evaluation(candidate, Status.WORKER_LOST, message="the device worker was ended by SIGKILL"))
            return lost
        return super().submit(candidate, plan)


def faulty(candidate: Candidate) -> float | Status:
    """As rugged, but every third candidate fails for good, each in another way."""
    kind = zlib.crc32(f"{lot(candidate)} fault".encode())
    statuses = [status for status in Status if status not in (Status.OK, Status.WORKER_LOST)]
    if candidate != Candidate() and kind % 3 == 0:
        return statuses[kind // 3 % len(statuses)]
    found = rugged(candidate)
    return Status.COMPILE_ERROR if found is Status.WORKER_LOST else found


def test_a_storm_of_200_faults_changes_nothing(tmp_path: Path) -> None:
    def calm() -> Evaluator:
        return Calm(faulty)

    Storm.injected = 0
    plans = [plan("one", 0.5), plan("other", 0.5)]
    without = run(tmp_path / "calm", budget=320, plans=plans, open_evaluator=calm)
    within = run(tmp_path / "storm", budget=320, plans=plans, open_evaluator=lambda: Storm(faulty))
    answers = [a.evaluation for a in kinds(tmp_path / "storm", Answer) if isinstance(a, Answer)]
    failed = [each for each in answers if each.status is not Status.OK]
    assert Storm.injected + len(failed) >= 200
    assert {each.status for each in failed} >= set(Status) - {Status.OK, Status.WORKER_LOST}
    assert all(each.status is faulty(each.candidate) for each in answers if isinstance(faulty(each.candidate), Status))
    assert not any(each.status is Status.WORKER_LOST for each in answers)
    assert course(tmp_path / "storm") == course(tmp_path / "calm")
    assert [r.candidate for r in within] == [r.candidate for r in without]
    lost = [event for event in kinds(tmp_path / "storm", Lost) if isinstance(event, Lost)]
    assert lost, "every retry is in the log"
    assert max(Counter(event.n for event in lost).values()) <= 2


def test_an_evaluation_that_is_lost_every_time_is_lost(tmp_path: Path) -> None:
    def cursed(candidate: Candidate) -> float | Status:
        return Status.WORKER_LOST if candidate.pipeline else 1.0

    run(tmp_path / "log", model=cursed, budget=30)
    lost = Counter(event.n for event in kinds(tmp_path / "log", Lost) if isinstance(event, Lost))
    assert set(lost.values()) == {2}
    answers = [a for a in kinds(tmp_path / "log", Answer) if isinstance(a, Answer) and a.n in lost]
    assert {a.evaluation.status for a in answers} == {Status.WORKER_LOST}


def test_a_baseline_that_fails_is_said_and_the_next_kernel_tuned(tmp_path: Path) -> None:
    class Failing(SyntheticEvaluator):
        def baseline(self) -> Evaluation:
            return Evaluation(Candidate(), Status.DEVICE_FAULT, message="illegal address")

    evaluators: list[Evaluator] = [Failing(), *(SyntheticEvaluator(seed=s) for s in range(9))]
    bad, good = run(
        tmp_path / "log",
        plans=[plan("bad", 0.5), plan("good", 0.5)],
        open_evaluator=lambda: evaluators.pop(0),
        budget=60,
    )
    assert "device_fault: illegal address" in bad.note
    assert good.n is not None


class Placed(SyntheticEvaluator):
    """Where code lies makes 3 % of a candidate's time: it differs between processes, and stays for a process's life."""

    def _evaluate(self, candidate: Candidate, plan: TimingPlan) -> Evaluation:
        found = super()._evaluate(candidate, plan)
        where = np.random.RandomState(zlib.crc32(f"{lot(candidate)} {self._seed}".encode()))
        factor = float(np.exp(where.normal(0, 0.03)))
        assert found.ratio is not None and found.time_ns is not None
        return msgspec.structs.replace(found, ratio=_times(found.ratio, factor), time_ns=_times(found.time_ns, factor))


def _times(interval: Interval, factor: float) -> Interval:
    return Interval(interval.median * factor, interval.low * factor, interval.high * factor, interval.samples)


def test_a_kernel_against_itself_is_no_improvement_in_20_of_20_searches(tmp_path: Path) -> None:
    fresh = itertools.count()
    for seed in range(20):
        (result,) = run(
            tmp_path / str(seed),
            seed=seed,
            budget=40,
            open_evaluator=lambda: Placed(indifferent, noise=0.02, seed=next(fresh)),
        )
        assert kinds(tmp_path / str(seed), Incumbent), "placement alone makes incumbents in the search"
        assert result.n is None, result.speedup


@pytest.mark.parametrize("seed", range(6))
def test_identical_candidates_are_no_improvement(tmp_path: Path, seed: int) -> None:
    (result,) = run(tmp_path / "log", model=indifferent, seed=seed, budget=60)
    assert kinds(tmp_path / "log", Incumbent), "noise alone makes incumbents in the search"
    assert result.n is None
    assert result.candidate == Candidate()


def spent(log: Path, kernel: str) -> int:
    return sum(isinstance(e, Answer) and e.kernel == kernel for e in events_of(log))


def test_the_budget_is_split_by_share_and_spent_whole(tmp_path: Path) -> None:
    plans = [plan("big", 0.6), plan("small", 0.2)]
    run(tmp_path / "log", plans=plans, model=indifferent, budget=80)
    assert spent(tmp_path / "log", "big") > 1.6 * spent(tmp_path / "log", "small")
    assert spent(tmp_path / "log", "big") + spent(tmp_path / "log", "small") == pytest.approx(78, abs=2)


@pytest.mark.parametrize("order", [("moving", "stuck"), ("stuck", "moving")])
def test_the_budget_goes_where_progress_is(tmp_path: Path, order: Sequence[str]) -> None:
    """Equal shares: both kernels get the same at first, then the one that still becomes faster gets more."""
    models = iter([rugged if name == "moving" else indifferent for name in order] * 99)
    targets = [Target(plan(name, 0.4), space(), opener_of(next(models))) for name in order]
    with EventLog(tmp_path / "log") as events:
        Tuner(Journal(events, ()), targets, Silent(), "r3", 1, Limits(160)).run()
    assert spent(tmp_path / "log", "moving") > 1.2 * spent(tmp_path / "log", "stuck")
    assert spent(tmp_path / "log", "stuck") >= 40
    assert spent(tmp_path / "log", "moving") + spent(tmp_path / "log", "stuck") <= 160


def opener_of(model: Model) -> Callable[[], Evaluator]:
    count = itertools.count()
    return lambda: SyntheticEvaluator(model, seed=next(count))


def test_a_continued_search_of_several_kernels_goes_on_with_what_each_was_granted(tmp_path: Path) -> None:
    plans = [plan("one", 0.5), plan("two", 0.5)]
    run(tmp_path / "whole", plans=plans, budget=80, open_evaluator=SyntheticEvaluator)
    proposals = [step for step in course(tmp_path / "whole") if step[1] != "best"]
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    grants = [number for number, line in enumerate(lines) if b'"event":"grant"' in line]
    asks = [b'"event":"proposal"' in line for line in lines]
    between = [number for number in range(1, len(lines)) if asks[number] and not asks[number - 1]]  # nothing in flight
    for number, after in enumerate((grants[0] - 12, grants[0] + 5, grants[1] + 3)):
        cut = next(each for each in between if each > after)
        log = tmp_path / f"cut{number}"
        log.write_bytes(b"".join(lines[:cut]))
        run(log, plans=plans, budget=80, open_evaluator=SyntheticEvaluator)
        assert [step for step in course(log) if step[1] != "best"] == proposals


def test_without_a_limit_the_search_stops_at_the_plateau(tmp_path: Path) -> None:
    run(tmp_path / "log", model=indifferent, budget=None)
    (stop,) = kinds(tmp_path / "log", Stop)
    assert isinstance(stop, Stop)
    assert stop.reason == "plateau"


def test_a_search_that_has_reached_the_kernels_floor_stops(tmp_path: Path) -> None:
    class Floored(SyntheticEvaluator):
        def baseline(self) -> Evaluation:
            return msgspec.structs.replace(super().baseline(), floor_ns=0.75 * BASELINE_NS)

    def one_pass(candidate: Candidate) -> float | Status:
        return 0.8 if candidate.pipeline == "default<O1>" else 1.0

    run(tmp_path / "log", model=one_pass, budget=None, open_evaluator=lambda: Floored(one_pass))
    (stop,) = kinds(tmp_path / "log", Stop)
    assert isinstance(stop, Stop)
    assert stop.reason == "floor"
    best = min(a.loss for a in kinds(tmp_path / "log", Answer) if isinstance(a, Answer))
    assert best < -0.18


def test_a_time_limit_stops_the_search(tmp_path: Path) -> None:
    run(tmp_path / "log", budget=None, time_s=0.0)
    (stop,) = kinds(tmp_path / "log", Stop)
    assert isinstance(stop, Stop)
    assert stop.reason == "time"


def test_the_winner_is_simplified(tmp_path: Path) -> None:
    def one_pass(candidate: Candidate) -> float | Status:
        return 0.8 if "slsr" in (candidate.pipeline or "") else 1.0

    count = itertools.count()
    quiet = lambda: SyntheticEvaluator(one_pass, noise=0.001, seed=next(count))  # noqa: E731
    (result,) = run(tmp_path / "log", open_evaluator=quiet, budget=150, seed=3)
    assert len(result.changes) == 1
    assert "slsr" in result.changes[0]
    assert any(p.source == "minimize" for p in kinds(tmp_path / "log", Proposal) if isinstance(p, Proposal))


def test_the_baselines_own_code_is_never_a_winner(tmp_path: Path) -> None:
    class OneObject(SyntheticEvaluator):
        """Every candidate compiles to the baseline's object, and seems faster."""

        def _evaluate(self, candidate: Candidate, plan: TimingPlan) -> Evaluation:
            evaluation = super()._evaluate(candidate, plan)
            launched = candidate.launch.block is not None
            return msgspec.structs.replace(evaluation, object_hash=str(launched))

    def model(candidate: Candidate) -> float | Status:
        return 1.2 if candidate.launch.block else 0.9

    (result,) = run(tmp_path / "log", budget=60, open_evaluator=lambda: OneObject(model))
    assert not kinds(tmp_path / "log", Incumbent)
    assert result.n is None
