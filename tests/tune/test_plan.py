"""Which kernels are tuned, and with what of the budget."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r3cc.store.eventlog import EventLog
from r3cc.store.model import Kernel
from r3cc.tune.budget import EXPLORED, Allowance, Budget, Cost, Limits, share_of
from r3cc.tune.journal import Journal
from r3cc.tune.plan import KernelOptions, by_default, with_code
from tests.tune.synthetic import plan


def kernel(name: str, share: float, recorded: int = 1) -> Kernel:
    return Kernel(
        module="m",
        name=name,
        demangled=name,
        device="cpu",
        launches=1,
        total_ns=1,
        timed=1,
        recorded=recorded,
        share=share,
        shapes=(),
        not_recordable=(),
    )


def names(kernels: list[Kernel], *skipped: str) -> list[str]:
    chosen = by_default(kernels, lambda each: KernelOptions(skip=each.name in skipped))
    return [each.name for each in chosen]


def test_kernels_up_to_nine_tenths_of_device_time_are_tuned() -> None:
    assert names([kernel("a", 0.5), kernel("b", 0.35), kernel("c", 0.1), kernel("d", 0.05)]) == ["a", "b", "c"]


def test_what_cannot_or_shall_not_be_tuned_still_counts_as_covered() -> None:
    kernels = [kernel("a", 0.5, recorded=0), kernel("b", 0.35), kernel("c", 0.1), kernel("d", 0.05)]
    assert names(kernels, "b") == ["c"]


def test_a_kernel_without_ir_is_tuned_and_not_rewritten() -> None:
    foreign = msgspec.structs.replace(kernel("a", 0.4), module="foreign:1")
    unknown = msgspec.structs.replace(kernel("c", 0.1, recorded=0), module="foreign:2")
    kernels = [foreign, unknown, kernel("b", 0.5)]
    assert names(kernels) == ["b"]
    assert by_default(kernels, lambda _: KernelOptions(), with_code) == [foreign, kernels[2]]


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=6), st.integers(10, 1000))
def test_a_budget_is_spent_whole(shares: list[float], budget: int) -> None:
    left = float(budget)
    for index in range(len(shares)):
        left -= left * share_of(shares[index:])
    assert abs(left) < 1e-6


def test_what_is_kept_back_is_for_simplifying() -> None:
    allowance = Allowance(evaluations=50, deadline=None, kept_back=5)
    assert allowance.spent(44) is None
    assert allowance.spent(45) == "budget"
    assert not allowance.exhausted(49)
    assert allowance.exhausted(50)


def test_what_openings_and_finals_take_is_set_aside(tmp_path: Path) -> None:
    now = [100.0]
    with EventLog(tmp_path / "log") as log:
        plans = [plan("one", 0.5), plan("two", 0.5)]
        budget = Budget(Limits(None, 100.0), Journal(log, ()), plans, (), lambda: now[0])
        now[0] = 110.0
        budget.costs("one", Cost(opening_s=10.0, finals_s=20.0, is_open=True))
        first = budget.exploration(plans[0])
        assert first.deadline == 110.0 + (90.0 - 10.0 - 2 * 20.0) * EXPLORED / 2, "the second is taken to cost as much"
        budget.explored(10.0)
        now[0] = 130.0
        budget.costs("two", Cost(opening_s=10.0, finals_s=40.0, is_open=True))
        assert budget.exploration(plans[1]).deadline == 130.0 + (10.0 + 70.0 - 40.0) * EXPLORED - 10.0, "half at most"
        assert budget.late_s == 20.0
        whole = budget.allowance(plans[1])
        assert whole.deadline is not None
        assert whole.deadline + whole.kept_back_s == pytest.approx(130.0 + (70.0 - 40.0))
        now[0] = whole.deadline
        assert whole.spent(3) == "time" and not whole.exhausted(3)
        now[0] += whole.kept_back_s
        assert whole.exhausted(3)
