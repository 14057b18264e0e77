"""Searches on other people's executors: Parsl's worker processes, killed at random, and the standard library's pool."""

from __future__ import annotations

import os
import signal
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent

import msgspec
import pytest

from r3cc.errors import R3Error, UsageError
from r3cc.farm.evaluator import Evaluator
from r3cc.farm.executor import ExecutorEvaluator
from r3cc.farm.executors import open_executor
from r3cc.replay.events import Answer, Lost, Proposal, decode_event
from r3cc.replay.model import Candidate, Evaluation, Status, TimingPlan
from r3cc.store.eventlog import EventLog, read_events
from r3cc.tune.budget import Limits
from r3cc.tune.journal import Journal
from r3cc.tune.search import Target, Tuner
from r3cc.tune.watcher import Silent
from tests.python_path import python_path
from tests.tune.synthetic import SyntheticEvaluator, plan, space

ROOT = Path(__file__).parents[2]
CONFIG = Path(__file__).with_name("parsl_config.py")
BUDGET = 12


class Doomed(SyntheticEvaluator):
    """Its process is killed in the middle of the first evaluation of every fourth candidate."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def _evaluate(self, candidate: Candidate, plan: TimingPlan) -> Evaluation:
        mark = self._folder / candidate.id
        if candidate != Candidate() and zlib.crc32(candidate.id.encode()) % 4 == 0 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._evaluate(candidate, plan)


class SyntheticOpener(msgspec.Struct, frozen=True):
    """Opens a synthetic evaluator in a worker."""

    folder: Path | None = None
    """Where it stands which candidates have cost a worker its life."""

    def __call__(self) -> Evaluator:
        return SyntheticEvaluator() if self.folder is None else Doomed(self.folder)


class Broken(msgspec.Struct, frozen=True):
    """A worker on which nothing can be opened."""

    def __call__(self) -> Evaluator:
        raise R3Error("no capture store here")


def search(log: Path, evaluators: object) -> list[object]:
    with EventLog(log) as events:
        target = Target(plan(), space(), evaluators)  # type: ignore[arg-type]
        return list(Tuner(Journal(events, ()), [target], Silent(), "r3", 1, Limits(BUDGET)).run())


def answered(log: Path) -> dict[str, str]:
    events = [decode_event(event) for event in read_events(log)]
    proposals = [event for event in events if isinstance(event, Proposal) and event.repeats is None]
    answers = {event.n: event.evaluation for event in events if isinstance(event, Answer)}
    assert answers.keys() == {proposal.n for proposal in proposals}, "nothing is lost, nothing is answered twice"
    return {answers[proposal.n].candidate.id: answers[proposal.n].status for proposal in proposals}


@pytest.fixture
def on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PYTHONPATH", python_path())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_parsl_workers_that_are_killed_change_nothing(on_the_path: Path) -> None:
    pytest.importorskip("parsl")
    graves = on_the_path / "graves"
    graves.mkdir()
    opener = SyntheticOpener(graves)
    with open_executor(f"parsl:{CONFIG}") as opened:
        assert opened.width == 3
        within = search(on_the_path / "storm", lambda: ExecutorEvaluator(opened.executor, opener, 1))
    without = search(on_the_path / "calm", lambda: Single(SyntheticEvaluator()))
    killed = {grave.name for grave in graves.iterdir()}
    assert killed
    assert [each.candidate for each in within] == [each.candidate for each in without]  # type: ignore[attr-defined]
    assert answered(on_the_path / "storm") == answered(on_the_path / "calm")
    lost = [event for event in map(decode_event, read_events(on_the_path / "storm")) if isinstance(event, Lost)]
    assert all("worker was lost" in event.message for event in lost)
    assert len({event.n for event in lost}) == len(killed & answered(on_the_path / "storm").keys())


class Single:
    """One evaluation at a time on an evaluator of this process."""

    width = 1

    def __init__(self, evaluator: Evaluator) -> None:
        self.baseline, self.submit, self.close = evaluator.baseline, evaluator.submit, evaluator.close
        self.prepare, self._fresh = evaluator.prepare, evaluator.fresh

    def fresh(self) -> Single:
        return Single(self._fresh())

    def __enter__(self) -> Single:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def test_any_executor_will_do(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as executor:
        results = search(tmp_path / "log", lambda: ExecutorEvaluator(executor, SyntheticOpener(), 2))
    assert len(answered(tmp_path / "log")) >= BUDGET * 0.9
    assert results


def test_an_answer_that_never_comes_is_a_lost_worker() -> None:
    release = threading.Event()

    def opened_late() -> Evaluator:
        release.wait(60)
        return SyntheticEvaluator()

    with ThreadPoolExecutor(1) as executor:
        try:
            stuck = ExecutorEvaluator(executor, opened_late, 1, deadline_s=0.1)
            found = stuck.submit(Candidate()).result(30)
        finally:
            release.set()
    assert found.status is Status.WORKER_LOST
    assert "no answer" in found.message


def test_what_a_person_has_to_mend_is_raised_and_the_rest_is_a_lost_worker() -> None:
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(R3Error, match="no capture store"):
            ExecutorEvaluator(executor, Broken(), 1).baseline()
        broken = ExecutorEvaluator(executor, lambda: 1 / 0, 1)  # type: ignore[arg-type,return-value]
        found = broken.submit(Candidate("default<O1>")).result()
    assert (found.status, found.candidate) == (Status.WORKER_LOST, Candidate("default<O1>"))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("slurm", "write parsl:CONFIG.py or MODULE:FACTORY"),
        ("no.such.module:make", "no.such.module"),
        ("os:no_such_name", "no_such_name"),
        ("os:getcwd", "no submit"),
        ("parsl:missing.py", "cannot read"),
    ],
)
def test_a_wrong_executor_is_one_sentence(text: str, part: str) -> None:
    pytest.importorskip("parsl")
    with pytest.raises(UsageError, match=part), open_executor(text):
        pass


def test_an_engine_that_would_retry_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("parsl")
    config = tmp_path / "config.py"
    config.write_text(dedent("from parsl.config import Config\nconfig = Config(retries=2)\n"))
    with pytest.raises(UsageError, match="retries=2"), open_executor(f"parsl:{config}"):
        pass
