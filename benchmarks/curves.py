"""What searching buys: best-so-far of R3's optimizer and of random search, beside O3 alone, on real kernels.

All arms of a kernel share one budget, the seeds and one evaluator, so that equal candidates are measured once and
the arms differ in nothing but what they ask for. A curve is the best ratio to the baseline after each evaluation. What
the searches end with is measured again at the end, with the baseline beside it, by a new evaluator on the held-out
launches, too: the best of many noisy numbers is too good.

``--seconds`` is a limit for everything after the recordings: each kernel gets an equal part of what is left, seed after
seed with all arms of each, so that what is cut off is whole seeds. A kernel that fails is named and left out.
"""

from __future__ import annotations

import argparse
import math
import random
import shutil
import statistics
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.common import Options, options_of, options_parser, report
from benchmarks.examples import ALL, WEATHER, heaviest, recorded, spaces
from r3cc.farm import EvaluatorSettings
from r3cc.farm.evaluator import Evaluator
from r3cc.farm.local import LocalEvaluator
from r3cc.replay.events import Answer, KernelPlan
from r3cc.replay.model import Candidate, Evaluation, Status, TimingPlan
from r3cc.store import Store
from r3cc.store.eventlog import EventLog
from r3cc.tune.baseline import noise_of
from r3cc.tune.budget import Allowance
from r3cc.tune.genotype import Genotype
from r3cc.tune.journal import Journal
from r3cc.tune.kernel_run import KernelRun
from r3cc.tune.kernel_search import KernelSearch
from r3cc.tune.plan import Choice
from r3cc.tune.proposers import Proposer, RandomProposer, r3_proposer
from r3cc.tune.search import registers_of
from r3cc.tune.side_by_side import Rounds
from r3cc.tune.space import Space
from r3cc.tune.watcher import Silent

ARMS = ("r3", "random")
AGAIN = TimingPlan(warmups=3, samples=16, held_out=True)
SHOWN = (10, 25, 50, 100, 200)
"""Evaluations after which the curves are printed."""
RESAMPLED = 2000
FEWEST_S = 5.0
"""Seconds below which no search is begun."""


@dataclass(frozen=True)
class Subject:
    """A kernel to search."""

    name: str
    store: Store
    choice: Choice
    space: Space


@dataclass
class Run:
    """One search of an arm."""

    seed: int
    curve: list[float]
    """Best ratio to the baseline after each evaluation."""
    candidate: Candidate
    again: float | None = None
    """The ratio once measured again; None where that failed."""


@dataclass
class Found:
    """What a kernel's searches found."""

    o3: float = 1.0
    """Ratio of O3 alone, measured again."""
    itself: float = 1.0
    """Ratio of the baseline to itself, measured in the same way: the noise."""
    runs: dict[str, list[Run]] = field(default_factory=lambda: {arm: [] for arm in ARMS})


def main() -> None:
    parser = options_parser(__doc__ or "")
    parser.add_argument("--store", type=Path, action="append", default=[], help="a recording's store; may be repeated")
    parser.add_argument("--kernels", type=int, default=2, help="of each store, the heaviest [2]")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budget", type=int, default=150, help="evaluations of one search [150]")
    parser.add_argument("--seconds", type=float, default=math.inf, help="for all searches together [no limit]")
    given = parser.parse_args()
    options = options_of(given)
    if options.quick:
        given.seeds, given.budget, given.kernels = 2, 24, 1
    subjects = list(subjects_of(given, options))
    deadline = time.monotonic() + given.seconds
    results: dict[str, Found | str] = {}
    for number, subject in enumerate(subjects):
        part = (deadline - time.monotonic()) / (len(subjects) - number)
        try:
            found = examine(subject, given.seeds, given.budget, part, options.out / "curve")
        except Exception as error:
            traceback.print_exc()
            results[subject.name] = f"failed: {error}"
        else:
            results[subject.name] = found
        print(f"{subject.name}: {text(results[subject.name])}", flush=True)
    good = {name: found for name, found in results.items() if isinstance(found, Found) and found.runs[ARMS[0]]}
    rows = [(name, text(found)) for name, found in results.items()] + list(overall(good))
    report(options, "curves", {"kernels": results, "budget": given.budget, "overall": dict(overall(good))}, rows)
    if not good:
        raise SystemExit("no kernel could be searched")


def subjects_of(given: argparse.Namespace, options: Options) -> Iterator[Subject]:
    """The heaviest kernels of the given stores, else of the mini-apps, recorded anew."""
    apps = (WEATHER,) if options.quick else ALL
    sources: list[Any] = [(path.name, lambda path=path: Store.open(path)) for path in given.store]
    sources = sources or [(app.name, lambda app=app: recorded(app, options)) for app in apps]
    for name, open_ in sources:
        try:
            store = open_()
            for choice, space in spaces(store, heaviest(store, given.kernels), options.device):
                yield Subject(f"{name} {choice.kernel.name}", store, choice, space)
        except (Exception, SystemExit):
            traceback.print_exc()
            print(f"{name}: left out", flush=True)


def examine(subject: Subject, seeds: int, budget: int, seconds: float, folder: Path) -> Found:
    """All arms' searches of one kernel within so many seconds, and what their winners are worth."""
    end = time.monotonic() + seconds
    found = Found()
    with open_evaluator(subject) as evaluator:
        baseline = evaluator.baseline()
        if baseline.status is not Status.OK:
            raise RuntimeError(f"the baseline could not be replayed: {baseline.status}: {baseline.message}")
        before = time.monotonic()
        for seed in range(seeds):
            left = (end - time.monotonic()) * 0.9  # the winners are measured again in the rest
            took = (time.monotonic() - before) / max(seed, 1)
            if seed and left < max(FEWEST_S, took / 2):
                break
            for arm in ARMS:
                until = time.monotonic() + left / len(ARMS)
                run = search(subject, evaluator, baseline, arm, seed, budget, until, folder)
                found.runs[arm].append(run)
    measure_again(subject, found)
    return found


def proposer_of(
    arm: str, space: Space, seed: int, width: int, registers: int | None
) -> tuple[Proposer, tuple[Genotype, ...]]:
    """Who asks in an arm, and what is tried before: R3 begins with ``default<O3>`` as it is."""
    if arm == "r3":
        return r3_proposer(space, seed, width, registers), (Genotype(),)
    return RandomProposer(space, seed), ()


def search(
    subject: Subject,
    evaluator: Evaluator,
    baseline: Evaluation,
    arm: str,
    seed: int,
    budget: int,
    until: float,
    folder: Path,
) -> Run:
    """One search as ``r3 tune`` does it, without finals."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    proposer, first = proposer_of(arm, subject.space, seed, evaluator.width, registers_of(baseline))
    state = KernelSearch(subject.space, proposer, baseline, noise_of(baseline), first)
    with EventLog(folder / "events.jsonl") as log:
        journal = Curve(log)
        plan: KernelPlan = subject.choice.plan
        allowance = Allowance(budget, None if math.isinf(until) else until)
        KernelRun(plan, state, evaluator, journal, Silent(), allowance, Rounds(evaluator, count(1))).until_stopped()
    best = state.incumbents[-1].evaluation.candidate if state.incumbents else Candidate()
    return Run(seed, journal.curve, best)


class Curve(Journal):
    """A journal that keeps the best ratio after each answer."""

    def __init__(self, log: EventLog) -> None:
        super().__init__(log, ())
        self.curve: list[float] = []

    def append(self, event: Any) -> None:
        """Append an event."""
        super().append(event)
        if isinstance(event, Answer):
            ratio = event.evaluation.ratio
            valid = event.evaluation.status is Status.OK and ratio is not None
            best = self.curve[-1] if self.curve else 1.0
            self.curve.append(min(best, ratio.median) if valid and ratio is not None else best)


def measure_again(subject: Subject, found: Found) -> None:
    """Every winner, O3 alone and the baseline, once each in new processes."""
    runs = [run for arm in ARMS for run in found.runs[arm]]
    o3 = Candidate(pipeline="default<O3>")
    with open_evaluator(subject) as evaluator:
        wanted = dict.fromkeys([Candidate(), o3, *(run.candidate for run in runs)])
        futures = {candidate: evaluator.submit(candidate, AGAIN) for candidate in wanted}
        ratios = {candidate: ratio_of(future.result()) for candidate, future in futures.items()}
    found.itself, found.o3 = ratios[Candidate()] or 1.0, ratios[o3] or 1.0
    for run in runs:
        run.again = ratios[run.candidate] if run.candidate != Candidate() else 1.0


def open_evaluator(subject: Subject) -> LocalEvaluator:
    return LocalEvaluator.open(subject.store, subject.choice.kernel, subject.choice.device, EvaluatorSettings())


def ratio_of(evaluation: Evaluation) -> float | None:
    """The ratio of a valid evaluation."""
    ratio = evaluation.ratio
    return ratio.median if evaluation.status is Status.OK and ratio is not None else None


def text(found: Found | str) -> str:
    """One line for people: ratios to the baseline, median and extremes over seeds."""
    if isinstance(found, str):
        return found
    parts = [f"O3 {found.o3:.3f}, itself {found.itself:.3f}"]
    for arm in ARMS:
        runs = found.runs[arm]
        kept = [run.again for run in runs if run.again is not None]
        spread = f"{statistics.median(kept):.3f} ({min(kept):.3f} to {max(kept):.3f})" if kept else "none valid"
        parts.append(f"{arm} {spread} in {len(runs)} runs")
    return "; ".join(parts)


def overall(results: Mapping[str, Found]) -> Iterator[tuple[str, str]]:
    """Geometric means over kernels and seeds with 95 % intervals, as the search saw it and measured again."""
    if not results:
        return
    longest = max(len(run.curve) for found in results.values() for run in found.runs["r3"])
    for arm in ARMS:
        for evaluations in (*(at for at in SHOWN if at < longest), longest):
            logs = [[math.log(after(run.curve, evaluations)) for run in found.runs[arm]] for found in results.values()]
            yield f"{arm} after {evaluations}", mean_text(logs)
        again = [[math.log(run.again or 1.0) for run in found.runs[arm]] for found in results.values()]
        yield f"{arm} measured again", mean_text(again)
    yield "O3 alone", mean_text([[math.log(found.o3)] for found in results.values()])
    beside = [
        [
            math.log((ours.again or 1.0) / (theirs.again or 1.0))
            for ours, theirs in zip(*found.runs.values(), strict=False)
        ]
        for found in results.values()
    ]
    yield "r3 over random, measured again", mean_text(beside)


def after(curve: Sequence[float], evaluations: int) -> float:
    """The best ratio after so many evaluations; a search that ended earlier keeps what it had."""
    return min(1.0, *curve[:evaluations]) if curve else 1.0


def mean_text(kernels: Sequence[Sequence[float]]) -> str:
    """Geometric mean of ratios given as logarithms, seeds by kernel; interval by drawing seeds anew in each kernel."""
    rng = random.Random(1)
    known = [logs for logs in kernels if logs]
    drawn = sorted(
        statistics.fmean(statistics.fmean(rng.choices(logs, k=len(logs))) for logs in known) for _ in range(RESAMPLED)
    )
    low, high = drawn[round(0.025 * RESAMPLED)], drawn[round(0.975 * RESAMPLED) - 1]
    mean = statistics.fmean(map(statistics.fmean, known))
    return f"{math.exp(mean):.4f} of the baseline's time [{math.exp(low):.4f}, {math.exp(high):.4f}]"


if __name__ == "__main__":
    main()
