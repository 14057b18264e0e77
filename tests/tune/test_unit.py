"""Module-scope values: one for a unit, good for the sum of its kernels, valid on all of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from r3cc.replay.events import Answer, Proposal, Result, decode_event
from r3cc.replay.model import Candidate, Status
from r3cc.store.eventlog import EventLog, read_events
from r3cc.tune.budget import Limits
from r3cc.tune.journal import Journal
from r3cc.tune.knobs import MODULE_KNOBS, Scope
from r3cc.tune.search import Target, Tuner
from r3cc.tune.unit import KnobSpace, Member, Unit, UnitEvaluator
from r3cc.tune.watcher import Silent
from tests.tune.synthetic import Model, SyntheticEvaluator, plan, space

OPEN = {"a": 0.6, "b": 0.2}
KNOBS = tuple(knob for knob in MODULE_KNOBS if knob.key in ("opt-level", "mllvm:disable-lsr", "mllvm:unroll-count"))


def level(candidate: Candidate) -> str:
    return dict(candidate.codegen).get("opt-level", "3")


def lsr_off(candidate: Candidate) -> bool:
    return ("mllvm:disable-lsr", "1") in candidate.codegen


def member(name: str, model: Model, noise: float = 0.005) -> Member:
    count = iter(range(1000))
    return Member(name, OPEN[name], lambda lock: SyntheticEvaluator(model, noise=noise, seed=next(count)))


def unit(models: dict[str, Model], finals: dict[str, Model] | None = None) -> Unit:
    def opener(chosen: dict[str, Model]) -> Callable[[], UnitEvaluator]:
        return lambda: UnitEvaluator.open([member(name, model) for name, model in chosen.items()])

    return Unit(
        plan("unit", sum(OPEN.values())), tuple(models), KnobSpace(KNOBS), opener(models), opener(finals or models)
    )


def search(
    log: Path, models: dict[str, Model], budget: int = 160, finals: dict[str, Model] | None = None
) -> list[Result]:
    targets = [
        Target(plan(name, OPEN[name]), space(), lambda name=name: member(name, models[name]).open(None))  # type: ignore[misc]
        for name in models
    ]
    earlier = [decode_event(event) for event in read_events(log)]
    with EventLog(log) as events:
        tuner = Tuner(Journal(events, earlier), targets, Silent(), "r3", 1, Limits(budget), [unit(models, finals)])
        return tuner.run()


def verdict(log: Path) -> Result:
    return next(e for e in map(decode_event, read_events(log)) if isinstance(e, Result) and e.kernel == "unit")


def test_the_value_is_the_one_that_is_best_for_the_weighted_sum(tmp_path: Path) -> None:
    models: dict[str, Model] = {
        "a": lambda c: {"1": 1.3, "2": 0.8, "3": 1.0}[level(c)],
        "b": lambda c: {"1": 0.4, "2": 1.2, "3": 1.0}[level(c)],
    }
    search(tmp_path / "log", models)
    found = verdict(tmp_path / "log")
    assert dict(found.candidate.codegen)["opt-level"] == "2", "0.9 of the sum; level 1 suits b alone and gives 1.075"
    assert found.speedup is not None
    assert found.speedup.median == pytest.approx(1 / 0.9, rel=0.02)
    kernels = {e.kernel: e for e in map(decode_event, read_events(tmp_path / "log")) if isinstance(e, Result)}
    assert re.search(r"; by its unit's values it takes 1\.[12]\d\d times as long$", kernels["b"].note)
    assert "unit" not in kernels["a"].note


def test_what_fails_on_one_kernel_is_no_value_for_the_unit(tmp_path: Path) -> None:
    models: dict[str, Model] = {
        "a": lambda c: 0.5 if lsr_off(c) else 1.0,
        "b": lambda c: Status.MISMATCH if lsr_off(c) else 1.0,
    }
    search(tmp_path / "log", models)
    events = [decode_event(event) for event in read_events(tmp_path / "log")]
    failed = [e.evaluation for e in events if isinstance(e, Answer) and e.kernel == "unit" and e.loss > 0]
    assert any(each.status is Status.MISMATCH and each.message.startswith("b: ") for each in failed)
    assert verdict(tmp_path / "log").n is None


def test_kernels_that_are_not_tuned_have_a_say_in_the_finals(tmp_path: Path) -> None:
    tuned: dict[str, Model] = {"a": lambda c: 0.5 if lsr_off(c) else 1.0}
    other: dict[str, Model] = {"b": lambda c: Status.MISMATCH if lsr_off(c) else 1.0}
    search(tmp_path / "log", tuned, finals=tuned | other)
    assert verdict(tmp_path / "log").n is None


def test_kernels_are_searched_under_their_units_values(tmp_path: Path) -> None:
    models: dict[str, Model] = {
        "a": lambda c: 0.5 if lsr_off(c) else 1.0,
        "b": lambda c: 1.1 if lsr_off(c) else 1.0,
    }
    first, second = search(tmp_path / "log", models)
    assert ("mllvm:disable-lsr", "1") in first.candidate.codegen
    assert "mllvm:disable-lsr=1 for its whole unit" in first.changes
    assert second.n is None
    events = [decode_event(event) for event in read_events(tmp_path / "log")]
    kernels = [e.candidate for e in events if isinstance(e, Proposal) and e.kernel != "unit"]
    assert kernels
    assert all(lsr_off(candidate) for candidate in kernels)


def test_too_small_a_budget_leaves_units_out(tmp_path: Path) -> None:
    search(tmp_path / "log", {"a": lambda c: 1.0, "b": lambda c: 1.0}, budget=20)
    assert "too few" in verdict(tmp_path / "log").note
    assert search(tmp_path / "log", {"a": lambda c: 1.0, "b": lambda c: 1.0}, budget=400), "and stay so when continued"


def test_a_continued_search_takes_the_units_values_from_the_log(tmp_path: Path) -> None:
    models: dict[str, Model] = {"a": lambda c: 0.5 if lsr_off(c) else 1.0, "b": lambda c: 1.0}
    whole = search(tmp_path / "whole", models)
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    for part in (10, len(lines) // 2):
        (tmp_path / f"{part}").write_bytes(b"".join(lines[:part]))
        assert [r.candidate.codegen for r in search(tmp_path / f"{part}", models)] == [
            r.candidate.codegen for r in whole
        ]


def test_every_module_knob_says_its_scope() -> None:
    assert {knob.scope for knob in MODULE_KNOBS} == {Scope.MODULE}
