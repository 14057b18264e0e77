"""What each change of a winner buys: the winner is measured once more without it."""

from __future__ import annotations

import time
from collections.abc import Callable

from r3cc.farm.evaluator import Evaluator
from r3cc.replay.events import Part
from r3cc.replay.model import TimingPlan
from r3cc.tune.genotype import Genotype
from r3cc.tune.kernel_search import SearchSpace
from r3cc.tune.simplify import size, without

MOST_PARTS = 12
"""Changes of a winner that are measured; minimised winners have fewer."""
TIMING = TimingPlan(warmups=3, samples=8)


def measure_parts(
    kernel: str,
    space: SearchSpace,
    winner: Genotype,
    opened: Callable[[], Evaluator],
    emit: Callable[[Part], None],
) -> None:
    """Judge the winner less each of its changes in turn; a winner of one change needs no telling."""
    count = min(size(winner), MOST_PARTS)
    if count < 2:
        return
    less = [without(winner, part) for part in range(count)]
    evaluator = opened()
    futures = [evaluator.submit(space.candidate(genotype), TIMING) for genotype in less]
    evaluations = [future.result() for future in futures]
    for part, genotype, evaluation in zip(range(count), less, evaluations, strict=True):
        emit(Part(at=time.time(), kernel=kernel, change=_change(space, winner, genotype, part), evaluation=evaluation))


def _change(space: SearchSpace, winner: Genotype, less: Genotype, part: int) -> str:
    """The change's text: what the winner's changes have and the others' have not."""
    rest = list(space.changes(less))
    for change in space.changes(winner):
        if change in rest:
            rest.remove(change)
        else:
            return change
    return f"change {part + 1}"
