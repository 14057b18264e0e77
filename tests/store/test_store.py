"""The store: opening, index, kernels, launches, memory."""

from __future__ import annotations

import json
import pickle
import shutil
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r3cc.errors import R3Error
from r3cc.store import Store, index
from r3cc.store.images import CHUNK_SIZE
from r3cc.store.pack import PackReader
from tests.conftest import REDUCE, SAXPY
from tests.store.pack_writer import PackWriter, add_recording


def test_create_writes_the_format_and_opens_again(tmp_path: Path) -> None:
    Store.create(tmp_path / "s").close()
    assert json.loads((tmp_path / "s/FORMAT").read_text()) == {"format": "r3-store", "version": 1}
    Store.create(tmp_path / "s").close()
    Store.open(tmp_path / "s").close()


def test_create_refuses_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(R3Error, match="neither empty nor a capture store"):
        Store.create(tmp_path)


def create(path: Path) -> str:
    with Store.create(path):
        return (path / "FORMAT").read_text()


def test_processes_that_create_at_once_agree(tmp_path: Path) -> None:
    for number in range(20):
        with ThreadPoolExecutor(8) as pool:
            assert len(set(pool.map(create, [tmp_path / str(number)] * 8))) == 1


def test_a_store_whose_maker_was_killed_is_made(tmp_path: Path) -> None:
    (tmp_path / f".FORMAT.{'0' * 16}").touch()
    assert json.loads(create(tmp_path))["version"] == 1


def test_open_refuses_what_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(R3Error, match="no capture store"):
        Store.open(tmp_path)


def test_open_refuses_a_newer_version_and_names_both(tmp_path: Path) -> None:
    (tmp_path / "FORMAT").write_text('{"format": "r3-store", "version": 7}')
    with pytest.raises(R3Error, match="version 7, this R3 reads up to 1"):
        Store.open(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", '{"version": 1}', "\xff", '{"format": "r3-store", "version": "x"}'])
def test_open_refuses_a_damaged_format(tmp_path: Path, content: str) -> None:
    (tmp_path / "FORMAT").write_text(content, encoding="latin-1")
    with pytest.raises(R3Error, match="damaged"):
        Store.open(tmp_path)


def test_an_empty_store_says_what_to_do(tmp_path: Path) -> None:
    with Store.create(tmp_path / "s") as store, pytest.raises(R3Error, match=r"is empty.*r3 record"):
        store.kernels()


def test_kernels_come_by_share_with_their_names(small_store: Store) -> None:
    saxpy, reduce = small_store.kernels()
    assert (saxpy.name, saxpy.demangled, saxpy.share) == (SAXPY, "saxpy(int, float, float*, float*)", 0.75)
    assert (reduce.name, reduce.recorded, reduce.not_recordable[0].reason) == (REDUCE, 0, "texture over an array")
    assert saxpy.device == "cpu"


def test_kernels_are_summed_over_processes(small_store: Store) -> None:
    module = small_store.kernels()[0].module
    other = PackWriter(small_store.recording_path("20260102-030405-abcd") / "node2-1-1.r3pack")
    other.process(host="node2", rank=1)
    shape = {"grid": [4, 1, 1], "block": [128, 1, 1], "shared": 0, "launches": 5, "total_ns": 500}
    other.kernel(module, SAXPY, launches=5, total_ns=500, timed=5, shapes=[shape])
    saxpy = small_store.find_kernel(SAXPY)
    assert (saxpy.launches, saxpy.total_ns, saxpy.timed, saxpy.recorded) == (15, 3500, 15, 2)
    assert [(s.launches, s.total_ns) for s in saxpy.shapes] == [(15, 3500)]
    assert [process.complete for process in small_store.processes()] == [True, False]


def test_the_median_of_processes_is_that_of_most_launches(small_store: Store) -> None:
    shape = {"grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "total_ns": 1}
    recording = small_store.recording_path(small_store.recording().id)
    for rank, (launches, median) in enumerate([(4, 900), (5, 100), (2, 0), (6, 110)]):
        pack = PackWriter(recording / f"node2-{rank}-1.r3pack")
        pack.process()
        times = {"launches": launches} | ({"median_ns": median} if median else {})
        pack.kernel("f" * 64, "_Z3newv", launches=launches, shapes=[shape | times])
    (found,) = small_store.find_kernel("_Z3newv").shapes
    assert (found.launches, found.median_ns) == (17, 110)


def test_a_kernel_on_two_devices_of_one_process_is_one_kernel(small_store: Store) -> None:
    module = small_store.kernels()[0].module
    pack = PackWriter(small_store.recording_path("20260102-030405-abcd") / "node2-1-1.r3pack")
    pack.process(device="cuda:0")
    for device in ("cuda:0", "cuda:1", "cuda:1"):
        pack.kernel(module, "_Z4fluxv", device=device, launches=7)
    flux = small_store.find_kernel("flux")
    assert (flux.launches, flux.device) == (14, "cuda:0")


def test_the_last_document_of_a_kernel_counts(small_store: Store) -> None:
    module = small_store.kernels()[0].module
    pack = PackWriter(small_store.recording_path("20260102-030405-abcd") / "node1-4242-1.r3pack")
    pack.kernel(module, SAXPY, launches=99)
    assert small_store.find_kernel(SAXPY).launches == 99


@pytest.mark.parametrize("given_name", [SAXPY, "saxpy(int, float, float*, float*)", "saxpy", "axp"])
def test_a_kernel_is_found_by_what_people_call_it(small_store: Store, given_name: str) -> None:
    kernel = small_store.find_kernel(given_name)
    assert kernel.name == SAXPY
    assert small_store.find_kernel(kernel.id) == kernel


def test_an_ambiguous_name_lists_the_kernels(small_store: Store) -> None:
    with pytest.raises(R3Error, match=r"names 2 kernels.*saxpy.*reduce"):
        small_store.find_kernel("_Z")


def test_an_unknown_name_lists_the_kernels(small_store: Store) -> None:
    with pytest.raises(R3Error, match=r"no kernel is called 'gemm'.*saxpy"):
        small_store.find_kernel("gemm")


def test_launches_and_their_memory(small_store: Store) -> None:
    (launch,) = small_store.launches(small_store.find_kernel("saxpy"))
    assert (launch.grid, launch.block, launch.arguments) == ((4, 1, 1), (128, 1, 1), b"\x0a\0\0\0")
    x, y = launch.regions
    assert (x.address, x.before == x.after) == (0x600000000000, True)
    assert (small_store.image(x.before, x.size) == 1).all()
    after = small_store.image(y.after, y.size)
    assert (after[:262_144] == 2).all()
    assert (after[262_144:] == 3).all()
    before, changed = small_store.chunk_keys(y.before, y.size), small_store.chunk_keys(y.after, y.size)
    assert [a == b for a, b in zip(before, changed, strict=True)] == [True, False]
    assert small_store.launch(launch.launch) == launch


@given(
    st.lists(st.tuples(st.sampled_from([b"\0", b"\1", b"ab"]), st.integers(0, 300_000)), max_size=4),
)
@settings(max_examples=20, deadline=None)
def test_memory_images_round_trip(tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[bytes, int]]) -> None:
    content = b"".join(pattern * length for pattern, length in runs)
    with Store.create(tmp_path_factory.mktemp("image") / "s") as store:
        pack = PackWriter(add_recording(store.path) / "p-1-1.r3pack")
        key = pack.image(content)
        store.recordings()
        store.kernels()
        assert store.image(key, len(content)).tobytes() == content
        out = np.zeros(len(content), np.uint8)
        if content:
            store.read_part(key, len(content), 0, out)
        assert out.tobytes() == content


@pytest.mark.parametrize("batch", [1, 2, 1000], ids=["single", "pairs", "one thread"])
def test_parts_of_an_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr("r3cc.store.images.BATCH", batch)
    content = np.random.default_rng(1).integers(0, 256, 5 * CHUNK_SIZE + 1001, np.uint8)
    content[CHUNK_SIZE : 2 * CHUNK_SIZE] = 0
    with Store.create(tmp_path / "s") as store:
        key = PackWriter(add_recording(tmp_path / "s") / "node1-1-1.r3pack").image(content.tobytes())
        for start, length in (
            (0, len(content)),
            (7, 1),
            (CHUNK_SIZE - 3, 2 * CHUNK_SIZE),
            (5 * CHUNK_SIZE, 1001),
            (9, 0),
        ):
            part = store.part(key, len(content), start, length)
            assert part.tobytes() == content[start : start + length].tobytes()
        assert not store.part("0" * 32, 300_000, 1000, 290_000).any()


@pytest.mark.parametrize("harm", ["flipped", "missing"])
def test_a_large_part_with_a_bad_chunk_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    monkeypatch.setattr("r3cc.store.images.BATCH", 2)
    content = np.random.default_rng(1).integers(0, 256, 7 * CHUNK_SIZE, np.uint8)
    with Store.create(tmp_path / "s") as store:
        pack = PackWriter(add_recording(store.path) / "node1-1-1.r3pack")
        first = pack.size
        key = pack.image(content.tobytes())
        if harm == "flipped":
            damage(pack.path, first + 40 + CHUNK_SIZE // 2)
            words = "does not have its key"
        else:
            keys = store.chunk_keys(key, len(content))
            key = pack.chunk(b"".join([*keys[:4], b"\1" * 16, *keys[5:]]))
            words = "is in none of the store's packs"
        with pytest.raises(R3Error, match=words):
            store.part(key, len(content), 0, len(content))


def test_a_chunk_damaged_in_one_pack_is_read_from_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("r3cc.store.images.BATCH", 2)
    content = np.random.default_rng(1).integers(0, 256, 7 * CHUNK_SIZE, np.uint8)
    with Store.create(tmp_path / "s") as store:
        folder = add_recording(store.path)
        packs = [PackWriter(folder / f"node1-{number}-1.r3pack") for number in (1, 2)]
        keys = {pack.image(content.tobytes()) for pack in packs}
        for number, pack in enumerate(packs):  # each has another chunk damaged, so that neither is whole
            damage(pack.path, number * 3 * (40 + CHUNK_SIZE) + 1000)
        (key,) = keys
        assert store.part(key, len(content), 0, len(content)).tobytes() == content.tobytes()


def damage(path: Path, offset: int) -> None:
    """Flip a bit."""
    with path.open("r+b") as file:
        file.seek(offset)
        (byte,) = file.read(1)
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


def test_an_image_named_by_the_zero_key_is_zero(small_store: Store) -> None:
    assert not small_store.image("0" * 32, 300_000).any()


def test_a_missing_chunk_is_a_sentence(small_store: Store) -> None:
    with pytest.raises(R3Error, match="is in none of the store's packs"):
        small_store.blob("1" * 32)


def test_bitcode(small_store: Store) -> None:
    kernel = small_store.find_kernel("saxpy")
    assert small_store.bitcode(kernel.module) == b"BC\xc0\xde bitcode"


def test_a_foreign_module_has_no_bitcode(small_store: Store) -> None:
    pack = PackWriter(small_store.recording_path("20260102-030405-abcd") / "lib-1-1.r3pack")
    pack.document("module", module="f" * 64, bitcode=None, info={}, binary="libx.so", image=pack.chunk(b"cubin"))
    with pytest.raises(R3Error, match="r3-clang"):
        small_store.bitcode("f" * 64)


def test_the_index_is_made_again(small_store: Store) -> None:
    before = small_store.kernels()
    path = small_store.path
    small_store.close()
    (path / "index.sqlite").unlink()
    with Store.open(path) as again:
        assert again.kernels() == before


def test_a_damaged_index_is_made_again(small_store: Store) -> None:
    before = small_store.kernels()
    path = small_store.path
    small_store.close()
    (path / "index.sqlite").write_bytes(b"not a database at all" * 100)
    with Store.open(path) as again:
        assert again.kernels() == before


def test_a_pack_that_grows_is_read_further(small_store: Store) -> None:
    assert len(small_store.launches(small_store.find_kernel("saxpy"))) == 1
    pack = PackWriter(small_store.recording_path("20260102-030405-abcd") / "node1-4242-1.r3pack")
    pack.launch(small_store.find_kernel("saxpy").module, SAXPY, 1)
    assert len(small_store.launches(small_store.find_kernel("saxpy"))) == 2


def test_a_torn_tail_is_dropped_and_read_once_it_is_whole(small_store: Store) -> None:
    pack = PackWriter(small_store.recording_path("20260102-030405-abcd") / "node1-4242-1.r3pack")
    start = pack.size
    pack.launch(small_store.find_kernel("saxpy").module, SAXPY, 1)
    whole = pack.path.read_bytes()
    pack.path.write_bytes(whole[: start + 50])
    assert len(small_store.launches(small_store.find_kernel("saxpy"))) == 1
    with pack.path.open("ab") as file:
        file.write(whole[start + 50 :])
    assert len(small_store.launches(small_store.find_kernel("saxpy"))) == 2


def test_a_pack_that_is_gone_is_forgotten(small_store: Store) -> None:
    assert small_store.kernels()
    for pack in small_store.recording_path("20260102-030405-abcd").glob("*.r3pack"):
        pack.unlink()
    assert small_store.kernels() == []


def test_a_recording_that_is_removed_while_it_is_listed(small_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = small_store.recording_path("20260102-030405-abcd")
    kept = PackWriter(add_recording(small_store.path, "20270102-030405-0000") / "p-1-1.r3pack")
    kept.process()

    def removed_first(path: Path) -> PackReader:
        shutil.rmtree(folder, ignore_errors=True)
        return PackReader(path)

    monkeypatch.setattr(index, "PackReader", removed_first)
    assert [process.pack for process in small_store.processes()] == ["p-1-1"]
    assert not folder.exists()
    assert [recording.id for recording in small_store.recordings()] == ["20270102-030405-0000"]


def test_the_latest_recording_is_the_default(small_store: Store) -> None:
    PackWriter(add_recording(small_store.path, "20270102-030405-0000") / "p-1-1.r3pack").process()
    assert small_store.recording().id == "20270102-030405-0000"
    assert small_store.kernels() == []
    assert len(small_store.kernels("abcd")) == 2
    with pytest.raises(R3Error, match="names several recordings"):
        small_store.recording("030405")


def count_kernels(path: Path) -> int:
    with Store.open(path) as store:
        return len(store.kernels())


def test_processes_that_read_at_once_agree(small_store: Store) -> None:
    (small_store.path / "index.sqlite").unlink()
    with ProcessPoolExecutor(3, get_context("spawn")) as pool:
        assert list(pool.map(count_kernels, [small_store.path] * 6)) == [2] * 6


def test_a_store_can_be_sent_to_another_process(small_store: Store) -> None:
    with pickle.loads(pickle.dumps(small_store)) as copy:
        assert copy.kernels() == small_store.kernels()


def test_a_malformed_document_is_a_sentence(small_store: Store) -> None:
    pack = PackWriter(small_store.recording_path("20260102-030405-abcd") / "x-1-1.r3pack")
    pack.launch(
        small_store.kernels()[0].module, SAXPY, 1, regions=[{"address": 5, "size": 1, "before": "", "after": ""}]
    )
    with pytest.raises(R3Error, match="launch document 'x-1-1/1' is malformed"):
        small_store.launches(small_store.find_kernel("saxpy"))
