"""Finalists: the best of many noisy numbers is too good, so the winner is chosen and measured again.

Round 1 measures the best few again in a fresh process, interleaved with the baseline, on held-out launches too, and
chooses one: the simplest of those that are as fast as the best within noise. Round 2 measures that one alone in several
fresh processes: its number was not chosen for being low, and is the one reported. Where code and memory come to lie
differs between processes, so the interval is made of their medians. Inside it, or that of the baseline against itself,
there is no improvement.

The processes of both rounds are prepared together, as many as the device has room for, and measured in one after
another. What does not change from one to the next, results on held-out launches, is checked in a round's first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import TypeVar

import msgspec

from r3cc.farm.evaluator import Evaluator
from r3cc.farm.local import BASELINE_PLAN
from r3cc.replay.events import Final, KernelPlan, Result
from r3cc.replay.model import Candidate, Evaluation, Interval, L2State, Status, TimingPlan
from r3cc.replay.stages import Stage
from r3cc.replay.statistics import across
from r3cc.tune.baseline import RETRIES
from r3cc.tune.explain import USUAL_BLOCKS
from r3cc.tune.kernel_search import Judged, KernelSearch
from r3cc.tune.opened import FreshEvaluators
from r3cc.tune.simplify import best_few, simplest, size

FINALISTS = 5
USUAL_FINALISTS = 3
"""What finals are reckoned with before there are any."""
ROUNDS = (
    TimingPlan(warmups=3, samples=16, held_out=True, perturbed=True),
    TimingPlan(warmups=3, samples=8, held_out=True),
)
"""How a finalist is measured in the first process of round 1 and of round 2."""
PROCESSES = (1, 5)
"""Fresh processes in which finalists are measured in each round."""
UNTRIED: Mapping[str | None, str] = {"time": "the time was over", "budget": "the budget was spent"}
"""Reasons to stop, of a search that had no candidate."""
SMALLEST_GAIN = 0.002
"""Relative gains below this are none, however sure."""
Emit = Callable[[Final], None]
T = TypeVar("T")


def finalists(search: KernelSearch) -> tuple[Judged, ...]:
    """The best few candidates below the baseline, one for each code object and launch, and the simplest as good."""
    best = best_few(search, FINALISTS)
    short = simplest(search)
    return (*best, short) if short is not None and short not in best else tuple(best)


def decide(
    plan: KernelPlan,
    search: KernelSearch,
    baseline: Evaluation,
    chosen: Sequence[Judged],
    fresh: FreshEvaluators,
    emit: Emit,
) -> Result:
    """Measure the finalists again and say what was gained."""
    if not chosen:
        return no_improvement(plan, baseline, _why_none(search))
    prepare(fresh, len(chosen))
    rounds = rounds_in(baseline.l2)
    _, measured = _measure(plan, 1, rounds, chosen, fresh, emit)
    for judged in ranked(list(zip(chosen, measured, strict=True)), search.noise):
        against_itself, (second,) = _measure(plan, 2, rounds, [judged], fresh, emit)
        if second.status is Status.OK:
            candidate, changes = judged.evaluation.candidate, search.space.changes(judged.genotype)
            return verdict(plan, judged.n, candidate, changes, second, against_itself)
    return no_improvement(plan, baseline, "no finalist passed again in fresh processes")


def _why_none(search: KernelSearch) -> str:
    """Why there is no finalist."""
    if not search.judged:
        return f"no candidate was tried: {UNTRIED.get(search.stopped, 'there is none')}"
    if not any(map(search.is_valid, search.judged.values())):
        return "no other code was valid"
    return "no candidate was faster in the search"


def ranked(measured: Sequence[tuple[Judged, Evaluation]], noise: float) -> list[Judged]:
    """Valid finalists of round 1, the fastest first; but before all others the simplest as fast within noise."""
    valid = [(judged, again.ratio) for judged, again in measured if again.status is Status.OK and again.ratio]
    valid.sort(key=lambda pair: pair[1].median)
    return simplest_first(valid, noise, lambda judged: size(judged.genotype))


def simplest_first(
    valid: Sequence[tuple[T, Interval]], noise: float, size_of: Callable[[T], int | tuple[int, ...]]
) -> list[T]:
    """Finalists with their ratios, the fastest first: the same, but before all the smallest of those as fast.

    That is no further off than the search's noise, nor than both's own. The search's alone is that of a single look at
    the baseline, which one disturbance makes large.
    """
    if not valid:
        return []
    best = valid[0][1]
    alike = [each for each, ratio in valid if ratio.median <= best.median * (1 + noise) and ratio.low <= best.high]
    first = min(alike, key=size_of)
    return [first, *(each for each, _ in valid if each is not first)]


def no_improvement(plan: KernelPlan, baseline: Evaluation | None, note: str) -> Result:
    """The verdict when there is nothing to report but the baseline."""
    return Result(
        at=time.time(),
        kernel=plan.kernel,
        n=None,
        candidate=Candidate(),
        changes=(),
        baseline_ns=(baseline.baseline_ns or baseline.time_ns) if baseline is not None else None,
        best_ns=None,
        speedup=None,
        note=note,
    )


def inverse(ratio: Interval) -> Interval:
    """Speedup (baseline over candidate) of a ratio (candidate over baseline)."""
    return Interval(1 / ratio.median, 1 / ratio.high, 1 / ratio.low, ratio.samples)


def baseline_seconds(baseline: Evaluation, least_s: float = 0.0) -> tuple[float, float]:
    """Seconds that measuring the baseline took, ``least_s`` or what its phases say, and those of it in launches."""
    baseline_s = max(least_s, sum(baseline.phases_ns.values()) * 1e-9)
    return baseline_s, min(baseline.phases_ns.get(Stage.LAUNCH.value, 0) * 1e-9, baseline_s)


def seconds(opening_s: float, baseline_s: float, launches_s: float, room: int) -> float:
    """About how long finals take, by how long it took to open an evaluator and to measure the baseline in it.

    What a winner's parts buy is measured after them, and counted here.
    ``launches_s`` of the latter went by in launches: more blocks take more of that, and the rest once a process.
    Perturbed inputs are taken to cost as much as one more opening.
    """
    waves = -(-sum(PROCESSES) // max(room, 1)) + 1
    blocks = (USUAL_FINALISTS + 1) * _blocks(ROUNDS[0]) + PROCESSES[1] * 2 * _blocks(ROUNDS[1]) + USUAL_BLOCKS
    rest_s = max(0.0, baseline_s - launches_s)
    return waves * opening_s + sum(PROCESSES) * rest_s + blocks / _blocks(BASELINE_PLAN) * launches_s


def _blocks(plan: TimingPlan) -> int:
    return plan.warmups + plan.samples


def prepare(fresh: FreshEvaluators, finalists: int) -> None:
    """Have processes ready for both rounds, as far as there is room: it takes as long as for one of them."""
    first, second = PROCESSES
    fresh.prepare([finalists + 1] * first + [2] * second)


def in_fresh_processes(
    number: int, first: TimingPlan, candidates: Sequence[Candidate], fresh: FreshEvaluators
) -> Iterator[list[Evaluation]]:
    """Evaluations of the candidates in each process of a round; ``first`` is how they are measured in its first."""
    later = msgspec.structs.replace(first, held_out=False, perturbed=False)
    for process, evaluator in enumerate(fresh.each([len(candidates)] * PROCESSES[number - 1])):
        timing = later if process else first
        futures = [evaluator.submit(candidate, timing) for candidate in candidates]
        yield [_settled(evaluator, *pair, timing) for pair in zip(candidates, futures, strict=True)]


def rounds_in(l2: L2State | None) -> tuple[TimingPlan, ...]:
    """How finalists are measured in each round, timed in the cache state in which the search was."""
    return tuple(msgspec.structs.replace(each, l2=l2) for each in ROUNDS)


def _measure(
    plan: KernelPlan,
    number: int,
    rounds: Sequence[TimingPlan],
    chosen: Sequence[Judged],
    fresh: FreshEvaluators,
    emit: Emit,
) -> tuple[Evaluation, list[Evaluation]]:
    """Evaluations of the baseline against itself and of ``chosen``, each put together from a round's processes."""
    numbers = (None, *(judged.n for judged in chosen))
    candidates = (Candidate(), *_candidates(chosen))
    processes = []
    for evaluations in in_fresh_processes(number, rounds[number - 1], candidates, fresh):
        processes.append(evaluations)
        for n, evaluation in zip(numbers, evaluations, strict=True):
            emit(Final(at=time.time(), kernel=plan.kernel, n=n, round=number, evaluation=evaluation))
    together = [combined(evaluations) for evaluations in zip(*processes, strict=True)]
    return together[0], together[1:]


def _settled(evaluator: Evaluator, candidate: Candidate, future: Future[Evaluation], timing: TimingPlan) -> Evaluation:
    """What a finalist's evaluation gave; done again where its worker was lost."""
    for _ in range(RETRIES):
        if future.result().status is not Status.WORKER_LOST:
            break
        future = evaluator.submit(candidate, timing)
    return future.result()


def combined(evaluations: Sequence[Evaluation]) -> Evaluation:
    """One evaluation of a candidate's evaluations in several processes: the first failure, else their times."""
    failure = next((each for each in evaluations if each.status is not Status.OK), None)
    if failure is not None:
        return failure
    return msgspec.structs.replace(
        evaluations[0],
        time_ns=_across([each.time_ns for each in evaluations]),
        baseline_ns=_across([each.baseline_ns for each in evaluations]),
        ratio=_across([each.ratio for each in evaluations]),
    )


def _across(intervals: Sequence[Interval | None]) -> Interval | None:
    known = [interval for interval in intervals if interval is not None]
    return across(known) if len(known) == len(intervals) else None


def _candidates(chosen: Iterable[Judged]) -> Iterable[Candidate]:
    return (judged.evaluation.candidate for judged in chosen)


def verdict(
    plan: KernelPlan,
    n: int,
    candidate: Candidate,
    changes: tuple[str, ...],
    evaluation: Evaluation,
    against_itself: Evaluation,
) -> Result:
    """The result of proposal ``n`` by its last measurement; without a candidate where that shows no improvement."""
    assert evaluation.ratio is not None
    note = doubt(evaluation.ratio, against_itself)
    gained = note is None
    return Result(
        at=time.time(),
        kernel=plan.kernel,
        n=n if gained else None,
        candidate=candidate if gained else Candidate(),
        changes=changes if gained else (),
        baseline_ns=evaluation.baseline_ns,
        best_ns=evaluation.time_ns if gained else None,
        speedup=inverse(evaluation.ratio),
        note=note or "",
    )


def doubt(ratio: Interval, against_itself: Evaluation) -> str | None:
    """Why a ratio is no improvement; None when it is one."""
    if ratio.low > 1:
        return "slower, once measured again"
    if ratio.high >= 1:
        return "the interval holds 1"
    if ratio.median > 1 - SMALLEST_GAIN:
        return f"a gain below {SMALLEST_GAIN:.1%}"
    itself = against_itself.ratio
    if against_itself.status is not Status.OK or itself is None:
        return f"the baseline could not be measured against itself: {against_itself.status}"
    if ratio.high >= itself.low:
        own = inverse(itself)
        return f"the baseline against itself gives [{own.low:.3f}, {own.high:.3f}] already: measure on a quieter device"
    return None
