"""Work of a snapshot on several threads, looked over by ThreadSanitizer."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "record_runtime/core/source"


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("sanitiser", ["thread", "address"])
def test_each_piece_of_work_is_done_once_and_errors_come_back(tmp_path: Path, sanitiser: str) -> None:
    program = tmp_path / "in_parallel"
    sources = [Path(__file__).parent / "inputs/in_parallel.cpp", CORE / "parallel.cpp"]
    flags = ["-std=c++17", "-O1", "-g", f"-fsanitize={sanitiser}", f"-I{CORE}", "-pthread"]
    built = subprocess.run(["g++", *flags, *sources, "-o", program], capture_output=True, text=True, check=False)
    if "cannot find" in built.stderr:
        pytest.skip(f"needs g++'s {sanitiser} sanitiser")
    assert built.returncode == 0, built.stderr
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (0, "fifty\n"), done.stdout + done.stderr
