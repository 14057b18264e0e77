"""What one winner for all launch shapes costs."""

from __future__ import annotations

import msgspec
import pytest

from r3cc.replay.events import Answer, AnyEvent, Final, Result
from r3cc.replay.model import Candidate, Evaluation, ShapeTime, Status
from r3cc.report.shapes import line, single_winner

SMALL, LARGE = ((8, 1, 1), (128, 1, 1), 0), ((64, 1, 1), (128, 1, 1), 0)
GOOD_FOR_SMALL, GOOD_FOR_LARGE, GOOD_FOR_BOTH = Candidate("a"), Candidate("b"), Candidate("c")


def evaluation(candidate: Candidate, small: float, large: float) -> Evaluation:
    shapes = (ShapeTime(*SMALL, 10.0, 100.0, small), ShapeTime(*LARGE, 1.0, 3000.0, large))
    return Evaluation(candidate, Status.OK, by_shape=shapes)


def events(winner: int | None) -> list[AnyEvent]:
    judged = [
        evaluation(GOOD_FOR_SMALL, 0.5, 1.2),
        evaluation(GOOD_FOR_LARGE, 1.5, 0.8),
        evaluation(GOOD_FOR_BOTH, 0.9, 0.9),
    ]
    answers = [Answer(at=0.0, n=n, kernel="k", evaluation=each, loss=0.0) for n, each in enumerate(judged)]
    final = Final(at=0.0, kernel="k", n=winner, round=2, evaluation=judged[2])
    nothing = {"baseline_ns": None, "best_ns": None, "speedup": None}
    result = Result(at=0.0, kernel="k", n=winner, candidate=Candidate(), changes=(), **nothing)  # type: ignore[arg-type]
    return [*answers, final, result]


def test_the_best_of_each_shape_stands_beside_the_one_winner() -> None:
    found = single_winner("k", events(2))
    assert found is not None
    assert [(shape.ratio, shape.single) for shape in found.shapes] == [(0.5, 0.9), (0.8, 0.9)]
    assert [shape.candidate for shape in found.shapes] == [GOOD_FOR_SMALL, GOOD_FOR_LARGE]
    assert found.cost == pytest.approx((1000 * 0.9 + 3000 * 0.9) / (1000 * 0.5 + 3000 * 0.8) - 1)
    assert "2 launch shapes" in (line(found) or "")


def test_without_an_improvement_the_baseline_is_the_one_winner() -> None:
    found = single_winner("k", events(None))
    assert found is not None
    assert [shape.single for shape in found.shapes] == [1.0, 1.0]


def test_one_shape_has_nothing_to_say() -> None:
    plain = [
        msgspec.structs.replace(event, evaluation=msgspec.structs.replace(event.evaluation, by_shape=()))
        if isinstance(event, (Answer, Final))
        else event
        for event in events(2)
    ]
    assert single_winner("k", plain) is None
    assert line(None) is None
