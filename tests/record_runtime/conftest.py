"""A recorder, a fake driver, and programs to record on it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_library
from tests.once import once
from tests.record_runtime import build_programs
from tests.record_runtime.bench import Bench
from tests.record_runtime.build_programs import Programs


@pytest.fixture(scope="session")
def recorder() -> Path:
    try:
        return native_library("libr3record.so")
    except R3Error as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def programs(shared: Path) -> Programs:
    cuda = find_cuda()
    if cuda is None or not shutil.which("g++"):
        pytest.skip("needs cuda.h and g++")
    include = cuda.path / "include"
    folder = once(shared / "recorded-programs", lambda path: build_programs.build(path, include))
    return build_programs.programs_in(folder)


@pytest.fixture
def bench(recorder: Path, programs: Programs, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(recorder, programs, tmp_path)
    yield made
    for store in made.stores:
        store.close()
