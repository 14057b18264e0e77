from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from r3cc.llvm import CompileRequest, Passes, PassesError, PassesStatus
from r3cc.llvm.inspect import kernel_tables
from r3cc.llvm.model import MemoryTable, SpecialiseRequest, TablesFound, VariableTable
from r3cc.toolchain.llvm import require_clang
from tests.llvm.compiler import baseline, compile_one
from tests.llvm.conftest import INPUTS, Capture

ROOT = Path(__file__).parents[2]
SAXPY = "_Z5saxpyifPKfPf"


def ptx(passes: Passes, bitcode: bytes, kernel: str, **wanted: object) -> str:
    special = passes.specialise(passes.extract(bitcode, kernel), SpecialiseRequest(kernel, **wanted))  # type: ignore[arg-type]
    return compile_one(special, baseline(3)).output.decode()


def test_arguments_become_constants_and_parameters_keep_their_layout(passes: Passes, pipeline_start: Capture) -> None:
    bitcode = pipeline_start("saxpy.cu", 3)
    plain = ptx(passes, bitcode, SAXPY)
    fixed = ptx(passes, bitcode, SAXPY, arguments=("0=e8030000", "1=00000040"))
    parameters = re.findall(r"\.param (.*)", plain.split(")")[0])
    assert re.findall(r"\.param (.*)", fixed.split(")")[0]) == parameters
    assert f"[{SAXPY}_param_0]" in plain
    assert f"[{SAXPY}_param_0]" not in fixed
    assert f"[{SAXPY}_param_1]" not in fixed
    assert re.search(r"\b(1000|999)\b", fixed)
    assert "0f40000000" in fixed


def test_launch_dimensions_become_constants(passes: Passes, pipeline_start: Capture) -> None:
    bitcode = pipeline_start("saxpy.cu", 3)
    assert "%ntid.x" in ptx(passes, bitcode, SAXPY)
    fixed = ptx(passes, bitcode, SAXPY, block="128,1,1", grid="8,1,1")
    assert "%ntid" not in fixed
    assert "%nctaid" not in fixed


@pytest.mark.parametrize(
    ("wanted", "part"),
    [
        ({"arguments": ("9=00000000",)}, "no parameter"),
        ({"arguments": ("0=zz",)}, "no parameter"),
        ({"arguments": ("0=0000",)}, "no scalar and no struct without pointers of 2 bytes"),
        ({"arguments": ("2=0000000000000000",)}, "no scalar and no struct without pointers of 8 bytes"),
        ({"block": "128"}, "no three extents"),
        ({"grid": "1,0,1"}, "no three extents"),
    ],
)
def test_what_cannot_be_constant_is_said(
    passes: Passes, pipeline_start: Capture, wanted: dict[str, object], part: str
) -> None:
    with pytest.raises(PassesError, match=part) as caught:
        ptx(passes, pipeline_start("saxpy.cu", 3), SAXPY, **wanted)
    assert caught.value.status is PassesStatus.BAD_REQUEST


@pytest.fixture(scope="session")
def amd_tables(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A module for AMD's GPUs as it is at the start of clang's pipeline."""
    target = tmp_path_factory.mktemp("amd") / "tables.bc"
    device = ["-x", "hip", "--cuda-device-only", "--offload-arch=gfx90a", "-nogpuinc", "-nogpulib", "-cuid=1", "-O3"]
    unoptimised = ["-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c"]
    command = [require_clang().path, *device, *unoptimised, "-o", target, INPUTS / "amd_tables.hip"]
    subprocess.run([str(part) for part in command], check=True)
    return target.read_bytes()


def test_amd_kernels_compare_tables_in_scalar_registers(passes: Passes, amd_tables: bytes) -> None:
    (kernel,) = (known.name for known in passes.describe(amd_tables).kernels)
    found = passes.tables(amd_tables, kernel)
    assert found == TablesFound((VariableTable("weights", 12),), (MemoryTable(0, 0, 4),), (2,))

    def code(**wanted: Any) -> str:
        special = passes.specialise(passes.extract(amd_tables, kernel), SpecialiseRequest(kernel, **wanted))
        return compile_one(special, CompileRequest("default<O3>")).output.decode()

    plain, fixed = code(), code(tables=("@weights=0000a0400000c0400000e040",))
    compares = re.compile(r"s_cmp\w+ s\d+, 0x40[ace]00000|s_cmp|v_cmp")
    assert len(compares.findall(fixed)) >= len(compares.findall(plain)) + 3
    assert all(constant in fixed and constant not in plain for constant in ("0x40a00000", "0x40c00000", "0x40e00000"))
    assert fixed.count("s_barrier") == 2 * plain.count("s_barrier") == 2
    assert "0x40e00000" in code(tables=("0+0=0000e040",))
    assert "0x1234567" in code(arguments=("2=0000000067452301",))


@pytest.mark.parametrize("example", sorted(path.stem for path in (ROOT / "examples").glob("*/*.cu")))
def test_every_kernel_of_the_examples_is_asked_for_its_tables(device_compile: Capture, example: str) -> None:
    """LLVM dies where its passes do not reach a fixpoint, which sums over a warp in spmv do not."""
    (source,) = (ROOT / "examples").glob(f"*/{example}.cu")
    bitcode = device_compile(str(source), "-O3", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c")
    for kernel in Passes().describe(bitcode).kernels:
        kernel_tables(bitcode, kernel.name)
