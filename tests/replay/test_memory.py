import threading

import numpy as np
import pytest

from r3cc.devices import open_device
from r3cc.devices.base import PAGE, Range
from r3cc.errors import R3Error
from r3cc.replay.compare import Area, Magnitude, magnitude_of
from r3cc.replay.content import Held, Layout, Recorded, each_window, read_ahead, several_at_once
from r3cc.replay.elements import Tolerance
from r3cc.replay.memory import Block, ImageStore
from r3cc.store.images import CHUNK_SIZE
from tests.replay.cpu_kernels import needs_cpu_device
from tests.replay.launches import MemoryLaunches

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


def test_what_a_code_changes_elsewhere_is_restored_before_every_launch(device):
    before, after = np.zeros(PAGES * PAGE, np.uint8), np.zeros(PAGES * PAGE, np.uint8)
    after[:100] = 1
    images = ImageStore(device, 1 << 30, 0)
    block = Block("memory", len(before), images.get("b", Held(before)), images.get("a", Held(after)), [])
    address = device.allocate(len(before))
    block.forget()
    block.restore(address)
    block.learn(address)
    elsewhere = after.copy()
    elsewhere[-PAGE:] = 2
    device.upload(address, elsewhere)
    assert block.judge(device, address, {})
    block.forget()  # another launch was replayed meanwhile
    block.restore(address)
    device.upload(address, elsewhere)
    for _ in range(3):  # timed launches are not checked one by one
        block.restore(address)
        assert device.download(address, len(before)) == before.tobytes()
        device.upload(address, elsewhere)


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


@pytest.mark.parametrize("budgets", [(0, 0), (0, 1 << 30), (1 << 30, 0)], ids=["read", "host images", "device images"])
def test_images_are_handled_in_windows(device, budgets, monkeypatch):
    monkeypatch.setattr("r3cc.replay.content.WINDOW", 5 * PAGE)
    source = MemoryLaunches()
    pieces = [np.random.default_rng(seed).integers(0, 256, size, np.uint8) for seed, size in ((1, 70_001), (2, 333))]
    placed = [
        (offset, Recorded(source, source.keep(piece), len(piece)))
        for offset, piece in zip((3 * PAGE, 30 * PAGE + 16), pieces, strict=True)
    ]
    size = 40 * PAGE
    expected = np.zeros(size, np.uint8)
    expected[3 * PAGE : 35 * PAGE] = 7
    for (offset, _), piece in zip(placed, pieces, strict=True):
        expected[offset : offset + len(piece)] = piece
    layout = Layout(size, placed, [Range(3 * PAGE, 32 * PAGE)], 7)
    image = ImageStore(device, *budgets).get("image", layout)
    address = device.allocate(size)
    device.fill(address, 1, size)
    image.restore(address, [Range(0, size)])
    assert device.download(address, size) == expected.tobytes()
    assert image.differences(address) == []
    device.upload(address + 33 * PAGE, np.full(10, 9, np.uint8))
    assert image.differences(address) == [Range(33 * PAGE, PAGE)]
    part = Range(2 * PAGE + 100, 10 * PAGE)
    assert image.read(part).tobytes() == expected[part.address : part.end].tobytes()


@pytest.mark.parametrize("budgets", [(0, 0), (0, 1 << 30), (1 << 30, 0)], ids=["read", "host images", "device images"])
def test_bytes_that_a_launch_changed_are_counted(device, budgets, monkeypatch):
    monkeypatch.setattr("r3cc.replay.content.WINDOW", 5 * PAGE)
    before = np.random.default_rng(3).integers(0, 256, 33 * PAGE + 9, np.uint8)
    after = before.copy()
    after[::7] ^= 1
    images = ImageStore(device, *budgets)
    block = Block("memory", len(before), images.get("before", Held(before)), images.get("after", Held(after)), [])
    address = device.allocate(len(before))
    block.forget()
    block.restore(address)
    assert block.changed_bytes(address) == np.count_nonzero(before != after)


def test_windows_are_read_ahead_and_come_in_order(monkeypatch):
    monkeypatch.setattr("r3cc.replay.content.WINDOW", 1000)
    data = np.random.default_rng(4).integers(0, 256, 12_345, np.uint8)
    parts = [Range(5, 3500), Range(4000, 1), Range(6000, 0), Range(7000, 5345)]
    taken = []

    def memory(size):
        taken.append(size)
        return np.empty(size, np.uint8)

    seen = [(part, content.tobytes()) for part, content in read_ahead(Held(data), parts, memory)]
    assert [part for part, _ in seen[:4]] == [Range(5, 1000), Range(1005, 1000), Range(2005, 1000), Range(3005, 500)]
    assert all(content == data[part.address : part.end].tobytes() for part, content in seen)
    assert b"".join(content for _, content in seen) == b"".join(
        data[each.address : each.end].tobytes() for each in parts
    )
    assert len(taken) == 1 and taken[0] <= 8000
    assert list(read_ahead(Held(data), [], memory)) == []


def test_items_are_worked_on_at_once_and_come_in_order(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    main = threading.get_ident()
    both = threading.Barrier(2, timeout=60)

    def work(item):
        if item in (2, 3):
            both.wait()  # passed by two at once alone
        return item, threading.get_ident() == main

    def items():
        assert threading.get_ident() == main
        yield from range(30)

    found = list(several_at_once(work, items(), lambda item: item in (2, 3)))
    assert found == [(item, item not in (2, 3)) for item in range(30)]


def test_what_cannot_be_read_is_said_by_reading_ahead(monkeypatch):
    monkeypatch.setattr("r3cc.replay.content.WINDOW", 1000)

    class Damaged(Held):
        def read_into(self, part, out):
            if part.address >= 3000:
                raise R3Error("damaged")
            super().read_into(part, out)

    windows = read_ahead(Damaged(np.zeros(9000, np.uint8)), [Range(0, 9000)], lambda size: np.empty(size, np.uint8))
    with pytest.raises(R3Error, match="damaged"):
        for number, (part, _) in enumerate(windows):
            assert part.address == 1000 * number < 3000


@pytest.mark.parametrize("budgets", [(0, 0), (1 << 30, 0)], ids=["read", "device images"])
def test_large_differences_are_judged_piece_by_piece(device, budgets, monkeypatch):
    sizes = []
    download = device.download
    monkeypatch.setattr(device, "download", lambda address, size: sizes.append(size) or download(address, size))
    monkeypatch.setattr("r3cc.replay.memory.PIECE", 2 * PAGE)
    monkeypatch.setattr("r3cc.replay.compare._LARGE", 2 * PAGE)
    expected = np.random.default_rng(5).normal(size=20 * PAGE // 8)
    actual = expected * (1 + 1e-12)
    actual[[100, 9_000]] += 1.0
    data = expected.view(np.uint8)
    images = ImageStore(device, *budgets)
    area = Area("y", 0, len(data), "double", lambda: magnitude_of(data, "double"))
    image = images.get("after", Held(data))
    block = Block("memory", len(data), image, image, [area])
    address = device.allocate(len(data))
    device.upload(address, actual.view(np.uint8))
    (found,) = block.judge(device, address, {"double": Tolerance(1e-9, 1e-13, 1e-11)})
    assert (found.where, found.count) == ("y+800", 2)
    assert found.max_abs == pytest.approx(1.0)
    assert max(sizes) <= 2 * PAGE


def test_magnitudes_of_windows_add_up(monkeypatch):
    values = np.random.default_rng(1).normal(size=10_000)
    values[[5, 9_000]] = np.inf, np.nan
    data = values.view(np.uint8)
    whole = magnitude_of(data, "double")
    monkeypatch.setattr("r3cc.replay.content.WINDOW", 8000)
    parts = each_window(len(data), lambda part: magnitude_of(data[part.address : part.end], "double"))
    together = sum(parts, Magnitude())
    assert len(parts) == 10
    assert together.largest == whole.largest
    assert together.squares == pytest.approx(whole.squares)


class CountingLaunches(MemoryLaunches):
    """Counts the bytes that were read."""

    read = 0

    def read_part(self, key, size, start, out):
        self.read += len(out)
        super().read_part(key, size, start, out)


def test_what_images_share_is_read_once(device):
    source, size = CountingLaunches(), 4 * CHUNK_SIZE + 100
    mesh, before = (np.random.default_rng(seed).integers(1, 255, size, np.uint8) for seed in (1, 2))
    after = before.copy()
    after[CHUNK_SIZE + 5] ^= 1
    images = ImageStore(device, 1 << 30, 0)
    whole = 2 * size + 2 * PAGE

    def image(*contents):
        placed = [
            (at, Recorded(source, source.keep(content), size))
            for at, content in zip((PAGE, size + 2 * PAGE), contents, strict=False)
        ]
        return images.get(object(), Layout(whole, placed, [Range(0, whole)], 0xFF))

    def expected(*contents):
        padded = b"".join(b"\xff" * PAGE + content.tobytes() for content in contents)
        return padded.ljust(whole, b"\xff")

    both = image(mesh, before)
    assert both.read(Range(0, whole)).tobytes() == expected(mesh, before)
    assert source.read == 2 * size
    assert image(mesh, after).read(Range(0, whole)).tobytes() == expected(mesh, after)
    assert source.read == 2 * size + CHUNK_SIZE
    assert image(before, mesh).read(Range(0, whole)).tobytes() == expected(before, mesh)
    assert image(mesh, mesh).read(Range(0, whole)).tobytes() == expected(mesh, mesh)
    assert source.read == 2 * size + CHUNK_SIZE
