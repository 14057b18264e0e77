"""How a search uses its time: what it takes in all, by a clock that evaluators move, and what it opens for that."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Self

import msgspec
import pytest

from r3cc.errors import R3Error
from r3cc.replay.events import KernelPlan, Result
from r3cc.replay.model import Candidate, Evaluation, Status, TimingPlan
from r3cc.store.eventlog import EventLog, read_events
from r3cc.tune.budget import FIRST_LOOK, Allowance, Budget, Cost, Limits
from r3cc.tune.finals import PROCESSES, ROUNDS, in_fresh_processes
from r3cc.tune.journal import Journal
from r3cc.tune.kernel_run import FEW_SAMPLES, FEW_WARMUPS
from r3cc.tune.kernel_search import MINIMIZE
from r3cc.tune.opened import FreshEvaluators
from r3cc.tune.search import Target, Tuner
from r3cc.tune.watcher import Silent
from tests.tune.synthetic import SyntheticEvaluator, plan, rugged, space


class World:
    """A clock, and evaluators that move it: some seconds to open one, some for each sample."""

    def __init__(self, opening_s: float, sample_s: float, room: int) -> None:
        self.opening_s, self.sample_s, self.room = opening_s, sample_s, room
        self.now = 0.0
        self.events: list[str] = []
        self.plans: list[TimingPlan] = []
        self.said: list[tuple[str, float]] = []
        self.allowed: list[float] = []
        """Seconds that each search may ask, as it begins."""
        self.fresh_at: list[int] = []
        """How much was measured before each fresh evaluator was made."""

    def target(self, kernel: KernelPlan) -> Target:
        return Target(kernel, space(), lambda: Clocked(self, kernel.kernel))

    def tune(self, log: Path, plans: list[KernelPlan], time_s: float) -> list[Result]:
        with EventLog(log) as events:
            targets = [self.target(each) for each in plans]
            return Tuner(
                Journal(events, ()), targets, Listening(self), "r3", 1, Limits(None, time_s), clock=lambda: self.now
            ).run()


class Clocked(SyntheticEvaluator):
    def __init__(self, world: World, kernel: str) -> None:
        super().__init__(rugged, noise=0.002)
        self._world, self._kernel, self._prepared, self._lost = world, kernel, False, False
        world.events.append(f"open {kernel}")

    def fresh(self) -> Self:
        other = super().fresh()
        other._prepared = False
        self._world.events.append(f"fresh {self._kernel}")
        self._world.fresh_at.append(len(self._world.plans))
        return other

    def prepare(self, jobs: int = 1) -> Future[int]:
        self._world.now += 0 if self._prepared else self._world.opening_s
        self._prepared = True
        room: Future[int] = Future()
        room.set_result(self._world.room)
        return room

    def close(self) -> None:
        super().close()
        self._world.events.append(f"close {self._kernel}")

    def _evaluate(self, candidate: Candidate, plan: TimingPlan) -> Evaluation:
        took_s = self._world.sample_s * (plan.warmups + plan.samples)
        self._world.now += took_s
        self._world.plans.append(plan)
        return msgspec.structs.replace(super()._evaluate(candidate, plan), phases_ns={"launch": round(took_s * 1e9)})


class Queued(Clocked):
    """Many evaluations are under way, and the clock moves with each that is over."""

    width = 40

    def __init__(self, world: World, kernel: str) -> None:
        super().__init__(world, kernel)
        self._delay = 0.02


class Listening(Silent):
    def __init__(self, world: World) -> None:
        self._world = world

    def opened(self, plan: KernelPlan, cost: Cost, late_s: float) -> None:
        self._world.said.append((plan.kernel, late_s))

    def kernel_begins(self, plan: KernelPlan, done: int, allowance: Allowance) -> None:
        assert allowance.deadline is not None
        self._world.allowed.append(allowance.deadline - self._world.now)


@pytest.fixture
def kernels() -> list[KernelPlan]:
    return [plan(name, share) for name, share in (("a", 0.5), ("b", 0.3), ("c", 0.2))]


@pytest.mark.parametrize("room", [0, 20])
def test_a_search_with_its_openings_and_finals_takes_its_time(
    tmp_path: Path, kernels: list[KernelPlan], room: int
) -> None:
    world = World(opening_s=0.5, sample_s=0.05, room=room)
    results = world.tune(tmp_path / "log", kernels, 170.0)
    assert 0.7 * 170 < world.now < 1.1 * 170
    assert any(result.n is not None for result in results)
    spent = [result.spent for result in results if result.spent is not None]
    assert len(spent) == 3
    together = sum(each.opening_s + each.search_s + each.finals_s for each in spent)
    assert together == pytest.approx(world.now)
    assert all(late == 0 for _, late in world.said)


def test_finals_that_the_time_has_no_room_for_are_announced_and_made(tmp_path: Path) -> None:
    world = World(opening_s=15.0, sample_s=0.05, room=0)
    (result,) = world.tune(tmp_path / "log", [plan("a")], 60.0)
    ((_, late),) = world.said
    assert late > 30
    assert result.n is not None
    assert world.now == pytest.approx(60 + late, rel=0.3)


def test_a_kernel_for_which_there_was_no_time_is_not_said_to_have_no_faster_candidate(
    tmp_path: Path, kernels: list[KernelPlan]
) -> None:
    world = World(opening_s=10.0, sample_s=0.05, room=20)
    results = world.tune(tmp_path / "log", kernels, 5.0)
    answered = {event["kernel"] for event in read_events(tmp_path / "log") if event["event"] == "evaluation"}
    untried = {result.kernel for result in results if result.note == "no candidate was tried: the time was over"}
    assert untried == {"a", "b", "c"} - answered
    assert untried


def test_what_is_under_way_is_over_when_the_time_is(tmp_path: Path) -> None:
    world = World(opening_s=0.0, sample_s=0.3, room=20)
    with EventLog(tmp_path / "log") as events:
        target = Target(plan("a"), space(), lambda: Queued(world, "a"))
        watcher = Listening(world)
        Tuner(Journal(events, ()), [target], watcher, "r3", 1, Limits(None, 200.0), clock=lambda: world.now).run()
    (allowed_s,) = world.allowed
    proposals = [each for each in read_events(tmp_path / "log") if each["event"] == "proposal"]
    asked = [each for each in proposals if each["source"] != MINIMIZE and each.get("repeats") is None]
    each_s = 0.3 * (FEW_WARMUPS + FEW_SAMPLES)
    assert allowed_s / each_s - 10 < len(asked) < allowed_s / each_s + 10


def test_each_kernel_gets_a_first_look(tmp_path: Path, kernels: list[KernelPlan]) -> None:
    now = [0.0]
    with EventLog(tmp_path / "log") as log:
        budget = Budget(Limits(1000, 100.0), Journal(log, ()), kernels, (), lambda: now[0])
        now[0] = 80.0
        budget.explored(80.0)
        for each, share in zip(kernels, (0.5, 0.3, 0.2), strict=True):
            assert budget.exploration(each).deadline == pytest.approx(80.0 + 20.0 * FIRST_LOOK * share)


def test_each_kernel_is_opened_once_where_there_is_room_for_all(tmp_path: Path, kernels: list[KernelPlan]) -> None:
    world = World(opening_s=1.0, sample_s=0.01, room=20)
    world.tune(tmp_path / "log", kernels, 100.0)
    assert [each for each in world.events if each.startswith("open")] == ["open a", "open b", "open c"]
    started = Counter(each.split()[0] for each in world.events)
    assert started["fresh"] >= sum(PROCESSES)
    assert started["close"] >= started["open"]


def test_where_there_is_no_room_one_is_open_at_a_time(tmp_path: Path, kernels: list[KernelPlan]) -> None:
    world = World(opening_s=1.0, sample_s=0.01, room=0)
    world.tune(tmp_path / "log", kernels, 100.0)
    opened = 0
    for event in world.events:
        opened += {"open": 1, "fresh": 1, "close": -1}[event.split()[0]]
        assert opened <= 1, world.events
    assert opened == 0


@pytest.mark.parametrize("room", [0, 1, 2, 9])
def test_finals_have_their_processes_prepared_before_any_is_measured_in(room: int) -> None:
    world = World(opening_s=1.0, sample_s=0.0, room=room)
    with FreshEvaluators(lambda: Clocked(world, "a")) as fresh:
        assert len(list(in_fresh_processes(2, ROUNDS[1], [Candidate()], fresh))) == PROCESSES[1]
    assert world.now == PROCESSES[1], "each is a process of its own"
    batches = "".join(event[0] for event in world.events).split("o")[1:]
    assert [batch.count("f") + 1 for batch in batches] == {0: [1] * 5, 1: [2, 2, 1], 2: [3, 2], 9: [5]}[room]
    assert [each.held_out for each in world.plans] == [True, False, False, False, False]


@pytest.mark.parametrize(("room", "ahead"), [(20, 6), (7, 6), (6, 0), (2, 0)])
def test_processes_of_finals_start_with_the_search_where_there_is_room(tmp_path: Path, room: int, ahead: int) -> None:
    world = World(opening_s=1.0, sample_s=0.01, room=room)
    (result,) = world.tune(tmp_path / "log", [plan("a")], 100.0)
    assert result.n is not None
    assert world.fresh_at[:ahead] == [1] * ahead, "after the baseline"
    assert len(world.fresh_at) == sum(PROCESSES)
    searched = next(at for at, timing in enumerate(world.plans) if timing.perturbed)
    assert all(at >= searched for at in world.fresh_at[ahead:])
    together = min(room, sum(PROCESSES))
    assert "".join(event[0] for event in world.events).startswith("o" + "f" * together + "c")


def test_the_next_kernel_is_opened_while_one_is_searched(tmp_path: Path, kernels: list[KernelPlan]) -> None:
    world = World(opening_s=1.0, sample_s=0.01, room=30)
    world.tune(tmp_path / "log", kernels, 100.0)
    a, b, c = (world.events.index(f"open {name}") for name in "abc")
    assert a < b < world.events.index("fresh a") < c < world.events.index("fresh b")


def test_what_is_wrong_with_a_kernel_is_said_in_its_turn(tmp_path: Path, kernels: list[KernelPlan]) -> None:
    world = World(opening_s=1.0, sample_s=0.01, room=20)

    def broken() -> Clocked:
        raise R3Error("b cannot be opened")

    first, second, _ = (world.target(each) for each in kernels)
    targets = [first, msgspec.structs.replace(second, open_evaluator=broken)]
    with EventLog(tmp_path / "log") as events, pytest.raises(R3Error, match="b cannot be opened"):
        Tuner(Journal(events, ()), targets, Silent(), "r3", 1, Limits(20), clock=lambda: world.now).run()
    assert any(timing.race for timing in world.plans), "a was searched"
    assert world.events.count("close a") == sum(event != "close a" for event in world.events), "all was closed"


def test_what_was_closed_opens_nothing_more() -> None:
    world = World(opening_s=0.0, sample_s=0.0, room=3)
    fresh = FreshEvaluators(lambda: Clocked(world, "a"), 3)
    fresh.start(2)
    fresh.close()
    assert Counter(event.split()[0] for event in world.events) == {"open": 1, "fresh": 1, "close": 2}
    with pytest.raises(CancelledError):
        fresh.prepare([1])


def test_a_worker_that_is_lost_in_finals_costs_nothing_but_time() -> None:
    lost = Counter[object]()

    class Forgetful(Clocked):
        def submit(self, candidate: Candidate, plan: TimingPlan = TimingPlan()) -> Future[Evaluation]:  # noqa: B008
            if candidate != Candidate() or self in lost:
                return super().submit(candidate, plan)
            lost[self] += 1
            gone: Future[Evaluation] = Future()
            gone.set_result(Evaluation(candidate, Status.WORKER_LOST, "killed"))
            return gone

    world = World(opening_s=0.0, sample_s=0.0, room=2)
    with FreshEvaluators(lambda: Forgetful(world, "a")) as fresh:
        found = list(in_fresh_processes(2, ROUNDS[1], [Candidate()], fresh))
    assert len(lost) == PROCESSES[1]
    assert [each.status for evaluations in found for each in evaluations] == [Status.OK] * PROCESSES[1]


def test_what_has_its_result_is_reckoned_with_no_more(tmp_path: Path, kernels: list[KernelPlan]) -> None:
    now = [0.0]
    with EventLog(tmp_path / "log") as log:
        budget = Budget(Limits(None, 100.0), Journal(log, ()), kernels, (), lambda: now[0])
        for each in kernels:
            budget.costs(each.kernel, Cost(opening_s=0.0, finals_s=20.0, is_open=True))
        assert budget.finals_s == 60.0
        assert budget.late_s == 10.0
        budget.over("a")
        assert budget.finals_s == 40.0
        assert budget.late_s == 0.0
