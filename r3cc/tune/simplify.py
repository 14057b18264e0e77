"""The winner without what it does not need: shorter changes are easier to read, and likelier to serve elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from r3cc.tune.genotype import Genotype
from r3cc.tune.kernel_search import Judged, KernelSearch

AS_GOOD = 2
"""Times the noise within which candidates count as equally fast: the best one was lucky, others may not have been."""
Judge = Callable[[Genotype], Judged | None]
"""Evaluates a genotype; None when there is no budget left for it."""


def simplify(search: KernelSearch, judge: Judge) -> None:
    """Take changes away from the incumbent, the last ones first, as long as it stays as fast within noise."""
    if not search.incumbents:
        return
    current = search.incumbents[-1]
    for part in reversed(range(size(current.genotype))):
        judged = judge(without(current.genotype, part))
        if judged is None:
            return
        if as_good(search, judged):
            current = judged


def simplest(search: KernelSearch) -> Judged | None:
    """The smallest genotype as fast as the incumbent within noise; None without an incumbent."""
    if not search.incumbents:
        return None
    good = [judged for judged in search.judged.values() if as_good(search, judged)]
    return min(good, key=lambda judged: (size(judged.genotype), judged.loss, judged.n))


def as_good(search: KernelSearch, judged: Judged) -> bool:
    """Whether a candidate is valid and as fast as the incumbent within noise, and faster than the baseline."""
    return search.is_faster(judged) and judged.loss <= search.best_loss + AS_GOOD * search.noise


def size(genotype: Genotype) -> int:
    """Changes that a genotype makes."""
    return len(genotype.edits) + len(genotype.knobs)


def without(genotype: Genotype, part: int) -> Genotype:
    """A genotype less its ``part``-th change; edits come before knobs."""
    knob = part - len(genotype.edits)
    return Genotype(
        tuple(edit for at, edit in enumerate(genotype.edits) if at != part),
        tuple(pair for at, pair in enumerate(genotype.knobs) if at != knob),
    )
