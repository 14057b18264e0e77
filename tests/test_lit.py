"""Runs each lit test (tests/lit) as one test of this suite, so that one command runs all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lit.Test
import pytest
from lit.LitTestCase import load_test_suite

LIT = Path(__file__).parent / "lit"
SUFFIXES = {".test", ".c", ".cpp", ".cu", ".hip", ".ll"}
NOT_TESTS = {"Inputs", "support", "Output"}


def lit_tests() -> list[str]:
    """Paths of the lit tests relative to their root, as lit itself selects them (lit.cfg.py)."""
    paths = (path.relative_to(LIT) for path in LIT.rglob("*") if path.suffix in SUFFIXES)
    return sorted(str(path) for path in paths if not NOT_TESTS & set(path.parts))


@pytest.fixture(scope="session")
def discovered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """lit's own tests by path, and its configuration; read once, for that takes longer than many a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("R3_LIT_OUTPUT", str(tmp_path_factory.mktemp("lit")))
        return {"/".join(case._test.path_in_suite): case for case in load_test_suite([str(LIT)])}


@pytest.mark.parametrize("name", lit_tests())
def test_lit(name: str, discovered: dict[str, Any]) -> None:
    test = discovered[name]._test
    result = test.config.test_format.execute(test, discovered[name]._lit_config)
    if result.code is lit.Test.UNSUPPORTED:
        pytest.skip(result.output)
    assert not result.code.isFailure, result.output
