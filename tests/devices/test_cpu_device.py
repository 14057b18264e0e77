import numpy as np
import pytest

from r3cc.devices import open_device
from r3cc.devices.base import PAGE, Range
from tests.replay.cpu_kernels import needs_cpu_device

pytestmark = needs_cpu_device


@pytest.fixture
def device():
    opened = open_device("cpu")
    yield opened
    opened.close()


def test_listed_pages_are_copied_and_no_others(device):
    size = 10 * PAGE - 100
    data = np.random.default_rng(1).integers(1, 256, size, np.uint8)
    numbers = np.array([1, 4, 9], np.uint32)
    source, target, pages = device.allocate(size), device.allocate(size + 100), device.allocate(numbers.nbytes)
    device.upload(source, data)
    device.upload(pages, numbers.view(np.uint8))
    device.fill(target, 0, size + 100)
    device.copy_pages(target, source, size, Range(pages, numbers.nbytes))
    expected = np.zeros(size + 100, np.uint8)
    for page in numbers:
        part = data[page * PAGE :][:PAGE]
        expected[page * PAGE :][: len(part)] = part
    assert device.download(target, size + 100) == expected.tobytes()


@pytest.mark.parametrize("size", [1, PAGE + 1, (1 << 24) + 7])
def test_bytes_that_differ_are_counted(device, size):
    draw = np.random.default_rng(size)
    data = draw.integers(0, 256, size, np.uint8)
    other = np.where(draw.random(size) < 0.3, data ^ draw.integers(0, 256, size, np.uint8), data)
    left, right = device.allocate(size), device.allocate(size)
    device.upload(left, data)
    device.upload(right, other)
    assert device.count_differences(left, right, size) == np.count_nonzero(data != other)
    assert device.count_differences(left, left, size) == 0


def test_marks_cost_nothing_and_never_wait_for_the_host(device):
    assert device.mark_overhead_ns == 0.0
    assert device.mark().is_ahead()
