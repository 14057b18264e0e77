"""What a search strategy is worth where everything was measured: blocks together with a kernel's other parameters.

``--cache FILE`` (may be repeated) names cache files of Kernel Tuner (.json or .json.gz): tables of a kernel's time for
every setting of its parameters on one GPU. R3's optimizer and random search choose from each table, many seeds, and
differ in nothing but what they ask for; no GPU is needed. A setting that is not in the table, or failed there, fails
here. A search begins with a usual block and the first value of every other parameter.
"""

from __future__ import annotations

import gzip
import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import options_of, options_parser, report
from benchmarks.launch_space import USUAL
from r3cc.replay.model import Candidate, Dim3, Evaluation, Interval, Status
from r3cc.tune.kernel_search import KernelSearch
from r3cc.tune.knob_space import KnobSpace
from r3cc.tune.knobs import BLOCK, Knob, Scope
from r3cc.tune.proposers import Proposer, RandomKnobProposer, knob_proposer

SEEDS = 20
QUICK_SEEDS = 3
BUDGET = 100
SHOWN = (5, 10, 25, 50, 100)
AXES = ("block_size_x", "block_size_y", "block_size_z")
NOISE = 0.002
Setting = tuple[Dim3, tuple[str, ...]]
"""Block, and the values of the other parameters."""
ARMS: Mapping[str, Callable[[KnobSpace, int], Proposer]] = {
    "r3": lambda space, seed: knob_proposer(space.knobs, seed, 1),
    "random": lambda space, seed: RandomKnobProposer(space.knobs, seed),
}


@dataclass(frozen=True)
class Table:
    """A kernel's times on one GPU."""

    name: str
    space: KnobSpace
    others: tuple[str, ...]
    start: Setting
    times: Mapping[Setting, float]

    @property
    def best(self) -> float:
        """The best time over the one that searches begin with."""
        return min(self.times.values()) / self.times[self.start]

    def ratio(self, candidate: Candidate) -> float | None:
        """A candidate's time over that of the start; None where the table has none."""
        values = dict(candidate.codegen)
        rest = tuple(values.get(key, own) for key, own in zip(self.others, self.start[1], strict=True))
        time = self.times.get((candidate.launch.block or self.start[0], rest))
        return None if time is None else time / self.times[self.start]


def main() -> None:
    parser = options_parser(__doc__ or "")
    parser.add_argument("--cache", type=Path, action="append", required=True, help="of Kernel Tuner, .json or .json.gz")
    given = parser.parse_args()
    options = options_of(given)
    seeds = QUICK_SEEDS if options.quick else SEEDS
    results: dict[str, Any] = {}
    for path in given.cache:
        table = read(path)
        curves = {arm: [search(table, arm, seed) for seed in range(seeds)] for arm in ARMS}
        results[table.name] = {"settings": len(table.times), "best": table.best, "above_best": above(table, curves)}
        print(f"{table.name}: {text(results[table.name])}", flush=True)
    report(options, "joint_space", results, list(overall(list(results.values()))))


def read(path: Path) -> Table:
    """The table of a cache file."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        cache = json.load(file)
    parameters: Mapping[str, Sequence[Any]] = cache["tune_params"]
    others = tuple(key for key in cache["tune_params_keys"] if key not in AXES and len(parameters[key]) > 1)
    times: dict[Setting, float] = {}
    for each in cache["cache"].values():
        if isinstance(each["time"], (int, float)):
            x, y, z = (int(each.get(axis, 1)) for axis in AXES)
            times[(x, y, z), tuple(str(each[key]) for key in others)] = each["time"]
    first = tuple(str(parameters[key][0]) for key in others)
    start = next((block, first) for block in (*USUAL, *(block for block, _ in times)) if (block, first) in times)
    blocks = sorted({block for block, _ in times} - {start[0]})
    knobs = [Knob(BLOCK, Scope.KERNEL, tuple(map(shape_text, blocks)), "", recorded=shape_text(start[0]))]
    for key in others:
        values = tuple(str(value) for value in parameters[key][1:])
        knobs.append(Knob(key, Scope.KERNEL, values, "", with_block=True))
    return Table(f"{cache['kernel_name']} {cache['device_name']}", KnobSpace(knobs), others, start, times)


def shape_text(block: Dim3) -> str:
    return ",".join(map(str, block))


def search(table: Table, arm: str, seed: int) -> list[float]:
    """The best ratio after each evaluation."""
    itself = Interval(1.0, 1 - NOISE, 1 + NOISE, 1)
    state = KernelSearch(
        table.space, ARMS[arm](table.space, seed), Evaluation(Candidate(), Status.OK, ratio=itself), NOISE
    )
    curve = [1.0]
    number = 0
    while len(curve) <= BUDGET and (asked := state.ask(number)) is not None:
        number += 1
        if asked.repeats is None:
            ratio = table.ratio(asked.candidate)
            state.tell(asked.n, judged(asked.candidate, ratio))
            curve.append(min(curve[-1], ratio or math.inf))
    return curve[1:] + curve[-1:] * (BUDGET + 1 - len(curve))


def judged(candidate: Candidate, ratio: float | None) -> Evaluation:
    if ratio is None:
        return Evaluation(candidate, Status.LAUNCH_ERROR)
    return Evaluation(candidate, Status.OK, object_hash=candidate.id, ratio=Interval(ratio, ratio, ratio, 1))


def above(table: Table, curves: Mapping[str, Sequence[Sequence[float]]]) -> dict[str, dict[int, float]]:
    """How far above the table's best each arm is after so many evaluations, geometric mean over seeds."""
    return {
        arm: {
            at: math.exp(statistics.fmean(math.log(curve[at - 1] / table.best) for curve in runs)) - 1 for at in SHOWN
        }
        for arm, runs in curves.items()
    }


def text(found: Mapping[str, Any]) -> str:
    """One line for people."""
    parts = [f"{found['settings']} settings, best {found['best']:.3f}"]
    parts += [
        f"{arm} " + ", ".join(f"{far:.0%} above after {at}" for at, far in found["above_best"][arm].items())
        for arm in ARMS
    ]
    return "; ".join(parts)


def overall(results: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Geometric means over the tables."""
    rows = []
    for arm in ARMS:
        means = {
            at: math.expm1(statistics.fmean(math.log1p(each["above_best"][arm][at]) for each in results))
            for at in SHOWN
        }
        rows.append((arm, ", ".join(f"{far:.1%} above the best after {at}" for at, far in means.items())))
    return rows


if __name__ == "__main__":
    main()
