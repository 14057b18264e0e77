"""Every code-generation knob changes the code of a kernel that it suits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from r3cc.llvm import CompileRequest, KernelAttributes, PassesError, PassesStatus, assemble
from tests.llvm.compiler import BASELINE_OPTIONS, baseline, code_lines, compile_each, compile_one
from tests.llvm.conftest import Capture


def assert_changes(bitcode: bytes, changed: CompileRequest, base: CompileRequest | None = None) -> None:
    before = compile_one(bitcode, base or baseline(3))
    assert code_lines(compile_one(bitcode, changed).output) != code_lines(before.output)


@pytest.mark.parametrize("level", [0, 1])
def test_codegen_level(pipeline_start: Capture, level: int) -> None:
    assert_changes(pipeline_start("knobs.cu", 3), baseline(3, codegen_level=level))


@pytest.mark.parametrize(
    "change", [{"unroll_loops": False}, {"pipeline": "default<O1>"}, {"cpu": "sm_80"}, {"features": "+ptx83"}]
)
def test_pipeline_and_target(pipeline_start: Capture, change: dict[str, Any]) -> None:
    assert_changes(pipeline_start("knobs.cu", 3), baseline(3, **change))


def test_never_fusing(pipeline_start: Capture) -> None:
    bitcode = pipeline_start("knobs.cu", 3)
    assert b"fma.rn" in compile_one(bitcode, baseline(3)).output
    made = compile_one(pipeline_start("saxpy.cu", 3), baseline(3, fp_contract="never"))
    assert b"fma.rn" not in made.output


def test_fusing_a_build_that_did_not(pipeline_start: Capture) -> None:
    bitcode = pipeline_start("saxpy.cu", 3, "-ffp-contract=off")
    assert b"fma.rn" not in compile_one(bitcode, baseline(3, fp_contract="off")).output
    assert b"fma.rn" in compile_one(bitcode, baseline(3, fp_contract="fast")).output


@pytest.mark.parametrize(
    ("attributes", "directive"),
    [
        (KernelAttributes(maxntid="128,2,1"), b".maxntid 128, 2, 1"),
        (KernelAttributes(maxntid="256"), b".maxntid 256"),
        (KernelAttributes(minctasm="3", maxntid="128"), b".minnctapersm 3"),
        (KernelAttributes(maxnreg="40"), b".maxnreg 40"),
    ],
)
def test_kernel_attributes(pipeline_start: Capture, attributes: KernelAttributes, directive: bytes) -> None:
    bitcode = pipeline_start("knobs.cu", 3)
    made = compile_one(bitcode, baseline(3, kernel_attributes=attributes))
    assert directive in made.output
    assert directive not in compile_one(bitcode, baseline(3)).output


def test_attributes_replace_and_remove_the_sources(pipeline_start: Capture) -> None:
    bitcode = pipeline_start("reduction.cu", 3)
    changed = KernelAttributes(maxntid="512", minctasm="")
    made = compile_one(bitcode, baseline(3, kernel_attributes=changed)).output
    assert b".maxntid 512" in made and b".maxntid 256" not in made and b".minnctapersm" not in made


def test_a_register_bound_reaches_the_cubin(pipeline_start: Capture, ptxas: Path) -> None:
    bitcode = pipeline_start("knobs.cu", 3)
    free, bound = (
        assemble(compile_one(bitcode, baseline(3, kernel_attributes=attributes)).output, ptxas, "sm_90")
        for attributes in (KernelAttributes(), KernelAttributes(maxnreg="24"))
    )
    (wide,), (narrow,) = free.resources.values(), bound.resources.values()
    assert narrow.registers <= 24 < wide.registers
    assert free.cubin != bound.cubin


@pytest.mark.parametrize(
    "option",
    [
        "-disable-lsr",
        "-nvptx-sched4reg",
        "-disable-nvptx-load-store-vectorizer",
        "-nvptx-prec-divf32=0",
        "-nvptx-prec-sqrtf32=0",
        "-unroll-threshold=2000",
        "-disable-nvptx-require-structured-cfg",
    ],
)
def test_llvm_options(pipeline_start: Capture, option: str) -> None:
    assert_changes(pipeline_start("knobs.cu", 3), baseline(3, mllvm=(*BASELINE_OPTIONS, option)))


@pytest.mark.parametrize("option", ["-no-such-option", "-help", "unroll-threshold=3", "-unroll-threshold=many"])
def test_llvm_options_that_are_none(pipeline_start: Capture, option: str) -> None:
    with pytest.raises(PassesError, match=option.strip("-").split("=")[0]) as error:
        compile_one(pipeline_start("saxpy.cu", 3), baseline(3, mllvm=(option,)))
    assert error.value.status is PassesStatus.BAD_REQUEST


def test_a_process_serves_one_set_of_options(pipeline_start: Capture) -> None:
    requests = [baseline(3), baseline(3, mllvm=("-disable-lsr",))]
    with pytest.raises(PassesError, match=r"another set .* needs another process") as error:
        compile_each(pipeline_start("saxpy.cu", 3), requests)
    assert error.value.status is PassesStatus.BAD_REQUEST


def test_remarks_change_nothing_but_the_report(pipeline_start: Capture) -> None:
    bitcode = pipeline_start("knobs.cu", 3)
    plain, talking = compile_one(bitcode, baseline(3)), compile_one(bitcode, baseline(3, remarks=True))
    assert plain.output == talking.output
    assert not plain.remarks
    assert 0 < len(talking.remarks) <= 200
    assert any("loop-unroll" in remark for remark in talking.remarks)


def test_equal_ir_from_different_pipelines_has_one_hash(pipeline_start: Capture) -> None:
    bitcode = pipeline_start("saxpy.cu", 3)
    once, twice, other = compile_each(
        bitcode, [baseline(3, pipeline=text) for text in ("default<O3>", "default<O3>,function(adce)", "default<O0>")]
    )
    assert once.ir_hash == twice.ir_hash != other.ir_hash


@pytest.mark.parametrize("attribute", ["0", "a", "1,2,3,4", "64,"])
def test_bad_attributes(pipeline_start: Capture, attribute: str) -> None:
    request = baseline(3, kernel_attributes=KernelAttributes(maxntid=attribute))
    with pytest.raises(PassesError, match="maxntid"):
        compile_one(pipeline_start("saxpy.cu", 3), request)
