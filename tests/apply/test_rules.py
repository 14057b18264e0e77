"""Which launches a launch rule and a second version reach, and how much of a kernel's time those are."""

from __future__ import annotations

import msgspec
import pytest

from r3cc.apply.coverage import Coverage, coverage
from r3cc.apply.profile import Constant, Guard, LaunchRule, Scalar, Shape, ShapeBlock, Specialised
from r3cc.apply.recheck import candidate_of, reached
from r3cc.apply.rules import beyond, launch_rule, launched, specialised, takes
from r3cc.errors import R3Error
from r3cc.replay.model import LaunchConfiguration, Specialisation, Table
from r3cc.store.model import Dim3, Kernel
from r3cc.store.model import Shape as RecordedShape
from tests.apply.test_profile import entry
from tests.tune.test_specialisation import launch

RULE = LaunchRule((64, 1, 1), "derived", Guard((Shape((8, 1, 1), (128, 1, 1), 0),)))


def kernel(*shapes: tuple[Dim3, Dim3, int, int]) -> Kernel:
    times = tuple(RecordedShape(grid, block, shared, 1, total) for grid, block, shared, total in shapes)
    return Kernel("m", "k", "k(int)", "cuda:0", 1, 1, 1, 1, 1.0, times, ())


def test_a_rule_changes_the_shapes_of_its_guard_alone() -> None:
    assert launched(RULE, Shape((8, 1, 1), (128, 1, 1), 0)) == Shape((16, 1, 1), (64, 1, 1), 0)
    assert launched(RULE, Shape((9, 1, 1), (128, 1, 1), 0)) is None
    assert launched(None, Shape((9, 1, 1), (128, 1, 1), 0)) == Shape((9, 1, 1), (128, 1, 1), 0)
    own = msgspec.structs.replace(RULE, by_shape=(ShapeBlock(RULE.guard.shapes[0], (32, 1, 1)),))
    assert launched(own, Shape((8, 1, 1), (128, 1, 1), 0)) == Shape((32, 1, 1), (32, 1, 1), 0)
    given = msgspec.structs.replace(RULE, grid=(3, 1, 1))
    assert launched(given, Shape((8, 1, 1), (128, 1, 1), 0)) == Shape((3, 1, 1), (64, 1, 1), 0)


@pytest.mark.parametrize(
    ("special", "bounds", "shape", "answer"),
    [
        (None, "32", Shape((1, 1, 1), (64, 1, 1), 99999), True),
        (Specialised(), None, Shape((1, 1, 1), (64, 1, 1), 48 * 1024), True),
        (Specialised(), None, Shape((1, 1, 1), (64, 1, 1), 48 * 1024 + 1), False),
        (Specialised(), "32,2,1", Shape((1, 1, 1), (64, 1, 1), 0), True),
        (Specialised(), "32,2,1", Shape((1, 1, 1), (65, 1, 1), 0), False),
        (Specialised((), (64, 1, 1)), None, Shape((1, 1, 1), (32, 2, 1), 0), False),
        (Specialised((), None, (2, 1, 1)), None, Shape((1, 1, 1), (64, 1, 1), 0), False),
    ],
)
def test_a_version_serves_what_it_was_made_for(
    special: Specialised | None, bounds: str | None, shape: Shape, answer: bool
) -> None:
    assert takes(special, bounds, shape) is answer


def test_a_candidate_gives_rule_and_version() -> None:
    launches = [launch(1000, 1), launch(1000, 2)]
    assert launch_rule(LaunchConfiguration(block=(64, 1, 1)), launches) == RULE
    assert launch_rule(LaunchConfiguration(), launches) is None
    with pytest.raises(R3Error, match="cannot be written as one rule"):
        launch_rule(LaunchConfiguration(grid=(4, 1, 1)), [*launches, launch(1, 1, block=(32, 1, 1))])
    assert specialised(Specialisation(), launches) is None
    assert specialised(Specialisation(((2, "00" * 8),), (64, 1, 1)), launches) == Specialised(
        (Constant(2, 8, 8, "00" * 8),), (64, 1, 1)
    )


def test_no_rule_derives_a_grid_that_no_device_takes() -> None:
    tall, low = (1, 40000, 1), (1, 30000, 1)
    launches = [launch(1000, 1, grid=grid, block=(32, 2, 1)) for grid in (tall, low)]
    rule = launch_rule(LaunchConfiguration(block=(64, 1, 1)), launches)
    assert rule is not None
    assert rule.guard.shapes == (Shape(low, (32, 2, 1), 0),)
    by_hand = msgspec.structs.replace(rule, guard=Guard((Shape(tall, (32, 2, 1), 0),)))
    assert launched(by_hand, by_hand.guard.shapes[0]) is None


def test_bounds_beyond_the_sources() -> None:
    assert beyond("128,1,1", None)
    assert beyond("128,1,1", 256)
    assert not beyond("32,4,1", 128)


def test_a_check_replays_what_the_build_changes() -> None:
    changed = msgspec.structs.replace(
        entry(), launch=RULE, specialised=Specialised((Constant(0, 0, 4, "e8030000"),), (64, 1, 1))
    )
    assert candidate_of(changed).specialisation == Specialisation(((0, "e8030000"),), (64, 1, 1))
    assert reached(changed, launch(1000, 1))
    assert not reached(changed, launch(1001, 1))
    assert not reached(changed, launch(1000, 1, (9, 1, 1)))
    assert reached(msgspec.structs.replace(entry(), launch=RULE), launch(1000, 1, (9, 1, 1))), "its code is tuned, too"
    asked = msgspec.structs.replace(RULE.guard, scalars=(Scalar(1, 4, 4, ("01000000", "02000000")),))
    changed = msgspec.structs.replace(changed, launch=msgspec.structs.replace(RULE, guard=asked))
    assert reached(changed, launch(1000, 2))
    assert not reached(changed, launch(1000, 3))


def test_coverage_is_the_time_of_the_shapes_that_are_reached() -> None:
    seen = kernel(((8, 1, 1), (128, 1, 1), 0, 60), ((9, 1, 1), (128, 1, 1), 0, 30), ((8, 1, 1), (32, 1, 1), 0, 10))
    assert coverage(entry(), seen) == Coverage(1.0, False)
    assert coverage(msgspec.structs.replace(entry(), launch=RULE), seen) == Coverage(0.6, False)
    fixed = msgspec.structs.replace(entry(), specialised=Specialised((), (128, 1, 1)))
    assert coverage(fixed, seen) == Coverage(0.9, False)
    bounded = msgspec.structs.replace(entry(), specialised=Specialised(), attributes={"maxntid": "32"})
    assert coverage(bounded, seen) == Coverage(0.1, False)
    valued = msgspec.structs.replace(entry(), specialised=Specialised((Constant(0, 0, 4, "e8030000"),)))
    assert coverage(valued, seen) == Coverage(1.0, True)
    assert coverage(valued, kernel()) is None


def test_tables_are_the_same_in_a_profile() -> None:
    wanted = Specialisation(tables=(Table("0000803f", "_ZL1c"), Table("00000040", argument=1, offset=8)))
    special = specialised(wanted, [launch(1000, 1)])
    assert special is not None
    assert msgspec.json.decode(msgspec.json.encode(special))["tables"] == [
        {"size": 4, "value": "0000803f", "variable": "_ZL1c"},
        {"size": 4, "value": "00000040", "argument": 1, "offset": 8},
    ]
    assert candidate_of(msgspec.structs.replace(entry(), specialised=special)).specialisation == wanted
