"""Which measurements a search believes: none that cannot be true, none that was lost, each once."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from r3cc.errors import R3Error
from r3cc.remix.events import Request, Verdict, read_transcript
from r3cc.remix.loop.cascade import CONFIRM, FULL
from r3cc.remix.prompts.feedback import LEAST_RATIO
from r3cc.remix.proposers.transcript import TranscriptProposer
from r3cc.remix.search import Allowed
from r3cc.replay.events import Answer as Judged
from r3cc.replay.events import Final, Result
from r3cc.replay.model import Candidate, Evaluation, Interval, Status, TimingPlan
from r3cc.store.eventlog import EventLog
from r3cc.tune.finals import ROUNDS
from tests.remix.synthetic import SETTINGS, Scribe, World, search, target
from tests.tune.synthetic import SyntheticEvaluator

IMPOSSIBLE = Interval(LEAST_RATIO / 9, LEAST_RATIO / 10, LEAST_RATIO / 8, 9)


class Flattering(SyntheticEvaluator):
    """Whatever is measured so often seems to take no time."""

    samples = 0

    def _evaluate(self, candidate: Candidate, plan: TimingPlan) -> Evaluation:
        found = super()._evaluate(candidate, plan)
        flattered = plan.samples == self.samples and candidate != Candidate() and found.status is Status.OK
        return msgspec.structs.replace(found, ratio=IMPOSSIBLE) if flattered else found


class Forgetful(SyntheticEvaluator):
    """Loses everything that it is asked for the first time."""

    lost: Counter[bytes]

    def submit(self, candidate: Candidate, plan: TimingPlan = TimingPlan()) -> Future[Evaluation]:  # noqa: B008
        key = candidate.canonical() + msgspec.json.encode(plan)
        self.lost[key] += 1
        if self.lost[key] > 1:
            return super().submit(candidate, plan)
        gone: Future[Evaluation] = Future()
        gone.set_result(Evaluation(candidate, Status.WORKER_LOST, "the node went away"))
        return gone

    def baseline(self) -> Evaluation:
        self.lost[b"baseline"] += 1
        return super().baseline() if self.lost[b"baseline"] > 1 else Evaluation(Candidate(), Status.WORKER_LOST)


@pytest.mark.parametrize("plan", [FULL, CONFIRM, *ROUNDS])
def test_a_time_that_cannot_be_true_is_believed_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: TimingPlan
) -> None:
    monkeypatch.setattr(Flattering, "samples", plan.samples)
    world = World()
    flattered = replace(target(world), open_evaluator=lambda: Flattering(world.model))
    settings = msgspec.structs.replace(SETTINGS, tune_evaluations=6)
    ran = search(tmp_path / "log", [Scribe()], targets=[flattered], settings=settings, allowed=Allowed(proposals=8))
    (result,) = ran.of(Result)
    assert result.n is None and result.speedup is None, result
    assert all(elite.ratio.median > LEAST_RATIO for elite in ran.states["abc"].archive)
    if plan in (FULL, CONFIRM):
        assert "too_good" in {verdict.reason for verdict in ran.of(Verdict)}


def test_what_was_lost_with_a_worker_is_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Forgetful, "lost", Counter(), raising=False)
    world, allowed = World(), Allowed(proposals=8, concurrency=1)  # a course of its own else, by what comes first
    forgetful = replace(target(world), open_evaluator=lambda: Forgetful(world.model))
    within = search(tmp_path / "within", [Scribe()], targets=[forgetful], allowed=allowed)
    calm = replace(target(world), open_evaluator=lambda: SyntheticEvaluator(world.model))
    without = search(tmp_path / "without", [Scribe()], targets=[calm], allowed=allowed)
    assert within.archives == without.archives
    assert within.of(Result)[0].n == without.of(Result)[0].n


def test_a_budget_below_the_number_of_kernels_holds(tmp_path: Path) -> None:
    kernels = [target(World()) for _ in range(3)]
    shared = [
        replace(each, plan=msgspec.structs.replace(each.plan, kernel=f"kernel{number}", share=0.3))
        for number, each in enumerate(kernels)
    ]
    ran = search(tmp_path / "log", [Scribe()], targets=shared, allowed=Allowed(proposals=2))
    assert len(ran.of(Request)) == 2
    assert len(ran.of(Result)) == 3


def test_a_compiler_that_cannot_run_ends_the_search_and_costs_nothing(tmp_path: Path) -> None:
    class Unplugged(World):
        plugged = True

        def build(self, texts, values=None):  # type: ignore[no-untyped-def]
            if texts and not self.plugged:
                raise R3Error("the compiler cannot be run in its sandbox")
            return super().build(texts, values or {})

    world, scribe = Unplugged(), Scribe()
    world.plugged = False
    with pytest.raises(R3Error, match="cannot be run"):
        search(tmp_path / "log", [scribe], world=world, allowed=Allowed(proposals=8))
    assert all(prompt.blocks[-1].name != "repair" for prompt in scribe.prompts)
    world.plugged = True
    ran = search(tmp_path / "log", [Scribe()], world=world, allowed=Allowed(proposals=8))
    assert len(ran.of(Verdict)) == 8


def test_an_evaluation_is_written_down_once_also_by_a_search_that_goes_on(tmp_path: Path) -> None:
    path, world = tmp_path / "log", World()
    search(path, [Scribe()], world=world, allowed=Allowed(proposals=8))
    lines = path.read_bytes().splitlines(keepends=True)
    cut = next(at for at, line in enumerate(lines) if b'"verdict"' in line)
    path.write_bytes(b"".join(lines[:cut]))
    ran = search(path, [Scribe()], world=world, allowed=Allowed(proposals=8))
    written = Counter((event.n, event.stage, event.evaluation.candidate.id) for event in ran.of(Judged))
    assert set(written.values()) == {1}


def test_a_transcript_with_interrupted_finals_repeats_as_well(tmp_path: Path) -> None:
    first = search(tmp_path / "first", [Scribe()], allowed=Allowed(proposals=12))
    with EventLog(tmp_path / "script") as script:
        for event in first.events:
            if isinstance(event, Final) and event.round == 1:
                slow = msgspec.structs.replace(event.evaluation, ratio=Interval(3.0, 2.0, 4.0, 9))
                script.append(msgspec.structs.replace(event, evaluation=slow))
        for event in first.events:
            script.append(event)
    lines = read_transcript_of(tmp_path / "script")
    again = search(tmp_path / "again", [TranscriptProposer(lines)], script=lines)
    assert again.of(Result)[0].n == first.of(Result)[0].n is not None
    assert again.of(Result)[0].speedup == first.of(Result)[0].speedup


def read_transcript_of(path: Path) -> Path:
    """The log with its first line first again."""
    lines = path.read_bytes().splitlines(keepends=True)
    lines.sort(key=lambda line: b'"event":"begin"' not in line)
    path.write_bytes(b"".join(lines))
    assert read_transcript(path)
    return path
