"""What each change of a winner buys, from the log."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from r3cc.replay.events import Part, Result
from r3cc.replay.model import Candidate, Evaluation, Interval, Status
from r3cc.report.explain import explain, lines
from tests.report.test_report import begin
from tests.tune.synthetic import plan
from tests.tune.test_search import events_of, kinds, run


def test_what_each_change_of_a_winner_buys_is_measured(tmp_path: Path) -> None:
    def two(candidate: Candidate) -> float | Status:
        text = candidate.pipeline or ""
        return (0.8 if "slsr" in text else 1.0) * (0.9 if candidate.launch.block == (64, 1, 1) else 1.0)

    (result,) = run(tmp_path / "log", model=two, budget=260, seed=4)
    assert any("slsr" in change for change in result.changes), "another seed finds it"
    parts = [event for event in kinds(tmp_path / "log", Part) if isinstance(event, Part) and not event.level]
    assert sorted(part.change for part in parts) == sorted(result.changes)
    (explained,) = explain([begin(plan()), *events_of(tmp_path / "log")])
    factors = {("slsr" in part.change): part.factor for part in explained.parts}
    assert factors == {True: pytest.approx(1.25, rel=0.03), False: pytest.approx(1 / 0.9, rel=0.03)}
    assert any("slsr" in line and "1.2" in line for line in lines(explained))
    shares = {level.change: level.share for level in explained.levels}
    whole = math.log(1 / 0.72)
    assert shares == {
        "pipeline": pytest.approx(math.log(1.25) / whole, abs=0.05),
        "launch": pytest.approx(math.log(1 / 0.9) / whole, abs=0.05),
    }


def test_what_may_as_well_buy_nothing_has_no_share() -> None:
    """The winner's interval is of five processes; a part's is of rounds beside the winner, and says so itself."""

    def noisy(median: float, half: float) -> Interval:
        return Interval(median, median - half, median + half, 20)

    evaluation = Evaluation(Candidate(), Status.OK, ratio=noisy(0.8, 0.01))
    parts = [
        Part(at=0.0, kernel="abc", change="", level=level, evaluation=evaluation, ratio=ratio)
        for level, ratio in (("pipeline", noisy(1.004, 0.006)), ("launch", noisy(1.24, 0.01)))
    ]
    failed = Part(at=0.0, kernel="abc", change="maxnreg=64", evaluation=Evaluation(Candidate(), Status.LAUNCH_ERROR))
    before = Part(at=0.0, kernel="abc", change="drop licm#1", evaluation=evaluation)
    result = Result(
        at=0.0,
        kernel="abc",
        n=1,
        candidate=Candidate("default<O2>"),
        changes=("drop licm#1", "maxnreg=64"),
        baseline_ns=None,
        best_ns=None,
        speedup=noisy(1.25, 0.02),
    )
    (explained,) = explain([begin(plan()), *parts, failed, before, result])
    assert lines(explained)[1:] == [
        "  pipeline: 1.004x [0.998, 1.010] (inside the noise)",
        "  launch: 1.240x [1.230, 1.250], 96% of it",
        "    maxnreg=64: needed: without it the candidate is a launch_error",
        "    drop licm#1: 1.000x [0.972, 1.029] (inside the noise)",
    ]
