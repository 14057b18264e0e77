"""Racing: how many timed launches a candidate takes with and without it, and what the best one then is worth.

The same random candidates are judged twice, by new evaluators: all with as many samples as a plan without a race takes,
then each in a race against the best one before it, as searches do. Both winners are measured again at the end.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.common import options_of, options_parser, report
from benchmarks.examples import ALL, WEATHER, heaviest, recorded, spaces
from r3cc.farm import EvaluatorSettings
from r3cc.farm.local import LocalEvaluator
from r3cc.replay.model import Candidate, Evaluation, Race, Status, TimingPlan
from r3cc.store import Store
from r3cc.tune.baseline import noise_of
from r3cc.tune.kernel_run import FEW_SAMPLES, FEW_WARMUPS
from r3cc.tune.plan import Choice
from r3cc.tune.proposers import RandomProposer
from r3cc.tune.space import Space

AGAIN = TimingPlan(warmups=3, samples=16)
LAUNCHES_OF_A_BLOCK = 4
LAUNCHES_OF_A_WARMUP = 2


@dataclass(frozen=True)
class Side:
    """What one way of measuring came to."""

    launches: float
    """Timed and warm-up launches for each candidate that was timed, the baseline's beside it counted as well."""
    seconds: float
    """For all candidates."""
    timed: int
    best: Candidate


def main() -> None:
    parser = options_parser(__doc__ or "")
    parser.add_argument("--candidates", type=int, default=100)
    given = parser.parse_args()
    options = options_of(given)
    count = 20 if options.quick else given.candidates
    results: dict[str, Any] = {}
    rows = []
    for app in (WEATHER,) if options.quick else ALL:
        store = recorded(app, options)
        for choice, space in spaces(store, heaviest(store, 1), options.device):
            name = f"{app.name} {choice.kernel.name}"
            results[name] = found = compare(store, choice, space, count)
            rows.append((name, text(found)))
            print(*rows[-1], flush=True)
    report(options, "racing", results, rows)


def compare(store: Store, choice: Choice, space: Space, count: int) -> dict[str, Any]:
    """Both ways on the same candidates."""
    proposer = RandomProposer(space, seed=1)
    candidates = list({c.id: c for c in (space.candidate(proposer.ask().genotype) for _ in range(count))}.values())
    sides = {name: judge(store, choice, candidates, race) for name, race in {"plain": False, "race": True}.items()}
    with opened(store, choice) as evaluator:
        futures = {name: evaluator.submit(side.best, AGAIN) for name, side in sides.items()}
        again = {name: ratio_of(future.result()) for name, future in futures.items()}
    return {
        "candidates": len(candidates),
        **{name: {**vars(side), "again": again[name]} for name, side in sides.items()},
    }


def judge(store: Store, choice: Choice, candidates: Sequence[Candidate], race: bool) -> Side:
    """All candidates, a few in flight, as a search has them."""
    with opened(store, choice) as evaluator:
        noise = noise_of(evaluator.baseline())
        began = time.perf_counter()
        best, best_ratio, launches, timed = Candidate(), 1.0, 0, 0
        for at in range(0, len(candidates), evaluator.width):
            few = candidates[at : at + evaluator.width]
            plan = TimingPlan(FEW_WARMUPS, FEW_SAMPLES, Race(best_ratio, noise)) if race else TimingPlan()
            for evaluation in [future.result() for future in [evaluator.submit(each, plan) for each in few]]:
                ratio = evaluation.ratio
                if evaluation.status is not Status.OK or ratio is None:
                    continue
                timed += 1
                launches += ratio.samples * LAUNCHES_OF_A_BLOCK + plan.warmups * LAUNCHES_OF_A_WARMUP
                if ratio.median < best_ratio:
                    best, best_ratio = evaluation.candidate, ratio.median
        return Side(launches / max(timed, 1), time.perf_counter() - began, timed, best)


def opened(store: Store, choice: Choice) -> LocalEvaluator:
    return LocalEvaluator.open(store, choice.kernel, choice.device, EvaluatorSettings())


def ratio_of(evaluation: Evaluation) -> float | None:
    """The ratio of a valid evaluation."""
    return evaluation.ratio.median if evaluation.status is Status.OK and evaluation.ratio is not None else None


def text(found: dict[str, Any]) -> str:
    """One line for people."""
    parts = [f"{found['candidates']} candidates, {found['plain']['timed']} timed"]
    for name in ("plain", "race"):
        one = found[name]
        again = "not measured" if one["again"] is None else f"{one['again']:.3f}"
        parts.append(f"{name}: {one['launches']:.1f} launches each, {one['seconds']:.1f} s, its best {again}")
    return "; ".join(parts)


if __name__ == "__main__":
    main()
