from __future__ import annotations

from tests.llvm.compiler import Compiler, baseline, compile_one
from tests.llvm.conftest import Capture


def test_twenty_processes_make_one_code(pipeline_start: Capture) -> None:
    """Each is started anew: addresses, which a copied process shares with the others, differ."""
    bitcode = pipeline_start("all.cu", 3)
    hashes = set()
    for _ in range(20):
        with Compiler() as compiler:
            (made,) = compiler.compile_each(bitcode, [baseline(3)])
        hashes.add((made.output_hash, made.ir_hash))
    assert len(hashes) == 1


def test_globals_stand_in_source_order(pipeline_start: Capture) -> None:
    ptx = compile_one(pipeline_start("device_state.cu", 3), baseline(3)).output.decode()
    assert "llvm.compiler.used" not in ptx
    assert ptx.index(" coefficients[") < ptx.index(" counter") < ptx.index(" where") < ptx.index("permutation[")
    # What an initialiser names comes first: ptxas takes no forward references.
    assert ptx.index("_ZL5table[") < ptx.index(" where")
