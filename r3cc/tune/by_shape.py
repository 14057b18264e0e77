"""Where launch shapes disagree about a block: each shape gets the one that serves it, in one result.

The code is the same for all shapes; only what is launched differs, behind a guard on the shape. A block is the
incumbent's, another one that some candidate did better with for a shape, or the recorded one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from r3cc.replay.model import LaunchShape, ShapeTime, Status
from r3cc.tune.blocks import by_shape_text, dimensions, shapes_text
from r3cc.tune.genotype import Genotype, Knobs
from r3cc.tune.kernel_search import Judged, KernelSearch
from r3cc.tune.knobs import BLOCK, BLOCK_BY_SHAPE, BLOCK_FOR
from r3cc.tune.simplify import Judge
from r3cc.tune.specialisation import PREFIX

MOST_BLOCKS = 3
"""Blocks that are tried beside the incumbent's: each costs an evaluation."""
RECORDED = ""
"""Stands for the recorded block, where the others stand by the text of their knob."""


def apart(search: KernelSearch, judge: Judge) -> None:
    """Try the incumbent with each shape's best block, if that is not one for all of them."""
    if not search.incumbents:
        return
    best = search.incumbents[-1]
    keys = [key for key, _ in best.genotype.knobs]
    if BLOCK_FOR in keys or BLOCK_BY_SHAPE in keys or any(key.startswith(PREFIX) for key in keys):
        return
    if not best.evaluation.by_shape:
        return
    own = _block(best.genotype)
    judged = {own: best}
    for block in dict.fromkeys([RECORDED, *promising(search, best)]):
        if block != own and (found := judge(with_block(best.genotype, block))) is not None:
            judged[block] = found
    blocks = chosen(best, judged, search.noise)
    if len(set(blocks.values())) > 1:
        judge(with_blocks(best, blocks))


def promising(search: KernelSearch, best: Judged) -> Sequence[str]:
    """Blocks with which some candidate did better for a shape than the incumbent does, the most time saved first."""
    skipped = (RECORDED, _block(best.genotype))
    saved: dict[str, float] = {}
    for each in best.evaluation.by_shape:
        others = [
            (shape.ratio, _block(judged.genotype))
            for judged in search.judged.values()
            if judged.evaluation.status is Status.OK and not _is_split(judged.genotype)
            for shape in judged.evaluation.by_shape
            if _shape(shape) == _shape(each) and _block(judged.genotype) not in skipped
        ]
        ratio, block = min(others, default=(each.ratio, RECORDED))
        if ratio < each.ratio * (1 - search.noise):
            saved[block] = saved.get(block, 0.0) + each.weight * each.baseline_ns * (each.ratio - ratio)
    return sorted(saved, key=lambda block: -saved[block])[:MOST_BLOCKS]


def chosen(best: Judged, judged: Mapping[str, Judged], noise: float) -> dict[LaunchShape, str]:
    """Each shape's block: the incumbent's, unless another one is faster there by more than noise."""
    own = _block(best.genotype)
    blocks = {}
    for each in best.evaluation.by_shape:
        ratios = {
            block: shape.ratio
            for block, found in judged.items()
            for shape in found.evaluation.by_shape
            if found.evaluation.status is Status.OK and _shape(shape) == _shape(each)
        }
        fastest = min(ratios, key=ratios.__getitem__)
        blocks[_shape(each)] = fastest if ratios[fastest] < each.ratio * (1 - noise) else own
    return blocks


def with_block(genotype: Genotype, block: str) -> Genotype:
    """A genotype with another block for all shapes."""
    rest = [pair for pair in genotype.knobs if pair[0] != BLOCK]
    return Genotype(genotype.edits, _sorted([*rest, *([(BLOCK, block)] if block else [])]))


def with_blocks(best: Judged, blocks: Mapping[LaunchShape, str]) -> Genotype:
    """The incumbent with a block for each shape; the one that serves most of the time is written as the block."""
    times = dict.fromkeys((block for block in blocks.values() if block), 0.0)
    for each in best.evaluation.by_shape:
        if blocks[_shape(each)]:
            times[blocks[_shape(each)]] += each.weight * each.baseline_ns
    main = max(times, key=times.__getitem__)
    served = [shape for shape, block in blocks.items() if block]
    others = [(shape, dimensions(block)) for shape, block in blocks.items() if block not in (RECORDED, main)]
    more = [(BLOCK_FOR, shapes_text(served))] if len(served) < len(blocks) else []
    more += [(BLOCK_BY_SHAPE, by_shape_text(others))] if others else []
    genotype = with_block(best.genotype, main)
    return Genotype(genotype.edits, _sorted([*genotype.knobs, *more]))


def _block(genotype: Genotype) -> str:
    return dict(genotype.knobs).get(BLOCK, RECORDED)


def _is_split(genotype: Genotype) -> bool:
    return any(key in (BLOCK_FOR, BLOCK_BY_SHAPE) for key, _ in genotype.knobs)


def _sorted(pairs: Sequence[tuple[str, str]]) -> Knobs:
    return tuple(sorted(pairs))


def _shape(each: ShapeTime) -> LaunchShape:
    return each.grid, each.block, each.shared
