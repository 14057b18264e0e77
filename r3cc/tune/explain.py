"""What each level and each change of a winner buys: the winner is measured once more beside itself without them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from r3cc.replay.events import Part
from r3cc.replay.levels import levels_of, without_level
from r3cc.replay.model import Candidate, Evaluation, Status
from r3cc.tune.genotype import Genotype
from r3cc.tune.kernel_search import SearchSpace
from r3cc.tune.knobs import BLOCK, BLOCK_BY_SHAPE, BLOCK_FOR
from r3cc.tune.side_by_side import SAMPLES, WARMUPS, Rounds, quotients, together
from r3cc.tune.simplify import size, without

MOST_PARTS = 12
"""Changes of a winner that are measured; minimised winners have fewer."""
ROUNDS = 4
USUAL_BLOCKS = 6 * ROUNDS * (WARMUPS + SAMPLES)
"""What this is reckoned with before there is a winner: one with five parts."""


def measure_parts(
    kernel: str,
    space: SearchSpace,
    winner: Genotype,
    rounds: Callable[[], Rounds],
    emit: Callable[[Part], None],
) -> None:
    """Judge the winner less each of its levels and changes, all in the same rounds; a single change is all of it."""
    whole = space.candidate(winner)
    levels = levels_of(whole)
    parts = [(level, "", _less(space, winner, level)) for level in levels if len(levels) > 1]
    if size(winner) > 1:
        less = [without(winner, part) for part in range(min(size(winner), MOST_PARTS))]
        parts += [("", _change(space, winner, each, part), space.candidate(each)) for part, each in enumerate(less)]
    if not parts:
        return
    measured = rounds().measure((whole, *(candidate for _, _, candidate in parts)), ROUNDS)
    of_winner, *of_parts = zip(*measured, strict=True)
    for (level, change, _), found in zip(parts, of_parts, strict=True):
        evaluation = _verdict(found)
        ratio = together(quotients(list(zip(of_winner, found, strict=True))))
        valid = evaluation.status is Status.OK
        emit(
            Part(
                at=time.time(),
                kernel=kernel,
                level=level,
                change=change,
                evaluation=evaluation,
                ratio=ratio if valid else None,
            )
        )


def _less(space: SearchSpace, winner: Genotype, level: str) -> Candidate:
    """The winner as the baseline is at one level. Other levels' options that follow the block follow the recorded."""
    if level != "launch":
        return without_level(space.candidate(winner), level)
    keys = (BLOCK, BLOCK_FOR, BLOCK_BY_SHAPE)
    return space.candidate(Genotype(winner.edits, tuple(pair for pair in winner.knobs if pair[0] not in keys)))


def _verdict(found: Sequence[Evaluation]) -> Evaluation:
    """The first failure, else the first that is valid; lost ones say nothing where there are others."""
    valid = [each for each in found if each.status is Status.OK]
    failed = [each for each in found if each.status not in (Status.OK, Status.WORKER_LOST)]
    return (*failed, *valid, *found)[0]


def _change(space: SearchSpace, winner: Genotype, less: Genotype, part: int) -> str:
    """The change's text: what the winner's changes have and the others' have not."""
    rest = list(space.changes(less))
    for change in space.changes(winner):
        if change in rest:
            rest.remove(change)
        else:
            return change
    return f"change {part + 1}"
