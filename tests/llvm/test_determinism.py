from __future__ import annotations

import pytest

from tests.llvm.compiler import baseline, compile_one
from tests.llvm.conftest import Capture


@pytest.mark.parametrize("source", ["saxpy.cu", "device_state.cu", "device_math.cu"])
def test_twenty_fresh_processes_make_one_code(pipeline_start: Capture, source: str) -> None:
    bitcode = pipeline_start(source, 3)
    made = [compile_one(bitcode, baseline(3)) for _ in range(20)]
    assert len({result.output_hash for result in made}) == 1
    assert len({result.ir_hash for result in made}) == 1


def test_globals_stand_in_source_order(pipeline_start: Capture) -> None:
    ptx = compile_one(pipeline_start("device_state.cu", 3), baseline(3)).output.decode()
    assert "llvm.compiler.used" not in ptx
    assert ptx.index(" coefficients[") < ptx.index(" counter") < ptx.index(" where") < ptx.index("permutation[")
    # What an initialiser names comes first: ptxas takes no forward references.
    assert ptx.index("_ZL5table[") < ptx.index(" where")
