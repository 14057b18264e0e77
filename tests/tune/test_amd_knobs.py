"""Every knob of AMD's space changes a code object, by the way that every candidate takes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.farm.compile_pool import CompilePool
from r3cc.llvm import Passes
from r3cc.replay.codegen import bad_codegen
from r3cc.replay.compile import CodeObject, CodeRequest, CompileSetup
from r3cc.replay.model import Status
from r3cc.toolchain.llvm import require_clang
from r3cc.tune.amd_knobs import AMD_KERNEL_KNOBS, AMD_MODULE_KNOBS
from r3cc.tune.knobs import Knob

SOURCE = Path(__file__).parents[1] / "llvm/inputs/amd_kernels.hip"
KERNELS = ("_Z4tilePKfS0_Pfi", "_Z6forcesPKfS0_S0_Pfi", "_Z11polynomialsPKfPf")
OWN = [knob for knob in (*AMD_KERNEL_KNOBS, *AMD_MODULE_KNOBS) if knob.gpu_only]
CODEGEN = {
    "pipeline": "default<O3>",
    "opt_level": 3,
    "codegen_level": 3,
    "fp_contract": "on",
    "features": "",
    "cpu": "gfx90a",
    "vectorize_loops": True,
    "vectorize_slp": True,
    "unroll_loops": True,
    "mllvm": [],
    "ptxas": [],
}


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[CompilePool]]:
    try:
        Passes()
    except R3Error as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("amd")
    bitcode = folder / "kernels.bc"
    flags = ["-x", "hip", "--cuda-device-only", "--offload-arch=gfx90a", "-nogpuinc", "-nogpulib", "-O3", "-emit-llvm"]
    command = [require_clang().path, *flags, "-c", "-Xclang", "-disable-llvm-passes", "-o", bitcode, SOURCE]
    subprocess.run([str(part) for part in command], check=True)
    info = {"module": "0" * 64, "architecture": "gfx90a", "triple": "amdgcn-amd-amdhsa", "codegen": CODEGEN}
    made = [
        CompilePool(CompileSetup(bitcode, info, kernel, "hip:0", "gfx90a", folder / "cache"), 1, 60.0)
        for kernel in KERNELS
    ]
    yield made
    for pool in made:
        pool.close()


def build(pool: CompilePool, codegen: tuple[tuple[str, str], ...] = ()) -> CodeObject:
    made = pool.submit(CodeRequest(None, codegen)).result()
    assert made.status is Status.OK, made.message
    return made


def test_the_code_object_says_what_the_kernel_needs(pools: list[CompilePool]) -> None:
    resources = build(pools[0]).resources
    assert resources["wave"] == 64 and resources["vgprs"] > 64 and 1 <= resources["occupancy"] < 8
    asked = build(pools[0], (("waves-per-eu", "8"),)).resources
    assert asked["occupancy"] == 8 and asked["vgprs"] <= 64


@pytest.mark.parametrize("knob", OWN, ids=lambda knob: knob.key)
def test_every_knob_changes_an_object(pools: list[CompilePool], knob: Knob) -> None:
    for value in knob.values:
        assert bad_codegen(((knob.key, value),), "hip") is None
        if any(build(pool).object_hash != build(pool, ((knob.key, value),)).object_hash for pool in pools):
            return
    pytest.fail(f"no value of {knob.key} changes any of the kernels' objects")


def test_knobs_of_another_gpu_are_refused() -> None:
    assert "does nothing on AMD's GPUs" in str(bad_codegen((("maxntid", "64"),), "hip"))
    assert "does nothing on NVIDIA's GPUs" in str(bad_codegen((("waves-per-eu", "2"),), "cuda"))
    assert "does nothing on the cpu device" in str(bad_codegen((("num-vgpr", "32"),), "cpu"))
