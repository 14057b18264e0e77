"""Invariants of the archive, held against random streams."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r3cc.errors import R3Error
from r3cc.remix.archive import sampling
from r3cc.remix.archive.archive import Added, Archive, Elite
from r3cc.remix.archive.features import DIMENSIONS, cell_of, dimension
from r3cc.remix.archive.state import NOBODY, SearchState, document, document_bytes, fold
from r3cc.remix.events import LoopSettings, Migration, Verdict
from r3cc.remix.model import Features, Stage
from r3cc.replay.model import Candidate, Interval

NAMES = ("synchronisation", "access", "work")
SETTINGS = LoopSettings(dimensions=NAMES, islands=2, migrate_every=5, epoch=3)
ratios = st.floats(0.1, 3.0, allow_nan=False)
reasons = st.sampled_from(["", "", "", "mismatch", "does_not_compile", "duplicate_ir"])
bins = st.tuples(*(st.integers(0, len(each.bins) - 1) for each in DIMENSIONS.values()))


def features(numbers: tuple[int, ...]) -> Features:
    return Features(tuple(zip(DIMENSIONS, numbers, strict=True)))


def elite(n: int, numbers: tuple[int, ...], ratio: float) -> Elite:
    interval = Interval(ratio, ratio, ratio, 5)
    return Elite(n, None, "improve", "p", "s", {}, f"v{n}", Candidate(variant=f"v{n}"), features(numbers), interval)


def verdict(n: int, island: int, numbers: tuple[int, ...], ratio: float, reason: str = "") -> Verdict:
    return Verdict(
        at=0.0,
        n=n,
        kernel="abc",
        island=island,
        parent=None,
        operator="improve",
        proposer="p",
        stage=Stage.CORRECT if reason else Stage.TIME,
        reason=reason,
        strategy=f"strategy {n}",
        variant=f"v{n}",
        source_hash=f"s{n}",
        ir_hash=f"i{n}",
        features=features(numbers),
        ratio=Interval(ratio, ratio, ratio, 5),
    )


verdicts = st.lists(st.tuples(st.integers(0, 1), bins, ratios, reasons), max_size=60).map(
    lambda drawn: [verdict(n, *each) for n, each in enumerate(drawn)]
)


def live(events: list[Verdict]) -> tuple[SearchState, list[Verdict | Migration]]:
    """A state as the controller makes it, and the log that it writes on the way."""
    state, log = SearchState("abc", SETTINGS), []
    for event in events:
        state.apply(event)
        log.append(event)
        while (migration := state.due_migration(0.0)) is not None:
            state.apply(migration)
            log.append(migration)
    return state, log


@given(verdicts)
def test_an_elite_never_gets_worse(events: list[Verdict]) -> None:
    state = SearchState("abc", SETTINGS)
    best: dict[tuple[int, Any], float] = {}
    for event in events:
        state.apply(event)
        for island in range(2):
            for cell, found in state.archive.cells(island).items():
                assert found.ratio.median <= best.get((island, cell), math.inf)
                best[island, cell] = found.ratio.median
        assert all((island, cell) in best for island in range(2) for cell in state.archive.cells(island))


@given(verdicts)
def test_only_what_is_right_and_measured_enters(events: list[Verdict]) -> None:
    state, _ = live(events)
    right = {event.n for event in events if not event.reason}
    assert {found.n for found in state.archive} <= right
    assert len(state.archive.cells(0)) + len(state.archive.cells(1)) >= bool(right)


@pytest.mark.parametrize("missing", ["ratio", "features", "variant"])
def test_a_verdict_without_its_numbers_stays_outside(missing: str) -> None:
    state = SearchState("abc", SETTINGS)
    state.apply(msgspec.structs.replace(verdict(0, 0, (0,) * 6, 0.5), **{missing: None}))
    assert not list(state.archive)


@pytest.mark.parametrize("ratio", [math.nan, math.inf, 0.0, -1.0])
def test_no_number_that_is_none_enters(ratio: float) -> None:
    archive = Archive(NAMES, 1)
    assert archive.add(0, elite(0, (0,) * 6, ratio)) is Added.REJECTED
    assert not archive.would_add(0, features((0,) * 6), Interval(ratio, ratio, ratio, 1))


@given(bins, ratios, ratios)
def test_a_cell_depends_on_features_alone(numbers: tuple[int, ...], one: float, other: float) -> None:
    first, second = elite(1, numbers, one), elite(2, numbers, other)
    assert cell_of(first.features, NAMES) == cell_of(second.features, NAMES)
    assert cell_of(features(numbers), NAMES) == tuple(dict(features(numbers).bins)[name] for name in NAMES)


def test_nothing_is_clipped_into_a_bin() -> None:
    for bad in (Features((("access", 9), ("work", 0), ("synchronisation", 0))), Features((("access", 0),))):
        with pytest.raises(R3Error, match="no bin"):
            cell_of(bad, NAMES)
    with pytest.raises(R3Error, match="no dimension"):
        dimension("length")


@given(verdicts)
def test_migration_copies_and_children_stay_at_home(events: list[Verdict]) -> None:
    state, log = live(events)
    home = {event.n: event.island for event in events}
    moved = {(event.n, event.target) for event in log if isinstance(event, Migration)}
    for island in range(2):
        for found in state.archive.cells(island).values():
            assert home[found.n] == island or (found.n, island) in moved
    for event in log:
        if isinstance(event, Migration) and event.n != NOBODY:
            assert event.origin != event.target


@given(verdicts, st.integers(0, 1))
def test_a_migrant_leaves_its_cell_as_it_was(events: list[Verdict], origin: int) -> None:
    state, _ = live(events)
    before = state.archive.cells(origin)
    for found in list(before.values()):
        state.archive.migrate(found.n, origin, 1 - origin)
    assert state.archive.cells(origin) == before


@given(verdicts, st.integers(0, 60))
def test_folding_the_log_gives_the_live_state(events: list[Verdict], cut: int) -> None:
    state, log = live(events)
    folded = fold("abc", SETTINGS, log)
    assert document_bytes([document(folded)]) == document_bytes([document(state)])
    assert (folded.joined, folded.failures, folded.children) == (state.joined, state.failures, state.children)
    assert (folded.migrations, folded.last_gain, folded.epoch) == (state.migrations, state.last_gain, state.epoch)
    early, rest = fold("abc", SETTINGS, log[:cut]), log[cut:]
    for event in rest:
        early.apply(event)
    assert document(early) == document(state)


@given(verdicts, st.integers(0, 2**31), st.integers(0, 1000), st.integers(1, 4))
def test_a_draw_depends_on_log_seed_and_number(events: list[Verdict], seed: int, n: int, count: int) -> None:
    state, log = live(events)
    drawn = sampling.draw(state, seed, n, count)
    assert drawn == sampling.draw(fold("abc", SETTINGS, log), seed, n, count)
    assert len(drawn.siblings) == count
    if drawn.parent is not None:
        assert drawn.parent in state.archive.elites(drawn.island)
    for sibling in drawn.siblings:
        assert (sibling.other is not None) == (sibling.operator == sampling.COMBINE)
        assert sibling.other is None or sibling.other != drawn.parent


def test_hints_name_empty_neighbours() -> None:
    state = SearchState("abc", SETTINGS)
    for n in range(4):
        for island in range(2):
            state.apply(verdict(2 * n + island, island, (0, 0, n % 4, 0, 0, 0), 0.5 + n / 10))
    hints = {
        sibling.hint
        for n in range(40)
        for sibling in sampling.draw(state, 1, n, 2).siblings
        if sibling.operator == "explore"
    }
    assert hints
    assert all("up to 4 global accesses" not in hint or "no synchronisation" not in hint for hint in hints)
