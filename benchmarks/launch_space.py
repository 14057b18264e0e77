"""Launch shapes: every legal block measured, then searches on that table: how near to the best, how soon.

A table is measured once, so searches differ in nothing but what they ask for: R3's optimizer, which asks the same for
every seed, and random search, 100 seeds. Aim: within 2 % of the best in a tenth of the evaluations that trying
everything takes. ``--cache FILE`` takes tables from a cache file of Kernel Tuner instead of measuring: one for each
setting of its other parameters, beginning with a usual block.
"""

from __future__ import annotations

import gzip
import json
import math
import random
import statistics
import traceback
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import Options, options_of, options_parser, report
from benchmarks.examples import ALL, SHAPES, heaviest, recorded, spaces
from r3cc.farm import EvaluatorSettings
from r3cc.farm.local import LocalEvaluator
from r3cc.llvm import AccessPattern
from r3cc.replay.model import Dim3, LaunchConfiguration, Status, TimingPlan
from r3cc.store import Store
from r3cc.tune.blocks import WARP, dimensions, volume
from r3cc.tune.genotype import Genotype
from r3cc.tune.knobs import BLOCK, Knob
from r3cc.tune.launch_optimizer import LaunchOptimizer
from r3cc.tune.plan import Choice
from r3cc.tune.space import Space

SEEDS = 100
KERNELS = 6
"""Of each program; those with fewer than ten legal blocks are left out."""
NEAR = 1.02
FEWEST = 10
MOST_OF_A_CACHE = 16
PLAN = TimingPlan(samples=8)
USUAL = ((16, 16, 1), (32, 8, 1), (32, 4, 1), (256, 1, 1), (128, 1, 1), (4, 64, 1), (8, 32, 1), (1, 256, 1))
"""Blocks that people write down, from which a search on a published table begins."""


@dataclass(frozen=True)
class Table:
    """Ratio to the recorded block's time by block; infinity for one that fails."""

    name: str
    recorded: Dim3
    ratios: Mapping[Dim3, float]
    accesses: Sequence[AccessPattern] = ()

    @property
    def best(self) -> float:
        return min(1.0, *self.ratios.values())

    @property
    def tenth(self) -> int:
        return max(1, round(len(self.ratios) / 10))


def main() -> None:
    parser = options_parser(__doc__ or "")
    parser.add_argument("--cache", type=Path, action="append", default=[], help="of Kernel Tuner, .json or .json.gz")
    given = parser.parse_args()
    options = options_of(given)
    tables = published(given.cache) if given.cache else measured(options)
    results: dict[str, Any] = {}
    for table in tables:
        results[table.name] = {"table": {str(block): ratio for block, ratio in table.ratios.items()}, **compare(table)}
        print(f"{table.name}: {text(results[table.name])}", flush=True)
    rows = list(overall(list(results.values()))) if results else [("none", "no kernel has ten legal blocks")]
    report(options, "launch_space", results, rows)


def measured(options: Options) -> Iterator[Table]:
    """Tables of the mini-apps' and of the shape program's kernels."""
    for app in (SHAPES,) if options.quick else (SHAPES, *ALL):
        store = recorded(app, options)
        for choice, space in spaces(store, heaviest(store, KERNELS), options.device):
            knob = next((knob for knob in space.knobs if knob.key == BLOCK), None)
            if knob is None or len(knob.values) < FEWEST:
                continue
            try:
                yield measure(f"{app.name} {choice.kernel.name}", store, choice, space, knob)
            except Exception:
                traceback.print_exc()
                print(f"{app.name} {choice.kernel.name}: left out", flush=True)


def measure(name: str, store: Store, choice: Choice, space: Space, knob: Knob) -> Table:
    """Every legal block of a kernel, once."""
    with LocalEvaluator.open(store, choice.kernel, choice.device, EvaluatorSettings()) as evaluator:
        candidates = {value: space.candidate(Genotype((), ((BLOCK, value),))) for value in knob.values}
        assert all(candidate.launch != LaunchConfiguration() for candidate in candidates.values())
        futures = {value: evaluator.submit(candidate, PLAN) for value, candidate in candidates.items()}
        found = {dimensions(value): future.result() for value, future in futures.items()}
    ratios = {
        block: each.ratio.median if each.status is Status.OK and each.ratio is not None else math.inf
        for block, each in found.items()
    }
    return Table(name, dimensions(knob.recorded), ratios, space.facts.accesses)


def published(paths: Sequence[Path]) -> Iterator[Table]:
    """Tables of Kernel Tuner's caches, a few of each, drawn at random."""
    for path in paths:
        read = gzip.open if path.suffix == ".gz" else open
        with read(path, "rt") as file:
            cache = json.load(file)
        name = f"{cache['kernel_name']} {cache['device_name']}"
        tables = list(tables_of(cache, name))
        yield from random.Random(1).sample(tables, min(MOST_OF_A_CACHE, len(tables)))


def tables_of(cache: Mapping[str, Any], name: str) -> Iterator[Table]:
    """One table for each setting of what is not the block."""
    blocks = ("block_size_x", "block_size_y", "block_size_z")
    others = [key for key in cache["tune_params_keys"] if key not in blocks]
    times: dict[str, dict[Dim3, float]] = defaultdict(dict)
    for each in cache["cache"].values():
        x, y, z = (int(each.get(key, 1)) for key in blocks)
        time = each["time"] if isinstance(each["time"], (int, float)) else math.inf
        if x * y * z % WARP == 0:
            times[" ".join(f"{key}={each[key]}" for key in others)][x, y, z] = time
    for setting, found in times.items():
        start = next((block for block in (*USUAL, *found) if math.isfinite(found.get(block, math.inf))), None)
        if start is not None and len(found) > FEWEST and volume(start):
            ratios = {block: time / found[start] for block, time in found.items() if block != start}
            yield Table(f"{name} {setting}", start, ratios)


def compare(table: Table) -> dict[str, Any]:
    """Evaluations until within 2 % of the best, and what a tenth of them reaches, by search."""
    found: dict[str, Any] = {"shapes": len(table.ratios), "best": table.best, "tenth": table.tenth}
    for name, runs in {"r3": [_by_model(table)], "random": [_at_random(table, seed) for seed in range(SEEDS)]}.items():
        needed, after = zip(*(_run(asked, table) for asked in runs), strict=True)
        found[name] = {
            "evaluations_to_2_percent": statistics.median(needed),
            "part_to_2_percent": statistics.median(needed) / len(table.ratios),
            "after_a_tenth": statistics.median(after),
            "near_after_a_tenth": sum(value <= table.best * NEAR for value in after) / len(after),
        }
    return found


def _run(asked: Iterator[Dim3], table: Table) -> tuple[int, float]:
    """Shapes asked for until near the best (all of them where that never happens), and the best after a tenth."""
    incumbent, best_after = 1.0, None
    needed = 0 if table.best * NEAR >= 1.0 else None
    for number, block in enumerate(asked, 1):
        incumbent = min(incumbent, table.ratios[block])
        if needed is None and incumbent <= table.best * NEAR:
            needed = number
        if number == table.tenth:
            best_after = incumbent
        if needed is not None and number >= table.tenth:
            break
    return len(table.ratios) if needed is None else needed, incumbent if best_after is None else best_after


def _by_model(table: Table) -> Iterator[Dim3]:
    shapes = (table.recorded, *table.ratios)
    optimizer = LaunchOptimizer(shapes, accesses=table.accesses)
    worst = 0.0
    while (setting := optimizer.ask()) is not None:
        block = shapes[setting[0]]
        yield block
        ratio = table.ratios[block]
        worst = max(worst, math.log(ratio)) if math.isfinite(ratio) else worst
        optimizer.tell(setting, math.log(ratio) if math.isfinite(ratio) else worst + 0.1)


def _at_random(table: Table, seed: int) -> Iterator[Dim3]:
    yield from random.Random(seed).sample([*table.ratios], len(table.ratios))


def text(found: Mapping[str, Any]) -> str:
    """One line for people."""
    parts = [f"{found['shapes']} shapes, best {found['best']:.3f}"]
    for name in ("r3", "random"):
        one = found[name]
        parts.append(
            f"{name}: within 2 % after {one['evaluations_to_2_percent']:.0f}, "
            f"in a tenth ({found['tenth']}) {one['near_after_a_tenth']:.0%}, {one['after_a_tenth']:.3f} by then"
        )
    return "; ".join(parts)


def overall(results: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """What holds over all tables."""
    for name in ("r3", "random"):
        part = statistics.median(each[name]["part_to_2_percent"] for each in results)
        near = statistics.fmean(each[name]["near_after_a_tenth"] for each in results)
        away = statistics.fmean(math.log(each[name]["after_a_tenth"] / each["best"]) for each in results)
        yield (
            name,
            f"{len(results)} tables: within 2 % after {part:.1%} of the evaluations (median); "
            f"after a tenth near for {near:.0%}, on average {math.expm1(away):.1%} above the best",
        )


if __name__ == "__main__":
    main()
