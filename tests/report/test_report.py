"""The report says what the event log says, and no more."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from r3cc.errors import R3Error
from r3cc.replay.events import VERSION, Answer, Begin, Event, Final, KernelPlan, Result, Spent, read_log
from r3cc.replay.model import Allowance, Candidate, Evaluation, Interval, Status
from r3cc.report.search import CPU_HEADING, SearchReport, summarise
from r3cc.report.table import headings, kernel_table, speedup, spent_line, status_table
from r3cc.store.eventlog import EventLog
from r3cc.tune.finals import no_improvement
from tests.tune.synthetic import Model, broken, indifferent, plan, rugged
from tests.tune.test_search import run


def begin(*plans: KernelPlan, device: str = "cpu") -> Begin:
    return Begin(
        at=1.0,
        version=VERSION,
        recording="20260101-000000-abcd",
        device=device,
        device_name="a device",
        optimizer="r3",
        seed=1,
        kernels=plans,
        versions={},
    )


def searched(log: Path, model: Model = rugged, device: str = "cpu") -> SearchReport:
    plans = (plan("one", 0.6), plan("two", 0.3))
    write(log, begin(*plans, device=device))
    run(log, model=model, plans=plans, budget=120)
    return summarise("a-search", read_log(log))


def write(log: Path, *events: Event) -> None:
    with EventLog(log) as file:
        for event in events:
            file.append(event)


def text_of(report: SearchReport) -> str:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(kernel_table(report), status_table(report))
    return "\n".join([*headings(report), captured.get()])


def test_a_winner_is_reported_with_interval_and_what_changed(tmp_path: Path) -> None:
    report = searched(tmp_path / "log")
    kernel = report.kernels[0]
    assert report.complete
    assert kernel.improved
    assert kernel.speedup is not None
    assert kernel.speedup.low <= kernel.speedup.median <= kernel.speedup.high
    assert kernel.best is not None
    assert kernel.baseline is not None
    assert kernel.best.median < kernel.baseline.median
    assert sum(kernel.statuses.values()) == kernel.evaluations > 20
    text = text_of(report)
    value = kernel.speedup
    assert f"{value.median:.3f}x [{value.low:.3f}, {value.high:.3f}] n={value.samples}" in text
    assert kernel.changes[0].split()[0] in text
    assert "60.0%" in text


def test_a_winner_that_passes_by_its_kernels_sensitivity_is_said_to(tmp_path: Path) -> None:
    ratio = Interval(0.5, 0.49, 0.51, 15)
    allowances = [(Allowance("0x1000", "double", 3, times),) for times in (2.0, 56.0)]
    answers = [
        Answer(
            at=1.0,
            n=1,
            kernel=plan("one", 0.6).kernel,
            evaluation=Evaluation(Candidate("default<O3>"), Status.OK, ratio=ratio, allowances=each),
            loss=0.0,
        )
        for each in allowances
    ]
    won = Result(
        at=2.0,
        kernel=plan("one", 0.6).kernel,
        n=1,
        candidate=Candidate("default<O3>"),
        changes=("passes",),
        baseline_ns=Interval(2e4, 1.9e4, 2.1e4, 61),
        best_ns=Interval(1e4, 0.9e4, 1.1e4, 61),
        speedup=Interval(2.0, 1.9, 2.1, 61),
    )
    write(tmp_path / "log", begin(plan("one", 0.6)), *answers, won)
    report = summarise("s", read_log(tmp_path / "log"))
    assert report.kernels[0].allowances == (Allowance("0x1000", "double", 3, 56.0),)
    assert "off by rounding up to 56 times the tolerance" in " ".join(text_of(report).split())
    unseen = Evaluation(
        Candidate("default<O3>"), Status.OK, ratio=ratio, allowances=(Allowance("y", "double", 1, 9.0),)
    )
    final = Final(at=1.5, kernel=plan("one", 0.6).kernel, n=1, round=1, evaluation=unseen)
    write(tmp_path / "finals", begin(plan("one", 0.6)), final, won)
    assert "up to 9 times the tolerance" in " ".join(text_of(summarise("s", read_log(tmp_path / "finals"))).split())
    write(tmp_path / "plain", begin(plan("one", 0.6)), won)
    assert "rounding up to" not in text_of(summarise("s", read_log(tmp_path / "plain")))


def test_a_kernel_without_an_evaluation_is_not_said_to_be_without_improvement(tmp_path: Path) -> None:
    note = "no candidate was tried: the time was over"
    result = no_improvement(plan("one", 0.6), None, note)
    write(tmp_path / "log", begin(plan("one", 0.6)), result)
    report = summarise("s", read_log(tmp_path / "log"))
    assert speedup(report.kernels[0]) == "not measured"
    assert note in " ".join(text_of(report).split())


def test_no_improvement_is_said_with_the_interval(tmp_path: Path) -> None:
    report = searched(tmp_path / "log", indifferent)
    assert not any(kernel.improved for kernel in report.kernels)
    assert all(kernel.candidate is None for kernel in report.kernels)
    assert "no improvement" in text_of(report)


def test_failures_are_counted_by_status(tmp_path: Path) -> None:
    report = searched(tmp_path / "log", broken)
    statuses = report.kernels[0].statuses
    assert {"mismatch", "device_fault", "compile_error"} <= statuses.keys()
    assert f"{statuses['mismatch']} mismatch" in text_of(report)


def test_the_cpu_device_predicts_nothing_for_a_gpu(tmp_path: Path) -> None:
    write(tmp_path / "cpu", begin(plan()))
    write(tmp_path / "gpu", begin(plan(), device="cuda:0"))
    assert CPU_HEADING in text_of(summarise("s", read_log(tmp_path / "cpu")))
    assert CPU_HEADING not in text_of(summarise("s", read_log(tmp_path / "gpu")))


def test_an_interrupted_search_says_so(tmp_path: Path) -> None:
    write(tmp_path / "log", begin(plan()))
    report = summarise("s", read_log(tmp_path / "log"))
    assert not report.complete
    assert "goes on with it" in text_of(report)


def test_the_json_form_is_whole(tmp_path: Path) -> None:
    report = searched(tmp_path / "log")
    assert msgspec.json.decode(msgspec.json.encode(report), type=SearchReport) == report


def test_damaged_and_foreign_logs_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(R3Error, match="no beginning"):
        summarise("s", ())
    write(tmp_path / "new", msgspec.structs.replace(begin(plan()), version=VERSION + 1))
    with pytest.raises(R3Error, match=f"version {VERSION + 1}, this R3 reads {VERSION}"):
        read_log(tmp_path / "new")
    write(tmp_path / "bad", begin(plan()))
    with (tmp_path / "bad").open("ab") as file:
        file.write(b'{"event":"stop"}\n')
    with pytest.raises(R3Error, match="line 2 of the event log"):
        read_log(tmp_path / "bad")


def test_the_report_says_what_took_the_time(tmp_path: Path) -> None:
    report = searched(tmp_path / "log")
    results = [event for event in read_log(tmp_path / "log") if isinstance(event, Result)]
    assert report.spent is not None
    assert report.spent.search_s == sum(result.spent.search_s for result in results if result.spent is not None) > 0
    line = spent_line(msgspec.structs.replace(report, spent=Spent(12.4, 140.0, 31.0)))
    assert line == "time: 12 s opening kernels and measuring their baselines, 2 min searching, 31 s finals"
    assert spent_line(msgspec.structs.replace(report, spent=None)) is None
