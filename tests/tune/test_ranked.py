"""Which finalist is confirmed: the simplest of those that may be as fast as the best."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r3cc.replay.model import Candidate, Evaluation, Interval, Status
from r3cc.tune.finals import ranked
from r3cc.tune.genotype import Genotype
from r3cc.tune.kernel_search import Judged
from r3cc.tune.simplify import size

Measured = tuple[Judged, Evaluation]


def measured(n: int, changes: int, median: float, half: float, status: Status = Status.OK) -> Measured:
    """A finalist of so many changes, with its interval of round 1."""
    knobs = tuple((f"k{number}", "1") for number in range(changes))
    ratio = Interval(median, median - half, median + half, 16) if status is Status.OK else None
    again = Evaluation(Candidate(codegen=(("n", str(n)),)), status, ratio=ratio)
    return Judged(n, Genotype(knobs=knobs), again, -0.1), again


@pytest.mark.parametrize(
    ("simple", "half", "noise", "first"),
    [
        (0.87, 0.01, 0.18, 0),  # a disturbed look at the baseline is no licence to lose 13 %
        (0.77, 0.01, 0.02, 1),
        (0.77, 0.001, 0.02, 0),
        (0.87, 0.10, 0.02, 0),
        (0.76, 0.0, 0.0, 1),
    ],
)
def test_the_simplest_is_taken_where_it_may_be_as_fast(simple: float, half: float, noise: float, first: int) -> None:
    best, other = measured(0, 3, 0.76, half), measured(1, 1, simple, half)
    assert [judged.n for judged in ranked([other, best], noise)] == [first, 1 - first]


def test_nothing_valid_has_no_order() -> None:
    assert ranked([measured(0, 1, 1.0, 0.0, Status.MISMATCH)], 0.01) == []
    assert ranked([], 0.01) == []


FINALISTS = st.lists(
    st.tuples(
        st.integers(0, 5), st.floats(0.3, 1.5), st.floats(0.0, 0.2), st.sampled_from([Status.OK, Status.MISMATCH])
    ),
    max_size=6,
)


@given(FINALISTS, st.floats(0.0, 0.3))
def test_the_first_is_never_surely_slower_and_the_rest_stand_by_their_times(
    drawn: list[tuple[int, float, float, Status]], noise: float
) -> None:
    finalists = [measured(n, *each) for n, each in enumerate(drawn)]
    ratios = {judged.n: again.ratio for judged, again in finalists if again.ratio is not None}
    order = ranked(finalists, noise)
    assert {judged.n for judged in order} == ratios.keys()
    if not order:
        return
    first, *rest = order
    best = min(ratios.values(), key=lambda ratio: ratio.median)
    assert ratios[first.n].low <= best.high
    assert ratios[first.n].median <= best.median * (1 + noise)
    assert [ratios[each.n].median for each in rest] == sorted(ratios[each.n].median for each in rest)
    assert all(size(first.genotype) <= size(each.genotype) for each in rest if ratios[each.n] == best)
