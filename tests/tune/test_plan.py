"""Which kernels are tuned, and with what of the budget."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from r3cc.store.eventlog import EventLog
from r3cc.store.model import Kernel
from r3cc.tune.budget import Allowance, Budget, Limits, share_of
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


def test_finals_come_on_top_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    with EventLog(tmp_path / "log") as log:
        budget = Budget(Limits(None, 10.0), Journal(log, ()), [plan("one")], ())
        assert budget.allowance(plan("one")).deadline == 110.0
        budget.pause(4.0)
        assert budget.allowance(plan("one")).deadline == 114.0
