"""Verify and gc: damage is named, waste is freed, nothing else changes."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import msgspec
import pytest

from r3cc.errors import R3Error
from r3cc.store import Store
from r3cc.store.cache_use import CacheUse, alone
from r3cc.store.gc import collect, is_running, measure
from r3cc.store.verify import verify
from tests.conftest import SAXPY
from tests.store.pack_writer import PackWriter, add_recording, record


def pack_path(store: Store) -> Path:
    (path,) = store.recording_path(store.recording().id).glob("*.r3pack")
    return path


def everything(store: Store) -> bytes:
    """All that a store says about its latest recording, memory included."""
    kernels = store.kernels()
    launches = [launch for kernel in kernels for launch in store.launches(kernel)]
    memory = [
        (store.image(region.before, region.size).tobytes(), store.image(region.after, region.size).tobytes())
        for launch in launches
        for region in launch.regions
    ]
    bitcode = [store.bitcode(module.module) for module in store.modules()]
    return msgspec.msgpack.encode((kernels, launches, memory, bitcode, store.processes()))


def test_a_sound_store(small_store: Store) -> None:
    report = verify(small_store)
    assert report.sound
    assert report.packs[0].torn is None
    assert report.packs[0].documents == 6
    assert report.killed == ()


def test_a_torn_tail_is_reported_and_is_no_damage(small_store: Store) -> None:
    path = pack_path(small_store)
    tail = record(1, b"half a chunk")[:-3]
    path.write_bytes(path.read_bytes() + tail)
    report = verify(small_store)
    assert report.sound
    assert report.packs[0].torn is not None
    assert report.packs[0].torn.bytes == len(tail)


def test_records_behind_a_damaged_header_are_no_torn_tail(small_store: Store) -> None:
    path = pack_path(small_store)
    content = bytearray(path.read_bytes())
    content[content.index(b"R3PK", 1)] ^= 1
    path.write_bytes(content)
    report = verify(small_store)
    assert not report.sound
    assert report.packs[0].torn is None
    assert "hide what follows" in report.packs[0].damaged[0]
    with pytest.raises(R3Error, match="intact ones follow"):
        collect(small_store)
    assert path.read_bytes() == content


def test_a_damaged_chunk_is_named_with_the_launch_that_needs_it(small_store: Store) -> None:
    (launch,) = small_store.launches(small_store.find_kernel("saxpy"))
    key = small_store.chunk_keys(launch.regions[0].before, 1000)[0]
    path = pack_path(small_store)
    content = bytearray(path.read_bytes())
    content[content.index(key) + 16 + 8 + 5] ^= 1
    path.write_bytes(content)
    report = verify(small_store)
    assert not report.sound
    assert key.hex() in report.packs[0].damaged[0]
    assert report.missing[0].startswith(f"launch {launch.launch}: ")


def test_a_missing_chunk_is_named(small_store: Store) -> None:
    pack = PackWriter(small_store.recording_path(small_store.recording().id) / "x-1-1.r3pack")
    region = {"address": "0x1000", "size": 8, "before": "1" * 32, "after": "1" * 32}
    pack.launch(small_store.kernels()[0].module, SAXPY, regions=[region])
    report = verify(small_store)
    assert not report.sound
    assert "1" * 32 in report.missing[0]


def test_a_killed_process_is_named(small_store: Store) -> None:
    PackWriter(small_store.recording_path(small_store.recording().id) / "x-1-1.r3pack").process()
    assert verify(small_store).killed == ("x-1-1",)


def test_gc_frees_waste_and_nothing_else(small_store: Store) -> None:
    before = everything(small_store)
    path = pack_path(small_store)
    lean = path.stat().st_size
    pack = PackWriter(path)
    pack.chunk(os.urandom(5000))
    repeated = small_store.find_kernel("saxpy")
    shape = {"grid": [4, 1, 1], "block": [128, 1, 1], "shared": 0, "launches": 10, "total_ns": 3000}
    pack.kernel(repeated.module, SAXPY, total_ns=3000, shapes=[shape])
    path.write_bytes(path.read_bytes() + b"R3PK torn")
    (small_store.cache / "objects").mkdir(parents=True)
    (small_store.cache / "objects/one").write_bytes(b"12345")
    wasted = path.stat().st_size - lean

    assert measure(small_store) == collect(small_store)
    assert path.stat().st_size <= lean
    assert wasted > 5000
    assert everything(small_store) == before
    assert verify(small_store).sound
    assert not small_store.cache.exists()
    assert collect(small_store).packs == 0


def test_a_reader_stands_a_gc_behind_its_back(small_store: Store) -> None:
    path = pack_path(small_store)
    content = path.read_bytes()
    path.write_bytes(record(1, os.urandom(5000)) + content)
    with Store.open(small_store.path) as reader:
        (launch,) = reader.launches(reader.find_kernel("saxpy"))
        x, y = launch.regions
        assert (reader.image(x.before, x.size) == 1).all()
        assert collect(small_store).packs > 5000
        reader.kernels()
        assert (reader.image(y.before, y.size) == 2).all()


def test_gc_leaves_a_cache_alone_that_is_used(small_store: Store) -> None:
    small_store.cache.mkdir()
    use = CacheUse(small_store.cache)
    assert collect(small_store).cache_in_use
    assert small_store.cache.is_dir()
    use.close()
    assert not collect(small_store).cache_in_use
    assert not small_store.cache.exists()


def test_one_gc_at_a_time(small_store: Store) -> None:
    with alone(small_store.path / "gc") as only, pytest.raises(R3Error, match="another `r3 store gc`"):
        assert only
        collect(small_store)


def test_gc_leaves_a_running_recording_alone(small_store: Store) -> None:
    folder = add_recording(
        small_store.path, "20270102-030405-0000", exit_status=None, host=platform.node(), pid=os.getpid()
    )
    pack = PackWriter(folder / "p-1-1.r3pack")
    pack.chunk(b"about to be named")
    assert collect(small_store).running == ("20270102-030405-0000",)
    assert pack.size > 0


@pytest.mark.parametrize(("status", "pid", "running"), [(0, 1, False), (None, 1, True), (None, 2**22 + 1, False)])
def test_is_running(small_store: Store, status: int | None, pid: int, running: bool) -> None:
    recording = msgspec.structs.replace(small_store.recording(), exit_status=status, host=platform.node(), pid=pid)
    assert is_running(recording, small_store.processes()) == running
