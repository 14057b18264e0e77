import numpy as np
import pytest

from r3cc.devices import open_device
from r3cc.devices.base import PAGE
from r3cc.replay.content import Held
from r3cc.replay.memory import Block, ImageStore
from tests.replay.cpu_kernels import needs_cpu_device

pytestmark = needs_cpu_device
PAGES = 200


@pytest.fixture
def device():
    opened = open_device("cpu")
    yield opened
    opened.close()


@pytest.mark.parametrize("budgets", [(0, 0), (0, 1 << 30), (1 << 30, 0)], ids=["read", "host images", "device images"])
@pytest.mark.parametrize("step", [3, PAGES - 1], ids=["scattered", "few"])
def test_what_a_launch_changes_is_restored_wherever_it_lies(device, budgets, step):
    size = PAGES * PAGE - 7
    before = np.random.default_rng(2).integers(0, 256, size, np.uint8)
    after = before.copy()
    after[:: step * PAGE] ^= 1
    images = ImageStore(device, *budgets)
    block = Block("memory", size, images.get("before", Held(before)), images.get("after", Held(after)), [])
    address = device.allocate(size)
    block.forget()
    block.restore(address)
    block.learn(address)
    for _ in range(2):
        device.upload(address, after)
        block.restore(address)
        assert device.download(address, size) == before.tobytes()


def test_scattered_changes_cost_one_command(device, monkeypatch):
    copies = []
    monkeypatch.setattr(device, "copy", lambda *arguments: copies.append(arguments))
    before = np.zeros(PAGES * PAGE, np.uint8)
    after = before.copy()
    after[:: 2 * PAGE] = 1
    images = ImageStore(device, 1 << 30, 0)
    block = Block("memory", len(before), images.get("b", Held(before)), images.get("a", Held(after)), [])
    address = device.allocate(len(before))
    device.upload(address, before)
    block.learn(address)
    device.upload(address, after)
    block.restore(address)
    assert copies == []
    assert device.download(address, len(before)) == before.tobytes()
