"""Builds each example once for all tests, and records it once per kind of device."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_program
from tests.examples.programs import Example, compile_example, r3
from tests.once import once


@pytest.fixture(scope="session")
def cuda() -> Path:
    """The CUDA tree."""
    found = find_cuda()
    assert found is not None, "no CUDA tree; `r3 doctor` says what brings one"
    return found.path


@pytest.fixture(scope="session")
def build(shared: Path, cuda: Path) -> Callable[[Example], Path]:
    """Builds an example by r3-clang++ once; returns the program."""

    def build_once(example: Example) -> Path:
        program = shared / "examples" / example.name

        def make(path: Path) -> None:
            compile_example(native_program("r3-clang++"), cuda, example, path)

        return once(program, make)

    return build_once


@pytest.fixture(scope="session")
def record(shared: Path, build: Callable[[Example], Path]) -> Callable[[Example, str], Path]:
    """Records an example on a device once; returns the capture store."""

    def record_once(example: Example, device: str) -> Path:
        program = build(example)

        def make(path: Path) -> None:
            done = r3("record", "--device", device, "--", str(program), *example.arguments, store=path)
            assert done.returncode == 0, done.stdout + done.stderr
            assert "passed" in done.stdout

        return once(shared / "examples" / device.replace(":", "") / example.name / "r3-store", make)

    return record_once


@pytest.fixture
def own_store(record: Callable[[Example, str], Path], tmp_path: Path) -> Callable[[Example, str], Path]:
    """A copy of a recording for a test that writes into the store."""

    def copy(example: Example, device: str) -> Path:
        return Path(shutil.copytree(record(example, device), tmp_path / "r3-store"))

    return copy
