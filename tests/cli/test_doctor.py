"""``r3 doctor``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from r3cc.cli import doctor
from r3cc.toolchain.diagnosis import APT_LLVM, Finding, Need, diagnose
from r3cc.toolchain.tool import Tool
from tests.cli.conftest import R3

CLANG = Tool("clang", Path("/usr/bin/clang-22"), "22.1.8", "PATH")
GOOD = Finding("clang", "compiles", Need.BUILD, CLANG)
NO_ROCM = Finding("rocm", "HIP", Need.OPTIONAL, None, "not found", "apt-get install rocm")
NO_CLANG = Finding("clang", "compiles", Need.BUILD, None, "not found", APT_LLVM)


def test_this_machine_is_described(run_r3: R3) -> None:
    document = json.loads(run_r3("doctor", "--json").stdout)
    tools = {tool["name"]: tool for tool in document["tools"]}
    assert list(tools) == [finding.name for finding in diagnose()]
    for tool in tools.values():
        assert (tool["path"] is None) <= bool(tool["problem"])
        assert bool(tool["problem"]) == bool(tool["remedy"])


@pytest.mark.parametrize(
    ("findings", "status", "verdict"),
    [([GOOD, NO_ROCM], 0, "builds with R3 work"), ([NO_CLANG, NO_ROCM], 1, "builds with R3 cannot work")],
)
def test_the_exit_status_says_whether_a_build_can_work(
    run_r3: R3, monkeypatch: pytest.MonkeyPatch, findings: list[Finding], status: int, verdict: str
) -> None:
    monkeypatch.setattr(doctor, "diagnose", lambda: findings)
    result = run_r3("doctor")
    assert result.exit_code == status
    assert verdict in result.stderr
    assert "rocm (optional): not found; `apt-get install rocm`" in result.stderr
    assert run_r3("doctor", "--json").exit_code == status


def test_what_is_missing_comes_with_one_command(run_r3: R3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "diagnose", lambda: [NO_CLANG])
    assert f"clang (needed): not found; `{APT_LLVM}`" in run_r3("doctor").stderr
