from __future__ import annotations

from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.llvm import AssembleError, AssembleTimeoutError, CompileRequest, assemble, recorded_ptxas_flags
from tests.llvm.compiler import baseline, compile_one
from tests.llvm.conftest import Capture


def test_resources_by_kernel(pipeline_start: Capture, ptxas: Path) -> None:
    made = assemble(compile_one(pipeline_start("reduction.cu", 3), baseline(3)).output, ptxas, "sm_90")
    assert made.cubin[:4] == b"\x7fELF"
    reduce, tile = made.resources["_Z6reducePKdPdi"], made.resources["_Z7stencilILi32EEvPKfPfii"]
    assert reduce.shared == 2048 and tile.shared >= 34 * 34 * 4
    assert reduce.registers > 0 and reduce.spill_stores == reduce.spill_loads == 0
    assert tile.stack > 0  # printf's arguments


def test_refused_ptx(ptxas: Path) -> None:
    with pytest.raises(AssembleError, match="ptxas failed"):
        assemble(b".version 8.8\n.target sm_90\nnonsense", ptxas, "sm_90")


def test_a_missing_program(tmp_path: Path) -> None:
    with pytest.raises(AssembleError, match="cannot run"):
        assemble(b"", tmp_path / "ptxas", "sm_90")


def test_a_deadline(tmp_path: Path) -> None:
    slow = tmp_path / "ptxas"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    with pytest.raises(AssembleTimeoutError, match=r"0\.2 s"):
        assemble(b"", slow, "sm_90", timeout_s=0.2)


def test_the_drivers_flags() -> None:
    assert recorded_ptxas_flags({"ptxas": ["-O2", "--maxrregcount=32"]}) == ("-O2", "--maxrregcount=32")


def test_recorded_facts_that_lack_something() -> None:
    with pytest.raises(R3Error, match="lack codegen_level, cpu"):
        CompileRequest.from_recorded({"pipeline": "default<O3>"})
