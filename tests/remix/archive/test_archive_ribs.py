"""The archive beside pyribs', which is the oracle (extra ``r3cc[ribs]``)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r3cc.remix.archive.archive import Added, Archive
from r3cc.remix.archive.features import cell_of, dimension
from tests.remix.archive.test_archive import NAMES, bins, elite, ratios

ribs_archives = pytest.importorskip(
    "ribs.archives", reason="the extra r3cc[ribs] is not installed", exc_type=ImportError
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(bins, ratios), max_size=40))
def test_the_same_stream_gives_the_same_cells_as_pyribs(stream: list[tuple[tuple[int, ...], float]]) -> None:
    sizes = [len(dimension(name).bins) for name in NAMES]
    oracle = ribs_archives.GridArchive(
        solution_dim=(), solution_dtype=object, dims=sizes, ranges=[(-0.5, size - 0.5) for size in sizes]
    )
    ours = Archive(NAMES, 1)
    for n, (numbers, ratio) in enumerate(stream):
        candidate = elite(n, numbers, ratio)
        cell = cell_of(candidate.features, NAMES)
        status = int(oracle.add_single(str(n), -ratio, [float(at) for at in cell])["status"])
        assert status == {Added.REJECTED: 0, Added.IMPROVED: 1, Added.NEW: 2}[ours.add(0, candidate)]
    found = {
        tuple(round(float(at)) for at in each["measures"]): (int(each["solution"]), -each["objective"])
        for each in oracle
    }
    assert found == {cell: (each.n, each.ratio.median) for cell, each in ours.cells(0).items()}
    assert oracle.stats.num_elites == len(list(ours))
