"""What a recorded launch stands for in the application."""

from __future__ import annotations

import msgspec
import pytest

from r3cc.replay.launches import weigh
from r3cc.store import Store
from r3cc.store.model import Kernel, Launch, Shape
from tests.conftest import SAXPY


@pytest.mark.parametrize(
    ("time_ns", "median_ns", "expected"),
    [(40, 50, 40.0), (0, 50, 50.0), (0, 0, 80.0), (500, 50, 50.0), (70, 0, 70.0)],
)
def test_time_in_the_application(small_store: Store, time_ns: int, median_ns: int, expected: float) -> None:
    kernel, launch = recorded(small_store, time_ns)
    shape = Shape(launch.grid, launch.block, launch.shared, launches=10, total_ns=800, median_ns=median_ns)
    (weighed,) = weigh([launch], msgspec.structs.replace(kernel, shapes=(shape,)))
    assert (weighed.weight, weighed.app_ns) == (10.0, expected)


def recorded(store: Store, time_ns: int) -> tuple[Kernel, Launch]:
    """saxpy and its launch, which took that long."""
    kernel = store.find_kernel(SAXPY)
    return kernel, msgspec.structs.replace(store.launches(kernel)[0], time_ns=time_ns)
