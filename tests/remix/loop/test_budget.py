"""Caps hold whatever is under way."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import r3cc.remix.search as remix_search
from r3cc.remix.events import Reply
from r3cc.remix.loop.budget import Budget, Caps, Spending
from r3cc.remix.loop.controller import KernelRun
from r3cc.remix.search import Allowed
from r3cc.replay.events import Stop
from tests.remix.synthetic import Scribe, search

costs = st.tuples(st.floats(0.0, 1.0), st.integers(0, 1000))


@given(st.floats(0.0, 3.0), st.integers(0, 3000), st.lists(costs, max_size=20), st.randoms())
def test_no_cap_is_ever_passed(usd: float, tokens: int, worsts: list[tuple[float, int]], chance: random.Random) -> None:
    spent = Spending()
    budget = Budget(Caps(usd, tokens), lambda: spent)
    under_way = []
    for cost, count in worsts:
        worst = Spending(cost, count)
        if budget.fits(worst):
            call = budget.reserved(worst)
            call.__enter__()
            under_way.append((call, worst))
        if under_way and chance.random() < 0.5:
            call, worst = under_way.pop(chance.randrange(len(under_way)))
            call.__exit__(None, None, None)
            part = chance.random()
            spent += Spending(worst.cost_usd * part, int(worst.tokens * part))
    for call, worst in under_way:
        call.__exit__(None, None, None)
        spent += worst
    assert spent.cost_usd <= usd + 1e-9 and spent.tokens <= tokens


def test_no_caps_no_limit() -> None:
    budget = Budget(Caps(), lambda: Spending(1e9, 10**12))
    assert budget.fits(Spending(float("inf"), 10**12)) and not budget.spent_up()


@pytest.mark.parametrize(("caps", "full"), [(Caps(1.0), True), (Caps(None, 10), True), (Caps(2.0, 20), False)])
def test_a_cap_that_is_reached(caps: Caps, full: bool) -> None:
    assert Budget(caps, lambda: Spending(1.0, 10)).spent_up() is full


def test_a_reservation_ends_with_its_call_however_it_ends() -> None:
    budget = Budget(Caps(1.0), lambda: Spending())
    with pytest.raises(ValueError, match="broken"), budget.reserved(Spending(0.8)):
        assert not budget.fits(Spending(0.3))
        raise ValueError("broken")
    assert budget.fits(Spending(0.3))


def test_a_search_keeps_to_its_tokens(tmp_path: Path) -> None:
    ran = search(tmp_path / "log", [Scribe()], allowed=Allowed(proposals=None, max_tokens=60_000))
    taken = sum(reply.answer.usage.total for reply in ran.of(Reply))
    assert 20_000 < taken <= 60_000
    assert ran.of(Stop)[0].reason == "cost"


@pytest.mark.parametrize(("forecast_s", "ends_after_s"), [(0.0, 1e6), (2e5, 8e5), (9e5, 5e5)])
def test_finals_are_within_the_time_of_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forecast_s: float, ends_after_s: float
) -> None:
    monkeypatch.setattr(remix_search, "seconds", lambda *costs: forecast_s)
    left: list[float] = []

    class Watched(KernelRun):
        def __init__(self, *parts: object) -> None:
            super().__init__(*parts)  # type: ignore[arg-type]
            assert self.limits.deadline is not None
            left.append(self.limits.deadline - time.monotonic())

    monkeypatch.setattr(remix_search, "KernelRun", Watched)
    search(tmp_path / "log", [Scribe()], allowed=Allowed(proposals=2, time_s=1e6))
    assert left == [pytest.approx(ends_after_s, abs=1e3)]
