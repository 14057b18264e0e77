"""The winner without what it does not need: shorter changes are easier to read, and likelier to serve elsewhere.

The winner is the fastest of the search's best few, measured again: the search's own best number is a lucky one.
Changes are taken away in groups, the pipeline's edits first, and a group that is needed is taken apart in halves. What
is left is always compared with the winner as it was found, measured again beside it, so that small losses do not add up
and the luck of the draw that made it the winner does not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from r3cc.replay.model import Status
from r3cc.tune.genotype import Genotype
from r3cc.tune.kernel_search import Judged, KernelSearch

AS_GOOD = 2
"""Times the noise within which candidates count as equally fast that were not measured beside one another."""
CONTENDERS = 4
"""Of the search's best, those that are measured again."""
CLEARLY = 8
"""Times the noise by which a single look is enough to call a candidate slower."""
Judge = Callable[[Genotype], Judged | None]
"""Evaluates a genotype; None when there is no budget left for it."""
IsSlower = Callable[[Judged, Judged], bool | None]
"""Whether the second is slower than the first by more than noise, measured beside it; None when it is too late."""
Fastest = Callable[[Sequence[Judged]], Judged | None]
"""The fastest of several, measured beside one another; None when it is too late."""
Group = tuple[int, ...]
"""Places of changes in a genotype, edits before knobs."""


def simplify(search: KernelSearch, judge: Judge, fastest: Fastest, is_slower: IsSlower) -> None:
    """Take changes away from the winner as long as what is left is as fast within noise."""
    best = best_few(search, CONTENDERS)
    winner = fastest(best) if len(best) > 1 else next(iter(best), None)
    if winner is None:
        return
    verdicts: dict[int, bool | None] = {}
    taken: Group = ()
    groups = _groups(winner.genotype)
    while groups:
        group = groups.pop(0)
        less = (*taken, *group)
        if len(less) < size(winner.genotype):
            judged = judge(without(winner.genotype, *less))
            if judged is None:
                return
            if judged.n not in verdicts:
                verdicts[judged.n] = _seems_slower(search, winner, judged) or is_slower(winner, judged)
            if verdicts[judged.n] is None:
                return
            if not verdicts[judged.n]:
                taken = less
                continue
        groups = [*_halves(group), *groups] if len(group) > 1 else groups


def best_few(search: KernelSearch, count: int) -> list[Judged]:
    """The best candidates below the baseline, at most so many, one for each code object and launch."""
    good = [judged for judged in search.judged.values() if search.is_faster(judged)]
    good.sort(key=lambda judged: (judged.loss, size(judged.genotype), judged.n))
    distinct: dict[object, Judged] = {}
    for judged in good:
        evaluation = judged.evaluation
        distinct.setdefault((evaluation.object_hash or judged.n, evaluation.candidate.launch), judged)
    return [*distinct.values()][:count]


def _seems_slower(search: KernelSearch, winner: Judged, judged: Judged) -> bool:
    """Whether one look is enough to say that a candidate is worse."""
    ratio = judged.evaluation.ratio
    if judged.evaluation.status is not Status.OK or ratio is None:
        return True
    return math.log(ratio.low) > winner.loss + CLEARLY * search.noise


def _groups(genotype: Genotype) -> list[Group]:
    """Edits and knobs apart; halves where there is one kind alone."""
    edits = tuple(range(len(genotype.edits)))
    knobs = tuple(range(len(edits), size(genotype)))
    return [edits, knobs] if edits and knobs else _halves(edits or knobs)


def _halves(group: Group) -> list[Group]:
    middle = len(group) // 2
    return [half for half in (group[:middle], group[middle:]) if half]


def simplest(search: KernelSearch) -> Judged | None:
    """What was found to be left of the winner; where nothing was, the smallest genotype that seems as good.

    None without an incumbent.
    """
    if search.simplified is not None or not search.incumbents:
        return search.simplified
    good = [judged for judged in search.judged.values() if as_good(search, judged)]
    return min(good, key=lambda judged: (size(judged.genotype), judged.loss, judged.n))


def as_good(search: KernelSearch, judged: Judged) -> bool:
    """Whether a candidate is valid and seems as fast as the incumbent within noise, and faster than the baseline."""
    return search.is_faster(judged) and judged.loss <= search.best_loss + AS_GOOD * search.noise


def size(genotype: Genotype) -> int:
    """Changes that a genotype makes."""
    return len(genotype.edits) + len(genotype.knobs)


def without(genotype: Genotype, *parts: int) -> Genotype:
    """A genotype less some of its changes, by their places; edits come before knobs."""
    first = len(genotype.edits)
    return Genotype(
        tuple(edit for at, edit in enumerate(genotype.edits) if at not in parts),
        tuple(pair for at, pair in enumerate(genotype.knobs, first) if at not in parts),
    )
