"""Verdicts of a check, from evaluations alone."""

from __future__ import annotations

import pytest

from r3cc.apply.profile import Entry, Guard, LaunchRule, Shape, ShapeBlock
from r3cc.apply.recheck import Demand, Verdict, candidate_of, judged
from r3cc.errors import R3Error
from r3cc.replay.model import Candidate, Evaluation, Interval, LaunchConfiguration, Mismatch, Status
from r3cc.store.model import Kernel
from tests.apply.test_profile import entry

KERNEL = Kernel("m", "k", "k(int)", "cuda:0", 1, 1, 1, 1, 1.0, (), ())


def verdict(evaluation: Evaluation, demand: Demand = Demand()) -> Verdict:  # noqa: B008
    return judged(KERNEL, entry(), lambda kernel, each: evaluation, demand).verdict


def ran(low: float, high: float) -> Evaluation:
    return Evaluation(Candidate(), Status.OK, ratio=Interval((low + high) / 2, low, high, 15))


def test_a_speedup_is_lost_when_its_whole_interval_lies_below() -> None:
    assert verdict(ran(0.5, 0.6)) is Verdict.GOOD
    assert verdict(ran(0.95, 1.1)) is Verdict.GOOD
    assert verdict(ran(1.01, 1.1)) is Verdict.SLOWER
    assert verdict(ran(0.8, 0.9), Demand(min_speedup=1.5)) is Verdict.SLOWER
    # The profile's own speedup is 2.
    assert verdict(ran(0.8, 0.9), Demand(threshold=0.9)) is Verdict.SLOWER
    assert verdict(ran(0.5, 0.6), Demand(threshold=0.9)) is Verdict.GOOD


@pytest.mark.parametrize("status", Status)
def test_every_status_has_its_verdict(status: Status) -> None:
    wrong = (Status.MISMATCH, Status.DEVICE_FAULT, Status.LAUNCH_ERROR, Status.TIMEOUT)
    found = verdict(Evaluation(Candidate(), status))
    assert found is (Verdict.MISMATCH if status in wrong else Verdict.NOT_RUN)


def test_a_kernel_that_could_not_be_judged_has_a_verdict() -> None:
    def judge(kernel: Kernel, each: Entry) -> Evaluation:
        raise R3Error("the store has lost the module")

    found = judged(KERNEL, entry(), judge, Demand())
    assert (found.verdict, found.message) == (Verdict.NOT_RUN, "the store has lost the module")


def test_a_mismatch_says_where() -> None:
    mismatch = Mismatch("0x600000000000+8", "double", 3, 0.25, 0.5)
    evaluation = Evaluation(Candidate(), Status.MISMATCH, mismatches=(mismatch,))
    checked = judged(KERNEL, entry(), lambda kernel, each: evaluation, Demand())
    assert checked.message == "0x600000000000+8: 3 double differ, by up to 0.25"


def test_an_entry_as_a_candidate() -> None:
    shape, launched = Shape((4, 1, 1), (128, 1, 1), 0), ((4, 1, 1), (128, 1, 1), 0)
    rule = LaunchRule((64, 1, 1), "derived", Guard((shape,)), (ShapeBlock(shape, (32, 1, 1)),))
    fields = {field: getattr(entry(), field) for field in Entry.__struct_fields__}
    tuned = Entry(**fields | {"attributes": {"minctasm": "2"}, "module": {"fp-contract": "never"}, "launch": rule})
    assert candidate_of(tuned) == Candidate(
        "default<O2>",
        (("fp-contract", "never"), ("minctasm", "2")),
        LaunchConfiguration(block=(64, 1, 1), shapes=(launched,), by_shape=((launched, (32, 1, 1)),)),
    )
