"""What each change of a winner buys, from the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from r3cc.replay.events import Part
from r3cc.replay.model import Candidate, Status
from r3cc.report.explain import explain, lines
from tests.report.test_report import begin
from tests.tune.synthetic import plan
from tests.tune.test_search import events_of, kinds, run


def test_what_each_change_of_a_winner_buys_is_measured(tmp_path: Path) -> None:
    def two(candidate: Candidate) -> float | Status:
        text = candidate.pipeline or ""
        return (0.8 if "slsr" in text else 1.0) * (0.9 if candidate.launch.block == (64, 1, 1) else 1.0)

    (result,) = run(tmp_path / "log", model=two, budget=260)
    parts = [event for event in kinds(tmp_path / "log", Part) if isinstance(event, Part)]
    assert sorted(part.change for part in parts) == sorted(result.changes)
    (explained,) = explain([begin(plan()), *events_of(tmp_path / "log")])
    factors = {("slsr" in part.change): part.factor for part in explained.parts}
    assert factors == {True: pytest.approx(1.25, rel=0.03), False: pytest.approx(1 / 0.9, rel=0.03)}
    assert any("slsr" in line and "1.2" in line for line in lines(explained))
