"""Launch shapes: every legal block measured, then searches on that table: how near to the best, how soon.

The table is measured once, so searches differ in nothing but what they ask for: R3's knob optimizer and random search,
100 seeds each. Aim: within 2 % of the best in a tenth of the evaluations that trying everything takes.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.common import parse_options, report
from benchmarks.examples import ALL, WEATHER, heaviest, recorded, spaces
from r3cc.farm import EvaluatorSettings, LocalEvaluator
from r3cc.replay.model import LaunchConfiguration, Status, TimingPlan
from r3cc.store import Store
from r3cc.tune.genotype import Genotype
from r3cc.tune.knobs import BLOCK, Knob
from r3cc.tune.plan import Choice
from r3cc.tune.proposers import KnobProposer
from r3cc.tune.space import Space

SEEDS = 100
KERNELS = 6
"""Of each mini-app; those with fewer than ten legal blocks are left out."""
NEAR = 1.02
FEWEST = 10
PLAN = TimingPlan(samples=8)


def main() -> None:
    options = parse_options(__doc__ or "")
    results: dict[str, Any] = {}
    rows: list[tuple[str, str]] = []
    for app in (WEATHER,) if options.quick else ALL:
        store = recorded(app, options)
        for choice, space in spaces(store, heaviest(store, KERNELS), options.device):
            if options.quick and rows:
                break
            knob = next((knob for knob in space.knobs if knob.key == BLOCK), None)
            if knob is None or len(knob.values) < FEWEST:
                continue
            table = measure(store, choice, space, knob)
            found = compare(knob, table)
            results[f"{app.name} {choice.kernel.name}"] = {"table": table, **found}
            rows.append((f"{app.name} {choice.kernel.name}", text(found)))
            print(*rows[-1], flush=True)
    report(options, "launch_space", results, rows or [("none", "no kernel has ten legal blocks")])


def measure(store: Store, choice: Choice, space: Space, knob: Knob) -> dict[str, float]:
    """Ratio to the baseline of every legal block; infinity for one that fails."""
    with LocalEvaluator.open(store, choice.kernel, choice.device, EvaluatorSettings()) as evaluator:
        candidates = {value: space.candidate(Genotype((), ((BLOCK, value),))) for value in knob.values}
        futures = {value: evaluator.submit(candidate, PLAN) for value, candidate in candidates.items()}
        assert all(candidate.launch != LaunchConfiguration() for candidate in candidates.values())
        found = {value: future.result() for value, future in futures.items()}
    return {
        value: each.ratio.median if each.status is Status.OK and each.ratio is not None else math.inf
        for value, each in found.items()
    }


def compare(knob: Knob, table: Mapping[str, float]) -> dict[str, Any]:
    """Evaluations until within 2 % of the best, and what a tenth of them reaches, by search."""
    best = min(1.0, *table.values())
    tenth = max(1, round(len(table) / 10))
    found: dict[str, Any] = {"shapes": len(table), "best": best, "tenth": tenth}
    for name, asks in {"r3": _by_optimizer, "random": _at_random}.items():
        needed, after = zip(*(_run(asks(knob, table, seed), table, best, tenth) for seed in range(SEEDS)), strict=True)
        found[name] = {
            "evaluations_to_2_percent": statistics.median(needed),
            "after_a_tenth": statistics.median(after),
            "near_after_a_tenth": sum(value <= best * NEAR for value in after) / SEEDS,
        }
    return found


def _run(asked: Iterator[str], table: Mapping[str, float], best: float, tenth: int) -> tuple[int, float]:
    """Distinct shapes until near the best, and the best ratio after ``tenth`` of them."""
    seen: dict[str, float] = {}
    incumbent, after = 1.0, 1.0
    needed = 0 if best * NEAR >= 1.0 else len(table)
    for value in asked:
        if value in seen:
            continue
        seen[value] = table[value]
        incumbent = min(incumbent, table[value])
        if incumbent <= best * NEAR:
            needed = min(needed, len(seen))
        if len(seen) == tenth:
            after = incumbent
        if len(seen) == len(table) or (needed < len(table) and len(seen) >= tenth):
            break
    return needed, after


def _by_optimizer(knob: Knob, table: Mapping[str, float], seed: int) -> Iterator[str]:
    proposer = KnobProposer((knob,), seed, 1)
    worst = max((value for value in table.values() if math.isfinite(value)), default=1.0)
    for _ in range(20 * len(table)):
        suggestion = proposer.ask()
        value = dict(suggestion.genotype.knobs).get(BLOCK)
        ratio = 1.0 if value is None else table[value]
        proposer.tell(suggestion.ticket, math.log(ratio if math.isfinite(ratio) else 1.1 * worst))
        if value is not None:
            yield value


def _at_random(knob: Knob, table: Mapping[str, float], seed: int) -> Iterator[str]:
    yield from random.Random(seed).sample(knob.values, len(knob.values))


def text(found: Mapping[str, Any]) -> str:
    """One line for people."""
    parts = [f"{found['shapes']} shapes, best {found['best']:.3f}"]
    for name in ("r3", "random"):
        one = found[name]
        parts.append(
            f"{name}: within 2 % after {one['evaluations_to_2_percent']:.0f} (median), "
            f"in a tenth ({found['tenth']}) for {one['near_after_a_tenth']:.0%} of seeds"
        )
    return "; ".join(parts)


if __name__ == "__main__":
    main()
