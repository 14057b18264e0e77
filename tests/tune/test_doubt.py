"""Why a ratio is no improvement."""

from __future__ import annotations

import pytest

from r3cc.replay.model import Candidate, Evaluation, Interval, Status
from r3cc.tune.finals import doubt

ITSELF = Evaluation(Candidate(), Status.OK, ratio=Interval(1.0, 0.98, 1.02, 40))


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(1.01, 1.05, "slower"), (0.9, 1.05, "holds 1"), (0.95, 0.99, "itself"), (0.8, 0.9, None)],
)
def test_what_is_said_of_a_ratio(low: float, high: float, said: str | None) -> None:
    why = doubt(Interval((low + high) / 2, low, high, 40), ITSELF)
    assert why is None if said is None else why is not None and said in why
