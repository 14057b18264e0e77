"""The commands that a report gives do what it says, and its bars are as long as they may be."""

from __future__ import annotations

import shlex
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from r3cc.replay.events import Session
from r3cc.replay.model import Candidate, Interval, LaunchConfiguration, Specialisation, Table
from r3cc.report.commands import replay_command, search_command
from r3cc.report.page import NAMED, TimelineRow, _bars, _timeline
from r3cc.report.search import KernelReport, SearchReport
from r3cc.store.model import Kernel
from tests.report.test_report import begin
from tests.tune.synthetic import plan

NAME = "step(float*)"


def kernel(identifier: str, **given: Any) -> KernelReport:
    fields: dict[str, Any] = dict.fromkeys(KernelReport.__struct_fields__)
    return KernelReport(**{**fields, "id": identifier, "demangled": NAME, "numerics": "rounding", **given})


def report_of(*kernels: KernelReport) -> SearchReport:
    fields: dict[str, Any] = dict.fromkeys(SearchReport.__struct_fields__)
    return SearchReport(**{**fields, "recording": "r", "device": "cpu", "kernels": kernels})


def test_the_command_of_a_specialised_winner_makes_that_winner() -> None:
    tables = (Table("00", variable="weights"), Table("01", argument=3), Table("02", argument=3, offset=8))
    special = Specialisation(((0, "01000000"), (2, "ff")), block=(8, 8, 1), tables=tables)
    candidate = Candidate("default<O2>", (("opt-level", "2"),), LaunchConfiguration(block=(8, 8, 1)), None, special)
    winner = kernel("abc", candidate=candidate)
    words = shlex.split(replay_command(report_of(winner), winner, candidate))
    fixed = [value for option, value in pairwise(words) if option == "--fix"]
    assert fixed == ["0", "2", "block", "weights", "3"]


def test_the_command_of_a_search_asks_the_same_question() -> None:
    plain = plan("one", 0.6)
    strict = msgspec.structs.replace(plain, numerics="bitwise", rtol=1e-6, specialise=True)
    asked = Session(at=1.0, pid=1, host="h", budget=90, time_s=60.0)
    words = shlex.split(search_command(begin(strict), asked))
    for option, value in (("--numerics", "bitwise"), ("--rtol", "1e-06"), ("--budget", "90"), ("--time", "60s")):
        assert (option, value) in pairwise(words)
    assert "--specialise" in words
    both = search_command(begin(strict, msgspec.structs.replace(plain, kernel="two")), asked)
    assert "--numerics" not in both
    assert "[[kernel]] entries" in both
    judged = kernel("one", rtol=1e-6)
    assert ("--rtol", "1e-06") in pairwise(shlex.split(replay_command(report_of(judged), judged, Candidate())))


def test_kernels_without_a_part_of_their_own_shorten_the_bar_too() -> None:
    many = [Kernel("m", f"k{n}", f"k{n}()", "cpu", 1, 100 - n, 1, 1, 0.05, (), ()) for n in range(NAMED + 2)]
    rows, outside = _timeline(many, 0)
    winner = kernel(many[-1].id, improved=True, speedup=Interval(2.0, 1.9, 2.1, 31))
    before, after = _bars(rows, many, outside, report_of(winner))
    others = sum(each.total_ns for each in many[NAMED:])
    saved = many[-1].total_ns / 2
    assert after.segments[-1].width == pytest.approx(before.segments[-1].width * (others - saved) / others)


@pytest.mark.parametrize(("measured", "left"), [(None, 0.5), (1.0, 0.5), (0.5, 0.75), (0.0, 1.0)])
def test_a_bar_shortens_a_kernel_s_own_part_where_it_was_measured(measured: float | None, left: float) -> None:
    """Overloads and kernels of several files share a name."""
    winner = kernel("one", improved=True, speedup=Interval(2.0, 1.9, 2.1, 31), measured_share=measured)
    rows = [TimelineRow(name, "step", 0.5, 1, 1000, 0) for name in ("one", "other")]
    before, after = _bars(rows, [], 0, report_of(winner, kernel("other", improved=False)))
    assert [segment.width for segment in after.segments] == [
        pytest.approx(before.segments[0].width * left),
        pytest.approx(before.segments[1].width),
    ]
