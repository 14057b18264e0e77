import numpy as np
import pytest

from r3cc.devices import open_device
from r3cc.devices.base import PAGE, Arguments, Geometry, LaunchError, LoadError, Range
from r3cc.farm.device_worker import self_test
from r3cc.replay.compile import CodeRequest, Compiler
from r3cc.replay.targets import open_target
from tests.replay.modules import compile_setup
from tests.replay.sources import FAULTY, STATE

pytestmark = pytest.mark.gpu
BASE = 0x440000000000


@pytest.fixture
def device():
    opened = open_device("cuda:0")
    yield opened
    opened.close()


def compiled(folder, device, source, kernel):
    setup = compile_setup(folder, source, kernel, "cuda:0", device.properties.architecture)
    made = Compiler(setup, open_target(setup)).compile(CodeRequest())
    assert made.path is not None, made.message
    return made.path


def test_the_device_says_what_it_is_and_passes_its_self_test(device):
    found = device.properties
    assert found.architecture.startswith("sm_") and found.memory > 1 << 30 and found.l2 > 0
    assert found.limits.threads == 1024 and found.limits.grid[0] == 2**31 - 1
    self_test(device)


def test_memory_lies_at_the_recorded_address_and_nowhere_else(device):
    granule = device.granule
    device.reserve([Range(BASE, 8 * granule)])
    device.map([Range(BASE, granule), Range(BASE + 4 * granule, 2 * granule)])
    data = np.arange(granule, dtype=np.uint64).view(np.uint8)[:granule].copy()
    device.upload(BASE, data)
    device.upload(BASE + 4 * granule, data)
    assert device.download(BASE, granule) == data.tobytes()
    assert device.differences(BASE, BASE + 4 * granule, granule) == []
    device.fill(BASE + 4 * granule + 3 * PAGE + 5, 0xEE, 1)
    assert device.differences(BASE, BASE + 4 * granule, granule) == [Range(3 * PAGE, PAGE)]
    device.map([Range(BASE + 4 * granule, 2 * granule)])  # keeps its content
    assert device.download(BASE + 4 * granule, 8) == data[:8].tobytes()


@pytest.mark.parametrize("offset", [0, 4, 16])
@pytest.mark.parametrize("size", [1, 15, 16, PAGE, PAGE + 1, 3 * PAGE + 100])
def test_differences_agree_with_the_host(device, size, offset):
    draw = np.random.default_rng(size + offset)
    left, right = device.allocate(size + 64), device.allocate(size + 64)
    data = draw.integers(0, 256, size, np.uint8)
    device.upload(left + offset, data)
    device.upload(right, data)
    assert device.differences(left + offset, right, size) == []
    data[size - 1] ^= 1
    device.upload(right, data)
    page = (size - 1) // PAGE * PAGE
    assert device.differences(left + offset, right, size) == [Range(page, size - page)]
    device.release(left)
    device.release(right)


@pytest.mark.parametrize("offset", [0, 4, 16])
@pytest.mark.parametrize("size", [1, 15, 16, 33, PAGE + 1, 20_000 * PAGE + 100])
def test_bytes_that_differ_are_counted(device, size, offset):
    draw = np.random.default_rng(size + offset)
    left, right = device.allocate(size + 64), device.allocate(size + 64)
    data = draw.integers(0, 256, size, np.uint8)
    other = np.where(draw.random(size) < 0.3, data ^ draw.integers(0, 256, size, np.uint8), data)
    device.upload(left + offset, data)
    device.upload(right, other)
    assert device.count_differences(left + offset, right, size) == np.count_nonzero(data != other)
    device.upload(right, data)
    assert device.count_differences(left + offset, right, size) == 0
    device.release(left)
    device.release(right)


def test_much_is_uploaded_from_memory_that_is_kept(device):
    size = 80 << 20
    address = device.allocate(2 * size)
    memory = device.staging(size)
    for half in range(2):  # the second upload overwrites what the first one came from
        assert device.staging(size).ctypes.data == memory.ctypes.data
        memory[:] = 17 + half
        device.upload(address + half * size, memory)
    memory[:] = 0
    content = device.download(address, 2 * size)
    assert content == bytes([17]) * size + bytes([18]) * size
    assert len(device.staging(2 * size)) == 2 * size
    assert len(device.staging(100)) == 100
    device.release(address)


@pytest.mark.parametrize("offset", [0, 4])
@pytest.mark.parametrize("size", [40 * PAGE, 40 * PAGE - 100])
def test_listed_pages_are_copied_and_no_others(device, size, offset):
    draw = np.random.default_rng(size)
    data = draw.integers(0, 256, size, np.uint8)
    numbers = np.sort(draw.permutation(40)[:25]).astype(np.uint32)
    numbers[-1] = 39
    source, target, pages = device.allocate(size), device.allocate(size + 64), device.allocate(numbers.nbytes)
    device.upload(source, data)
    device.upload(pages, numbers.view(np.uint8))
    device.fill(target, 0, size + 64)
    device.copy_pages(target + offset, source, size, Range(pages, numbers.nbytes))
    expected = np.zeros(size, np.uint8)
    for page in numbers:
        expected[page * PAGE :][:PAGE] = data[page * PAGE :][:PAGE]
    assert device.download(target + offset, size) == expected.tobytes()


def test_a_list_of_more_pages_than_run_at_once(device):
    numbers = np.arange(0, 20000, 2, dtype=np.uint32)
    size = 20000 * PAGE
    source, target, pages = device.allocate(size), device.allocate(size), device.allocate(numbers.nbytes)
    device.upload(pages, numbers.view(np.uint8))
    device.fill(source, 1, size)
    device.fill(target, 0, size)
    device.copy_pages(target, source, size, Range(pages, numbers.nbytes))
    found = np.frombuffer(device.download(target, size), np.uint8).reshape(-1, PAGE)
    assert found[::2].all() and not found[1::2].any()


def test_what_marks_cost_is_measured_once(device):
    assert 0.0 < device.mark_overhead_ns < 1e6
    assert device.mark_overhead_ns == device.mark_overhead_ns


def test_a_mark_is_ahead_until_the_device_reaches_it(device):
    device.hold(50_000_000)
    mark = device.mark()
    assert mark.is_ahead()
    device.synchronise()
    assert not mark.is_ahead()


def test_internal_and_constant_globals_are_found_and_kept(device, tmp_path):
    code = device.load(compiled(tmp_path, device, STATE, "read_state"))
    state, factor = code.global_range("_ZL5state"), code.global_range("factor")
    assert (state.size, factor.size) == (64 * 8, 16)
    device.upload(state.address, np.arange(64.0).view(np.uint8))
    device.upload(factor.address, np.array([0.0, 0.5]).view(np.uint8))
    out = device.allocate(64 * 8)
    arguments = Arguments(np.array([out], np.uint64).tobytes(), ((0, 8),))
    code.function("read_state").launch(Geometry((1, 1, 1), (64, 1, 1), 0), arguments)
    assert np.array_equal(np.frombuffer(device.download(out, 512)), np.arange(64.0) / 2)
    assert code.global_range("nothing") is None
    code.unload()


def test_refusals_have_their_class(device, tmp_path):
    junk = tmp_path / "junk"
    junk.write_bytes(b"\x7fELF" + bytes(100))
    with pytest.raises(LoadError):
        device.load(junk)
    code = device.load(compiled(tmp_path, device, FAULTY, "scale"))
    arguments = Arguments(bytes(20), ((0, 8), (8, 8), (16, 4)))
    with pytest.raises(LaunchError):
        code.function("nothing")
    with pytest.raises(LaunchError):
        code.function("scale").launch(Geometry((1, 1, 1), (2048, 1, 1), 0), arguments)
    assert code.function("scale").resources["registers"] > 0


def test_marks_measure_what_runs_between_them(device):
    start = device.mark()
    device.hold(2_000_000)
    end = device.mark()
    device.synchronise()
    assert end.nanoseconds_since(start) > 1.9e6
