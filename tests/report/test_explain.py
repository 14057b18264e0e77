"""What each change of a winner buys, from the log."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future
from itertools import count
from pathlib import Path

import msgspec
import pytest

from r3cc.replay.events import Final, Part, Result
from r3cc.replay.model import Candidate, Evaluation, Interval, Status, TimingPlan
from r3cc.report.explain import explain, lines
from r3cc.tune.explain import measure_parts
from r3cc.tune.genotype import Genotype
from r3cc.tune.knobs import BLOCK
from r3cc.tune.side_by_side import Rounds
from tests.report.test_report import begin
from tests.tune.synthetic import SyntheticEvaluator, plan, rugged, space
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
    left = {level.change: level.left for level in explained.levels}
    assert left == {"pipeline": pytest.approx(1 / 0.9, rel=0.03), "launch": pytest.approx(1.25, rel=0.03)}
    assert explained.interplay is None, "they are independent of one another"


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        ((5.73, 1.26), "they come to 7.220x, not 2.670x: what they do only together is lost with each"),
        ((1.73, 1.03), "they come to 1.782x, not 2.670x: what several of them can do is lost with none"),
        ((2.0, 1.33), None),
    ],
)
def test_levels_that_do_not_come_to_the_speedup_are_said_to(factors: tuple[float, float], said: str | None) -> None:
    evaluation = Evaluation(Candidate(), Status.OK, ratio=Interval(1.0, 0.99, 1.01, 20))
    parts = [
        Part(
            at=0.0,
            kernel="abc",
            change="",
            level=level,
            evaluation=evaluation,
            ratio=Interval(factor, factor - 0.01, factor + 0.01, 20),
        )
        for level, factor in zip(("codegen", "launch"), factors, strict=True)
    ]
    (explained,) = explain([begin(plan()), *parts, won(Interval(2.67, 2.66, 2.68, 40))])
    assert lines(explained)[1].endswith(f", {2.67 / factors[0]:.3f}x without it")
    assert explained.interplay == (said and f"taken away one by one {said}")
    assert any("one by one" in line for line in lines(explained)) == (said is not None)


def test_a_verdict_that_was_interrupted_leaves_no_parts_behind() -> None:
    """Killed while it took a winner apart, a search does its finals again, and may choose another winner."""

    def part(change: str, factor: float) -> Part:
        ratio = Interval(factor, factor - 0.01, factor + 0.01, 20)
        return Part(at=0.0, kernel="abc", change=change, evaluation=evaluation, ratio=ratio)

    evaluation = Evaluation(Candidate(), Status.OK, ratio=Interval(1.0, 0.99, 1.01, 20))
    final = Final(at=0.0, kernel="abc", n=1, round=2, evaluation=evaluation)
    earlier = [final, part("sink", 1.1), part("licm", 1.1)]
    events = [begin(plan()), *earlier, final, part("sink", 1.2), part("slsr", 1.3), won(Interval(1.5, 1.4, 1.6, 40))]
    (explained,) = explain(events)
    assert [(each.change, each.factor) for each in explained.parts] == [("sink", 1.2), ("slsr", 1.3)]


def test_what_was_lost_is_not_said_to_be_needed() -> None:
    """A worker that somebody killed says nothing about the code."""
    parts = [
        Part(at=0.0, kernel="abc", change=change, evaluation=Evaluation(Candidate(), status))
        for change, status in (("sink", Status.WORKER_LOST), ("licm", Status.MISMATCH))
    ]
    (explained,) = explain([begin(plan()), *parts, won(Interval(1.5, 1.4, 1.6, 40))])
    assert lines(explained)[1:] == [
        "  sink: not measured",
        "  licm: needed: without it the candidate is a mismatch",
    ]


def test_a_part_that_was_lost_in_a_round_is_measured_by_the_others(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()

    class Killed(SyntheticEvaluator):
        def submit(self, candidate: Candidate, plan: TimingPlan = TimingPlan()) -> Future[Evaluation]:  # noqa: B008
            seen[candidate.id] += 1
            future = super().submit(candidate, plan)
            if seen[candidate.id] > 1:
                return future
            lost: Future[Evaluation] = Future()
            lost.set_result(Evaluation(candidate, Status.WORKER_LOST))
            return lost

    parts: list[Part] = []
    winner = Genotype(knobs=((BLOCK, "64,1,1"), ("maxnreg", "64")))
    evaluator = Killed(rugged)
    measure_parts("abc", space(), winner, lambda: Rounds(evaluator, count(1)), parts.append)
    assert len(parts) == 4
    assert {part.evaluation.status for part in parts} == {Status.OK}
    assert all(part.ratio is not None for part in parts)


def won(speedup: Interval) -> Result:
    return Result(
        at=0.0,
        kernel="abc",
        n=1,
        candidate=Candidate("default<O2>"),
        changes=("sink", "licm"),
        baseline_ns=None,
        best_ns=None,
        speedup=speedup,
    )


def test_what_may_as_well_buy_nothing_is_said_to() -> None:
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
    result = msgspec.structs.replace(won(noisy(1.25, 0.02)), changes=("drop licm#1", "maxnreg=64"))
    (explained,) = explain([begin(plan()), *parts, failed, before, result])
    assert lines(explained)[1:] == [
        "  pipeline: 1.004x [0.998, 1.010] (inside the noise)",
        "  launch: 1.240x [1.230, 1.250], 1.008x without it",
        "    maxnreg=64: needed: without it the candidate is a launch_error",
        "    drop licm#1: 1.000x [0.972, 1.029] (inside the noise)",
    ]


def test_changes_that_were_not_taken_apart_are_not_all_of_it_each() -> None:
    """As of a remix search, or where finals were made by hand."""
    (explained,) = explain([begin(plan()), won(Interval(1.5, 1.4, 1.6, 40))])
    assert lines(explained)[1:] == ["  sink: not measured by itself", "  licm: not measured by itself"]
    alone = msgspec.structs.replace(won(Interval(1.5, 1.4, 1.6, 40)), changes=("sink",))
    (explained,) = explain([begin(plan()), alone])
    assert lines(explained)[1:] == ["  sink: all of it"]
