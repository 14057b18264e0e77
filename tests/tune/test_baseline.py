"""The look at the baseline, by whose noise a whole search goes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

import pytest

from r3cc.replay.model import Candidate, Evaluation, Interval, Status, TimingPlan
from r3cc.tune.baseline import MIN_NOISE, judge_baseline, noise_of
from tests.tune.synthetic import SyntheticEvaluator


class Looks(SyntheticEvaluator):
    """Looks at the baseline with the noise, or the status, that a test gives."""

    def __init__(self, given: Sequence[float | Status]) -> None:
        super().__init__()
        self.given = list(given)
        self.repetitions: list[int] = []

    def baseline(self) -> Evaluation:
        return self._next()

    def submit(self, candidate: Candidate, plan: TimingPlan = TimingPlan()) -> Future[Evaluation]:  # noqa: B008
        assert candidate == Candidate()
        assert plan.held_out, "what a baseline tells beside its time, its floor, is told by each look"
        self.repetitions.append(plan.repetition)
        done: Future[Evaluation] = Future()
        done.set_result(self._next())
        return done

    def _next(self) -> Evaluation:
        noise = self.given.pop(0)
        if isinstance(noise, Status):
            return Evaluation(Candidate(), noise)
        return Evaluation(Candidate(), Status.OK, ratio=Interval(1.0, 1 - noise, 1 + noise, 8))


@pytest.mark.parametrize(
    ("given", "noise", "left"),
    [
        ([0.01, 0.0], 0.01, 1),
        ([0.2, 0.01, 0.0], 0.01, 1),
        ([0.2, 0.3, 0.0], 0.2, 1),
        ([0.2, Status.TIMEOUT], 0.2, 0),
        ([Status.WORKER_LOST, 0.01], 0.01, 0),
        ([0.0], MIN_NOISE, 0),
    ],
)
def test_a_look_that_was_disturbed_is_not_the_only_one(given: list[float | Status], noise: float, left: int) -> None:
    evaluator = Looks(given)
    assert noise_of(judge_baseline(evaluator)) == pytest.approx(noise)
    assert len(evaluator.given) == left
    assert evaluator.repetitions in ([], [1]), "it is measured, not remembered"


def test_a_baseline_that_fails_is_said() -> None:
    assert judge_baseline(Looks([Status.DEVICE_FAULT])).status is Status.DEVICE_FAULT
    assert judge_baseline(Looks([Status.WORKER_LOST] * 3)).status is Status.WORKER_LOST
