"""Counts of a kernel are written in the order in which they were taken, also while the queue is full."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from r3cc.store.pack import PackReader, Record, RecordType
from r3cc.toolchain.native import prefixes

CORE = Path(__file__).parents[2] / "record_runtime/core"
HEADERS = [Path("/usr/include") / name for name in ("zstd.h", "xxhash.h", "nlohmann/json.hpp")]
PARTS = (
    *("capture", "counts", "documents", "log", "pack", "parallel", "plan"),
    *("ranks", "reach", "recorder", "scalar_classes"),
)
THREADS, LAUNCHES = 8, 40

pytestmark = pytest.mark.skipif(
    shutil.which("g++") is None or not all(header.exists() for header in HEADERS),
    reason="needs g++ and the headers of zstd, xxhash and nlohmann-json",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("order") / "count_order"
    archive = next(prefixes()) / "record_runtime/core/libr3core.a"  # where the prefix is a build tree
    core = [archive] if archive.is_file() else [CORE / f"source/{part}.cpp" for part in PARTS]
    sources = [Path(__file__).parent / "inputs/count_order.cpp", *core]
    includes = [f"-I{CORE / 'source'}", f"-I{CORE / 'include'}"]
    subprocess.run(["g++", "-std=c++17", "-O1", *includes, *sources, "-o", built, "-lzstd", "-pthread"], check=True)
    return built


def counts_in(folder: Path) -> list[dict[str, int]]:
    (pack,) = folder.glob("*.r3pack")
    reader = PackReader(pack)
    documents = [
        json.loads(reader.content(record))
        for record in reader.scan()
        if isinstance(record, Record) and record.type is RecordType.DOCUMENT
    ]
    reader.close()
    return [document for document in documents if document["kind"] == "kernel"]


def test_no_older_count_follows_a_newer_one(program: Path, tmp_path: Path) -> None:
    subprocess.run([program, tmp_path, str(THREADS), str(LAUNCHES), "0"], check=True, timeout=120)
    counts = [document["launches"] for document in counts_in(tmp_path)]
    assert len(counts) > LAUNCHES
    assert counts == sorted(counts)
    assert counts[-1] == THREADS * LAUNCHES


def test_a_launch_that_takes_longer_to_record_than_counts_wait_is_counted(program: Path, tmp_path: Path) -> None:
    subprocess.run([program, tmp_path, "1", "1", "1300"], check=True, timeout=120)
    last = counts_in(tmp_path)[-1]
    assert (last["launches"], last["recorded"]) == (1, 1)
