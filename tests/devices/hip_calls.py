"""What replay asks of a HIP device, asked of one, in a process of its own. Argument 1: a code object of kernels.c."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from r3cc.devices import Device, open_device
from r3cc.devices.base import PAGE, Arguments, DeviceUnavailable, Geometry, LaunchError, LoadError, Range
from r3cc.farm.device_worker import self_test

RECORDED = 0x600000000000


def recorded_addresses(device: Device) -> None:
    """Mapped memory lies where it was recorded, and keeps its content while it is mapped."""
    first, second = (Range(RECORDED + place * device.granule, device.granule) for place in (0, 5))
    device.reserve([first, second])
    device.map([first])
    data = np.random.default_rng(1).integers(0, 256, first.size, np.uint8)
    device.upload(first.address, data)
    device.map([first, second])
    device.copy(second.address, first.address, first.size)
    device.map([second])
    assert device.download(second.address + 3, 100) == data[3:103].tobytes()


def listed_pages(device: Device) -> None:
    """Pages that are named are copied, and no others."""
    size = 10 * PAGE - 100
    data = np.random.default_rng(2).integers(1, 256, size, np.uint8)
    numbers = np.array([1, 4, 5, 9], np.uint32)
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
    for address in (source, target, pages):
        device.release(address)


def counted_differences(device: Device) -> None:
    """Bytes that differ are counted; what is uploaded comes from the device's own memory."""
    size = 10 * PAGE - 100
    data = device.staging(size)
    data[:] = np.random.default_rng(3).integers(0, 256, size, np.uint8)
    left, right = device.allocate(size), device.allocate(size)
    device.upload(left, data)
    data[::9] ^= 4
    device.upload(right, data)
    assert device.count_differences(left, right, size) == len(data[::9])
    device.release(left)
    device.release(right)


def a_launch(device: Device, code_object: Path) -> None:
    """scale(y, x, n) with its factor set."""
    x = np.linspace(1.0, 2.0, 1000)
    places = [device.allocate(x.nbytes) for _ in range(2)]
    device.upload(places[1], x.view(np.uint8))
    codes = [device.load(code_object) for _ in range(2)]
    code = codes[1]
    codes[0].unload()
    factor = code.global_range("factor")
    assert factor is not None and factor.size == 16
    assert code.global_range("missing") is None
    device.upload(factor.address, np.array([0.0, 3.0]).view(np.uint8))
    buffer = np.array(places, np.uint64).tobytes() + np.array([1000], np.int32).tobytes()
    arguments = Arguments(buffer, ((0, 8), (8, 8), (16, 4)))
    start = device.mark()
    code.function("scale").launch(Geometry((16, 1, 1), (64, 1, 1), 0), arguments)
    end = device.mark()
    device.synchronise()
    assert end.nanoseconds_since(start) > 0
    assert np.array_equal(np.frombuffer(device.download(places[0], x.nbytes)), 3.0 * x)
    try:
        code.function("missing")
    except LaunchError as error:
        print(error)
    code.unload()


def marks(device: Device) -> None:
    """Events enclose what is queued between them."""
    start = device.mark()
    device.hold(3_000_000)
    end = device.mark()
    assert end.nanoseconds_since(start) >= 3_000_000
    assert end.is_ahead(), "each call of this runtime returns when its work is done"


def main(code_object: Path) -> None:
    """All of it."""
    device = open_device("hip:0")
    assert device.properties.device == "hip:0"
    assert device.properties.limits.block == (1024, 1024, 64)
    self_test(device)
    recorded_addresses(device)
    listed_pages(device)
    counted_differences(device)
    a_launch(device, code_object)
    marks(device)
    device.close()
    for attempt in (lambda: open_device("hip:7"), lambda: device.load(Path(sys.executable).resolve())):
        try:
            attempt()
        except (DeviceUnavailable, LoadError) as error:
            print(error)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
