"""The recorder's writer (C++) against this reader: what one writes, the other reads, however the program ends."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from r3cc.store import Store
from r3cc.store.images import CHUNK_SIZE
from r3cc.store.pack import PackReader, Record, RecordType, Torn
from tests.store.pack_writer import add_recording

CORE = Path(__file__).parents[2] / "record_runtime/core"
HEADERS = [Path("/usr/include/zstd.h"), Path("/usr/include/xxhash.h")]
UNLIMITED = 1 << 60

pytestmark = pytest.mark.skipif(
    shutil.which("g++") is None or not all(header.exists() for header in HEADERS),
    reason="needs g++ and the headers of zstd and xxhash",
)


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("writer") / "write_pack"
    sources = [Path(__file__).parent / "inputs/write_pack.cpp", CORE / "source/pack.cpp", CORE / "source/log.cpp"]
    includes = [f"-I{CORE / 'source'}", f"-I{CORE / 'include'}"]
    subprocess.run(
        ["g++", "-std=c++17", "-O1", *includes, *sources, "-o", program, "-lzstd", "-pthread", "-ldl"], check=True
    )
    return program


def write(writer: Path, store: Store, quota: int, count: int, *more: str) -> Path:
    pack = add_recording(store.path) / "node1-1-1.r3pack"
    subprocess.run([writer, pack, str(quota), str(count), *more], check=False, capture_output=True)
    return pack


def documents(pack: Path) -> list[dict[str, str]]:
    reader = PackReader(pack)
    return [
        json.loads(reader.content(record))
        for record in reader.scan()
        if isinstance(record, Record) and record.type is RecordType.DOCUMENT
    ]


def check_images(store: Store, pack: Path) -> int:
    """Read the memory of every launch in a pack; gives their number."""
    launches = [document for document in documents(pack) if document["kind"] == "launch"]
    store.modules()
    for document in launches:
        count = int(document["launch"]) + 1
        image = store.image(document["image"], count * CHUNK_SIZE)
        for index in range(count):
            assert bool(image[index * CHUNK_SIZE : (index + 1) * CHUNK_SIZE].any()) == bool(index % 2)
    return len(launches)


def test_everything_is_read(writer: Path, tmp_path: Path) -> None:
    with Store.create(tmp_path / "store") as store:
        pack = write(writer, store, UNLIMITED, 8)
        assert [document["kind"] for document in documents(pack)] == ["process", *["launch"] * 8, "end"]
        assert not any(isinstance(entry, Torn) for entry in PackReader(pack).scan())
        assert check_images(store, pack) == 8


def test_a_killed_writer_leaves_whole_launches(writer: Path, tmp_path: Path) -> None:
    with Store.create(tmp_path / "store") as store:
        pack = write(writer, store, UNLIMITED, 20, "kill")
        assert check_images(store, pack) <= 11
        assert "end" not in [document["kind"] for document in documents(pack)]


def test_a_quota_keeps_what_was_whole(writer: Path, tmp_path: Path) -> None:
    with Store.create(tmp_path / "store") as store:
        pack = write(writer, store, 2_000_000, 8)
        assert 0 < check_images(store, pack) < 8
        assert documents(pack)[-1]["kind"] == "end"


def test_a_chunk_that_there_was_no_memory_for_is_stored_when_it_comes_again(writer: Path, tmp_path: Path) -> None:
    with Store.create(tmp_path / "store") as store:
        assert check_images(store, write(writer, store, UNLIMITED, 4, "refuse")) == 4
