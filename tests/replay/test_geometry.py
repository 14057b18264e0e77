import pytest

from r3cc.devices.base import Geometry, Limits
from r3cc.replay.geometry import derive, problem
from r3cc.replay.model import LaunchConfiguration
from tests.replay.launches import make_launch


def test_nothing_asked_keeps_what_was_recorded():
    launch = make_launch(grid=(3, 2, 1), block=(64, 4, 1), shared=128)
    assert derive(launch, LaunchConfiguration()) == Geometry((3, 2, 1), (64, 4, 1), 128)


@pytest.mark.parametrize(
    ("block", "grid"),
    [((32, 4, 1), (6, 2, 1)), ((128, 8, 1), (2, 1, 1)), ((100, 3, 1), (2, 3, 1)), ((1, 1, 1), (192, 8, 1))],
)
def test_block_alone_covers_the_recorded_threads_on_every_axis(block, grid):
    launch = make_launch(grid=(3, 2, 1), block=(64, 4, 1))
    assert derive(launch, LaunchConfiguration(block=block)).grid == grid


def test_grid_and_block_together_are_taken_as_they_are():
    launch = make_launch(grid=(3, 2, 1), block=(64, 4, 1))
    asked = LaunchConfiguration(grid=(7, 1, 1), block=(32, 1, 1), shared=64)
    assert derive(launch, asked) == Geometry((7, 1, 1), (32, 1, 1), 64)


@pytest.mark.parametrize(
    ("geometry", "part"),
    [
        (Geometry((1, 1, 1), (1024, 2, 1), 0), "2048 threads"),
        (Geometry((1, 1, 1), (1, 1, 65), 0), "axis z"),
        (Geometry((1, 70000, 1), (1, 1, 1), 0), "axis y"),
        (Geometry((1, 1, 1), (0, 1, 1), 0), "at least 1"),
        (Geometry((1, 1, 1), (32, 1, 1), 1 << 20), "shared"),
    ],
)
def test_illegal_geometry_is_one_sentence(geometry, part):
    assert part in problem(geometry, Limits())


def test_legal_geometry_is_no_problem():
    assert problem(Geometry((65535, 1, 1), (1024, 1, 1), 0), Limits()) is None
