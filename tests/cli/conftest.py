"""Runs the command line in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from r3cc.cli import r3

R3 = Callable[..., Result]


@pytest.fixture
def run_r3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> R3:
    """Call it with arguments; the working directory is ``tmp_path``."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, **environment: str) -> Result:
        return CliRunner().invoke(r3, arguments, env=environment, catch_exceptions=False, prog_name="r3")

    return call
