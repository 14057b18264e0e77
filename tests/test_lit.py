"""Runs each lit test (tests/lit) as one test of this suite, so that one command runs all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LIT = Path(__file__).parent / "lit"
SUFFIXES = {".test", ".c", ".cpp", ".cu", ".hip", ".ll"}
NOT_TESTS = {"Inputs", "support", "Output"}


def lit_tests() -> list[str]:
    """Paths of the lit tests relative to their root, as lit itself selects them (lit.cfg.py)."""
    paths = (path.relative_to(LIT) for path in LIT.rglob("*") if path.suffix in SUFFIXES)
    return sorted(str(path) for path in paths if not NOT_TESTS & set(path.parts))


@pytest.mark.parametrize("name", lit_tests())
def test_lit(name: str, tmp_path: Path) -> None:
    environment = os.environ | {"R3_LIT_OUTPUT": str(tmp_path)}
    lit = subprocess.run(
        [sys.executable, "-c", "from lit.main import main; main()", "-v", "--no-progress-bar", str(LIT / name)],
        env=environment,
        capture_output=True,
        text=True,
    )
    if "UNSUPPORTED: " in lit.stdout:
        pytest.skip(next(line for line in lit.stdout.splitlines() if line.startswith("UNSUPPORTED: ")))
    assert lit.returncode == 0, lit.stdout + lit.stderr
