"""``r3 show``."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from r3cc.errors import R3Error
from r3cc.store import Store
from r3cc.toolchain.native import native_library
from tests.cli.conftest import R3
from tests.conftest import REDUCE, SAXPY
from tests.store.pack_writer import PackWriter, add_recording

IR = """
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @scale(ptr %x, float %a) {
  %value = load float, ptr %x
  %scaled = fmul float %value, %a
  store float %scaled, ptr %x
  ret void
}
define ptx_kernel void @other() {
  ret void
}
"""
CODEGEN = {
    "pipeline": "default<O3>",
    "opt_level": 3,
    "codegen_level": 3,
    "fp_contract": "fast",
    "cpu": "sm_90",
    "features": "+ptx87",
    "vectorize_loops": True,
    "vectorize_slp": True,
    "unroll_loops": True,
    "mllvm": [],
    "ptxas": [],
}


def has_passes() -> bool:
    try:
        native_library("libR3Passes.so")
    except R3Error:
        return False
    return True


def test_everything_about_a_kernel(run_r3: R3, small_store: Store) -> None:
    result = run_r3("show", "saxpy")
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    for line in (
        "kernel saxpy(int, float, float*, float*)",
        f"name {SAXPY}",
        "source src/app.cu:12",
        "4,1,1 128,1,1 0 B 10 3 us",
        "node1-4242-1/0 0 4,1,1 128,1,1 100 ns 293.9 KiB 37.0 KiB",
        "0 4 i32 n 10",
        "0x600000001000 293.0 KiB yes",
    ):
        assert line in lines


def test_the_json(run_r3: R3, small_store: Store) -> None:
    document = json.loads(run_r3("show", SAXPY, "--json").stdout)
    assert (document["name"], document["source"], document["line"]) == (SAXPY, "src/app.cu", 12)
    (launch,) = document["recorded_launches"]
    assert launch["arguments"] == [{"name": "n", "type": "i32", "offset": 0, "size": 4, "value": "10"}]
    assert launch["regions"][0] == {"address": "0x600000000000", "size": 1000}
    assert launch["changed_bytes"] == 300_000 - 262_144


def test_a_kernel_without_recorded_launches(run_r3: R3, small_store: Store) -> None:
    result = run_r3("show", REDUCE)
    assert result.exit_code == 0
    assert "not recordable: 10 launches: texture over an array" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["gemm"], 1, "no kernel is called 'gemm'; recorded kernels are"),
        (["_Z"], 1, "'_Z' names 2 kernels; take the id of one"),
        (["saxpy", "--ir", "--ptx"], 2, "exclude one another"),
        ([], 2, "Missing argument 'KERNEL'"),
    ],
)
def test_bad_input_is_one_sentence(
    run_r3: R3, small_store: Store, arguments: list[str], status: int, message: str
) -> None:
    result = run_r3("show", *arguments)
    assert result.exit_code == status
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@pytest.mark.skipif(not has_passes(), reason="needs libR3Passes.so")
@pytest.mark.skipif(shutil.which("llvm-as-22") is None, reason="needs llvm-as")
def test_ir_and_ptx_of_one_kernel(run_r3: R3, small_store: Store) -> None:
    bitcode = subprocess.run(["llvm-as-22"], input=IR.encode(), capture_output=True, check=True).stdout
    pack = PackWriter(add_recording(small_store.path, "20270102-030405-0000") / "p-1-1.r3pack")
    pack.process()
    pack.kernel(pack.module(bitcode, codegen=CODEGEN), "scale")
    ir = run_r3("show", "scale", "--ir")
    assert ir.stderr == ""
    assert "define ptx_kernel void @scale(" in ir.stdout
    assert "@other" not in ir.stdout
    ptx = run_r3("show", "scale", "--ptx")
    assert ptx.stderr == ""
    assert ".visible .entry scale(" in ptx.stdout
    assert ".target sm_90" in ptx.stdout


@pytest.mark.skipif(not has_passes(), reason="needs libR3Passes.so")
def test_damaged_bitcode_is_one_sentence(run_r3: R3, small_store: Store) -> None:
    result = run_r3("show", "saxpy", "--ir")
    assert result.exit_code == 1
    assert result.stderr.startswith("r3: ")


def test_a_module_without_ir_says_what_to_build_with(run_r3: R3, small_store: Store) -> None:
    pack = PackWriter(add_recording(small_store.path, "20270102-030405-0000") / "p-1-1.r3pack")
    pack.process()
    pack.document("module", module="f" * 64, bitcode=None, info={}, binary="libx.so", image=pack.chunk(b"cubin"))
    pack.kernel("f" * 64, "gemm")
    result = run_r3("show", "gemm", "--ir")
    assert result.exit_code == 1
    assert "build it with r3-clang++ and record again" in result.stderr
    assert run_r3("show", "gemm").exit_code == 0
