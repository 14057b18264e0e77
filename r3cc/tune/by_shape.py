"""Where launch shapes disagree about a block: it is kept for those that it serves, the others launch as recorded."""

from __future__ import annotations

from r3cc.replay.model import LaunchShape, ShapeTime
from r3cc.tune.blocks import shapes_text
from r3cc.tune.genotype import Genotype
from r3cc.tune.kernel_search import Judged, KernelSearch
from r3cc.tune.knobs import BLOCK, BLOCK_FOR
from r3cc.tune.simplify import Judge
from r3cc.tune.specialisation import PREFIX


def restrict(search: KernelSearch, judge: Judge) -> None:
    """Try the incumbent with its block only where that is faster than the same code with the recorded block."""
    if not search.incumbents:
        return
    best = search.incumbents[-1]
    keys = [key for key, _ in best.genotype.knobs]
    if BLOCK not in keys or BLOCK_FOR in keys or any(key.startswith(PREFIX) for key in keys):
        return
    if not best.evaluation.by_shape:
        return
    plain = Genotype(best.genotype.edits, tuple(pair for pair in best.genotype.knobs if pair[0] != BLOCK))
    recorded = judge(plain)
    served = shapes_served(best, recorded, search.noise) if recorded is not None else ()
    if 0 < len(served) < len(best.evaluation.by_shape):
        judge(Genotype(plain.edits, tuple(sorted((*best.genotype.knobs, (BLOCK_FOR, shapes_text(served)))))))


def shapes_served(best: Judged, recorded: Judged, noise: float) -> tuple[LaunchShape, ...]:
    """Shapes for which the block is faster than the recorded one by more than noise."""
    beside = {_shape(each): each.ratio for each in recorded.evaluation.by_shape}
    return tuple(
        _shape(each) for each in best.evaluation.by_shape if each.ratio < beside.get(_shape(each), 1.0) * (1 - noise)
    )


def _shape(each: ShapeTime) -> LaunchShape:
    return each.grid, each.block, each.shared
