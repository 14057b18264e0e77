"""What a search strategy is worth on kernels modelled after event logs (``logged_kernels``): no GPU, many seeds.

``--log FILE`` (may be repeated) names event logs of ``r3 tune``. R3's optimizer and random search choose for every
kernel of them that has enough measured launches, with as many evaluations in flight as a GPU's machine has; a seed is
another way in which the kernel may behave, the same for all arms. What counts is the true time of the best by what the
search saw. ``--specialise`` lets the logs' constants vary, too, as ``r3 tune --specialise`` does.

A choice between strategies is to be judged on kernels that it was not made on: ``--kernels PATTERN`` and
``--without PATTERN`` split them.
"""

from __future__ import annotations

import math
import random
import statistics
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

from benchmarks.common import options_of, options_parser, report
from benchmarks.curves import ARMS, RESAMPLED, proposer_of
from benchmarks.logged_kernels import Logged, World, foretold, read_kernels, space_of
from r3cc.replay.model import Candidate, Evaluation, Interval, Status
from r3cc.tune.blocks import legal_blocks
from r3cc.tune.genotype import Genotype
from r3cc.tune.kernel_search import Asked, KernelSearch
from r3cc.tune.llvm_facts import LLVMFacts
from r3cc.tune.space import Space

WIDTH = 17
"""Evaluations in flight on a machine with one GPU and 16 cores."""
BUDGET = 150
SHOWN = (10, 25, 60, 150)
SEEDS, QUICK_SEEDS = 10, 2
NOISE = 0.002
TARGET = {"triple": "nvptx64-nvidia-cuda", "architecture": "sm_90"}


def main() -> None:
    parser = options_parser(__doc__ or "")
    parser.add_argument("--log", type=Path, action="append", required=True, help="events.jsonl of a search")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--width", type=int, default=WIDTH, help="evaluations in flight")
    parser.add_argument("--specialise", action="store_true", help="let constants vary, too")
    parser.add_argument("--kernels", default="*", help="those whose names match")
    parser.add_argument("--without", default="", help="but not those whose names match")
    parser.add_argument("--arm", choices=ARMS, action="append", help="only this one")
    given = parser.parse_args()
    options = options_of(given)
    seeds = QUICK_SEEDS if options.quick else given.seeds
    logged = [kernel for path in given.log for kernel in read_kernels(path)]
    chosen = [each for each in logged if fnmatch(each.name, given.kernels) and not fnmatch(each.name, given.without)]
    with LLVMFacts() as facts:
        target = facts.target(TARGET, "cuda:0")
    curves: dict[str, dict[str, list[list[float]]]] = {}
    for number, kernel in enumerate(chosen):
        space = space_of(kernel, target, specialise=given.specialise)
        found: dict[str, list[list[float]]] = {arm: [] for arm in given.arm or ARMS}
        for seed in range(seeds):
            world = World(kernel, legal_blocks(space.facts, space.shapes), logged, seed)
            for arm, runs in found.items():
                runs.append(search(space, world, arm, seed, given.width))
        curves[f"{number} {kernel.name}"] = found
        print(f"{number} {kernel.name}: {text(kernel, found)}", flush=True)
    report(options, "modelled", {"curves": curves}, list(overall(curves)))


def search(space: Space, world: World, arm: str, seed: int, width: int) -> list[float]:
    """The loss of the best after each evaluation."""
    proposer, first = proposer_of(arm, space, seed, width, world.kernel.own_registers)
    itself = Interval(1.0, 1 - NOISE, 1 + NOISE, 1)
    own = Evaluation(Candidate(), Status.OK, object_hash=world.code(Genotype(), Candidate()), ratio=itself)
    state = KernelSearch(space, proposer, own, NOISE, first)
    flight: deque[Asked] = deque()
    curve: list[float] = []
    for asked in proposals(state, flight, width):
        state.tell(asked.n, world.judge(asked.genotype, asked.candidate))
        best = state.incumbents[-1] if state.incumbents else None
        true = world.loss(best.genotype, best.evaluation.candidate) if best else 0.0
        assert true is not None
        curve.append(true)
    return curve + curve[-1:] * (BUDGET - len(curve))


def proposals(state: KernelSearch, flight: deque[Asked], width: int) -> Iterator[Asked]:
    """Proposals in the order in which their answers come, so many at a time."""
    number = asked_for = 0
    while True:
        while len(flight) < width and asked_for < BUDGET and not state.plateau:
            asked = state.ask(number)
            if asked is None:
                break
            number += 1
            if asked.repeats is None:
                asked_for += 1
                flight.append(asked)
        if not flight:
            return
        yield flight.popleft()


def text(kernel: Logged, found: Mapping[str, Sequence[Sequence[float]]]) -> str:
    """One line for people."""
    spread, missed = foretold(kernel)
    parts = [f"{len(kernel.points)} launches, {1 - (missed / spread) ** 2:.0%} foretold"]
    for arm, runs in found.items():
        means = [math.exp(statistics.fmean(curve[at - 1] for curve in runs)) for at in SHOWN]
        parts.append(f"{arm} " + " ".join(f"{mean:.3f}" for mean in means))
    return "; ".join(parts)


def overall(curves: Mapping[str, Mapping[str, Sequence[Sequence[float]]]]) -> Iterator[tuple[str, str]]:
    """Geometric means over kernels, with 95 % intervals over kernels and seeds."""
    for arm in next(iter(curves.values())):
        for at in SHOWN:
            yield f"{arm} after {at}", interval([[curve[at - 1] for curve in found[arm]] for found in curves.values()])
    if all(set(ARMS) <= set(found) for found in curves.values()):
        for at in SHOWN:
            beside = [
                [one[at - 1] - other[at - 1] for one, other in zip(found["r3"], found["random"], strict=True)]
                for found in curves.values()
            ]
            yield f"r3 over random after {at}", interval(beside)


def interval(kernels: Sequence[Sequence[float]]) -> str:
    """Geometric mean of losses; its interval by drawing kernels anew, and seeds in each."""
    rng = random.Random(1)
    drawn = sorted(
        statistics.fmean(
            statistics.fmean(rng.choices(losses, k=len(losses))) for losses in rng.choices(kernels, k=len(kernels))
        )
        for _ in range(RESAMPLED)
    )
    low, high = drawn[round(0.025 * RESAMPLED)], drawn[round(0.975 * RESAMPLED) - 1]
    mean = statistics.fmean(map(statistics.fmean, kernels))
    return f"{math.exp(mean):.4f} [{math.exp(low):.4f}, {math.exp(high):.4f}]"


if __name__ == "__main__":
    main()
