"""A block that serves some launch shapes and not others is kept for those that it serves."""

import math
from collections.abc import Callable
from pathlib import Path

import msgspec

from r3cc.apply.profile import Shape as ProfileShape
from r3cc.apply.profile import ShapeBlock
from r3cc.apply.rules import launch_rule, launched
from r3cc.farm.evaluator import Evaluator
from r3cc.replay.events import decode_event
from r3cc.replay.geometry import derive
from r3cc.replay.model import (
    Candidate,
    Evaluation,
    Interval,
    LaunchConfiguration,
    LaunchShape,
    ShapeTime,
    Status,
    TimingPlan,
)
from r3cc.report.shapes import restricted, restriction_line
from r3cc.store.eventlog import EventLog, read_events
from r3cc.tune.blocks import Shape, by_shape_of, by_shape_text, shapes_of, shapes_text
from r3cc.tune.budget import Limits
from r3cc.tune.edits import BasePipeline
from r3cc.tune.genotype import Genotype
from r3cc.tune.journal import Journal
from r3cc.tune.knobs import BLOCK as BLOCK_KEY
from r3cc.tune.knobs import BLOCK_BY_SHAPE, KERNEL_KNOBS
from r3cc.tune.passes import vocabulary
from r3cc.tune.search import Target, Tuner
from r3cc.tune.space import Space
from r3cc.tune.watcher import Silent
from tests.replay.launches import make_launch
from tests.tune.synthetic import BASE_TEXT, LISTING, SyntheticEvaluator, describe, plan

BLOCK = (128, 1, 1)
LARGE, SMALL = ((4096, 1, 1), BLOCK, 0), ((16, 1, 1), BLOCK, 0)
TIMES: dict[LaunchShape, float] = {LARGE: 900.0, SMALL: 600.0}
"""The baseline's part of the time in each shape's launches."""


def ratio(launch: LaunchConfiguration, shape: tuple[object, ...]) -> float:
    """Large blocks serve the large grid alone."""
    if launch.block is None or (launch.shapes and shape not in launch.shapes):
        return 1.0
    larger = launch.block[0] > BLOCK[0]
    return (0.6 if larger else 1.2) if shape == LARGE else (1.5 if larger else 1.1)


class Shaped(SyntheticEvaluator):
    """Times by shape."""

    ratio = staticmethod(ratio)

    def _evaluate(self, candidate: Candidate, plan: TimingPlan) -> Evaluation:
        parts = {shape: self.ratio(candidate.launch, shape) for shape in TIMES}
        whole = sum(TIMES[shape] * part for shape, part in parts.items()) / sum(TIMES.values())
        times = Interval(1e6 * whole, 0.999e6 * whole, 1.001e6 * whole, 20)
        return Evaluation(
            candidate,
            Status.OK,
            object_hash=candidate.pipeline or "o3",
            time_ns=times,
            baseline_ns=Interval(1e6, 0.999e6, 1.001e6, 20),
            ratio=Interval(whole, whole * 0.999, whole * 1.001, 20),
            launches=2,
            by_shape=tuple(ShapeTime(*shape, 1.0, TIMES[shape], part) for shape, part in parts.items()),
        )


class Disagreeing(Shaped):
    """Each shape has a block of its own that it likes, and none that serves both."""

    @staticmethod
    def ratio(launch: LaunchConfiguration, shape: LaunchShape) -> float:
        block = dict(launch.by_shape).get(shape, launch.block)
        if block is None or (launch.shapes and shape not in launch.shapes):
            return 1.0
        likes = 512 if shape == LARGE else 32
        return 0.6 + 0.2 * abs(math.log2(block[0] / likes))


def tuned(log: Path, opener: Callable[[], Evaluator]) -> list[object]:
    shapes = [Shape(grid, block, shared) for grid, block, shared in (SMALL, LARGE)]
    space = Space(BasePipeline(BASE_TEXT), vocabulary(LISTING), (), describe(), shapes)
    with EventLog(log) as events:
        Tuner(Journal(events, ()), [Target(plan(), space, opener)], Silent(), "r3", 1, Limits(60)).run()
    return [decode_event(event) for event in read_events(log)]


def test_the_winner_has_its_block_for_the_shapes_that_it_serves(tmp_path: Path) -> None:
    events = tuned(tmp_path / "log", Shaped)
    (result,) = [event for event in events if type(event).__name__ == "Result"]
    assert result.candidate.launch.shapes == (LARGE,) and result.candidate.launch.block[0] > BLOCK[0]
    assert "the block for 1 of 2 launch shapes alone" in result.changes
    assert abs(result.speedup.median - 1500 / (900 * 0.6 + 600)) < 0.01
    found = restricted("abc", events)
    assert found is not None and abs(found.cost - ((900 * 0.6 + 600 * 1.5) / (900 * 0.6 + 600) - 1)) < 0.01
    assert "1 of 2" in restriction_line(found)


def test_each_shape_gets_the_block_that_serves_it(tmp_path: Path) -> None:
    events = tuned(tmp_path / "log", Disagreeing)
    (result,) = [event for event in events if type(event).__name__ == "Result"]
    launch = result.candidate.launch
    assert launch.block == (512, 1, 1) and launch.by_shape == ((SMALL, (32, 1, 1)),) and launch.shapes == ()
    assert "block=32,1,1 for a grid of 16,1,1" in result.changes
    assert abs(result.speedup.median - 1 / 0.6) < 0.01
    found = restricted("abc", events)
    single = (900 * 0.6 + 600 * (0.6 + 0.2 * 4)) / 1500
    assert found is not None and abs(found.cost - (single / 0.6 - 1)) < 0.01
    assert "2 blocks for 2 launch shapes" in restriction_line(found)


def test_the_rule_says_which_shape_gets_which_block() -> None:
    wanted = LaunchConfiguration(block=(256, 1, 1), by_shape=((SMALL, (32, 1, 1)),))
    large, small = (
        make_launch([], [], b"", (), grid=grid, block=block, launch=f"host-1-0/{grid[0]}") for grid, block, _ in TIMES
    )
    assert (derive(large, wanted).block, derive(small, wanted).block) == ((256, 1, 1), (32, 1, 1))
    assert derive(small, wanted).grid == (64, 1, 1)
    rule = launch_rule(wanted, [large, small])
    assert rule is not None and rule.by_shape == (ShapeBlock(ProfileShape(*SMALL), (32, 1, 1)),)
    assert launched(rule, ProfileShape(*SMALL)) == ProfileShape((64, 1, 1), (32, 1, 1), 0)
    assert launched(rule, ProfileShape(*LARGE)) == ProfileShape((2048, 1, 1), (256, 1, 1), 0)


def test_bounds_hold_every_shapes_block() -> None:
    shapes = [Shape(grid, block, shared) for grid, block, shared in (SMALL, LARGE)]
    space = Space(BasePipeline(BASE_TEXT), vocabulary(LISTING), KERNEL_KNOBS, describe(), shapes)
    knobs = {BLOCK_KEY: "64,1,1", BLOCK_BY_SHAPE: by_shape_text([(LARGE, (256, 1, 1))]), "maxntid": "launched"}
    candidate = space.candidate(Genotype((), tuple(sorted(knobs.items()))))
    assert dict(candidate.codegen)["maxntid"] == "256,1,1"
    assert candidate.launch == LaunchConfiguration(block=(64, 1, 1), by_shape=((LARGE, (256, 1, 1)),))


def test_bounds_hold_every_recorded_block_and_no_more_than_the_device_takes() -> None:
    """Blocks of other extents each: one that holds all of them would have 65,536 threads."""
    shapes = [Shape((64, 1, 1), (256, 1, 1)), Shape((1, 64, 1), (1, 256, 1)), Shape((8, 8, 1), (8, 8, 1))]
    space = Space(BasePipeline(BASE_TEXT), vocabulary(LISTING), KERNEL_KNOBS, describe(), shapes)
    candidate = space.candidate(Genotype((), (("minctasm", "2"),)))
    assert dict(candidate.codegen)["maxntid"] in ("256,1,1", "1,256,1")


def test_many_shapes_with_a_block_of_their_own_are_counted() -> None:
    shapes = [Shape((grid, 1, 1), BLOCK) for grid in range(1, 41)]
    space = Space(BasePipeline(BASE_TEXT), vocabulary(LISTING), KERNEL_KNOBS, describe(), shapes)
    own = [(((grid, 1, 1), BLOCK, 0), (32, 1, 1)) for grid in range(1, 13)] + [(((40, 1, 1), BLOCK, 0), (512, 1, 1))]
    text = dict.fromkeys(space.changes(Genotype((), ((BLOCK_BY_SHAPE, by_shape_text(own)),))))
    assert list(text) == ["block=32,1,1 for 12 of 40 launch shapes, block=512,1,1 for a grid of 40,1,1"]


def test_only_launches_of_these_shapes_get_the_block() -> None:
    wanted = LaunchConfiguration(block=(256, 1, 1), shapes=(LARGE,))
    large, small = (
        make_launch([], [], b"", (), grid=grid, block=block, launch=f"host-1-0/{grid[0]}") for grid, block, _ in TIMES
    )
    assert derive(large, wanted).block == (256, 1, 1) and derive(large, wanted).grid == (2048, 1, 1)
    assert derive(small, wanted).block == BLOCK and derive(small, wanted).grid == SMALL[0]
    rule = launch_rule(wanted, [large, small])
    assert rule is not None and [(s.grid, s.block, s.shared) for s in rule.guard.shapes] == [LARGE]


def test_shapes_have_a_text() -> None:
    assert shapes_of(shapes_text((LARGE, SMALL))) == (LARGE, SMALL)
    assert shapes_of("") == by_shape_of("") == ()
    blocks = ((LARGE, (64, 2, 1)), (SMALL, (32, 1, 1)))
    assert by_shape_of(by_shape_text(blocks)) == blocks
    assert msgspec.json.encode(LaunchConfiguration(block=BLOCK)) == b'{"block":[128,1,1]}', "ids stay as they were"
