from __future__ import annotations

import re
from pathlib import Path

import pytest

from r3cc.llvm import Passes, PassesError, PassesStatus, assemble
from tests.llvm.compiler import baseline, code_lines, compile_one
from tests.llvm.conftest import Capture

KERNELS = [
    ("saxpy.cu", "_Z5saxpyifPKfPf"),
    ("device_state.cu", "_Z6writerPKf"),
    ("device_state.cu", "_Z6readerPfi"),
    ("device_state.cu", "_Z12counts_callsPf"),
    ("private_state.cu", "_Z11reads_fieldPd"),
    ("device_math.cu", "_Z4trigIdEvPT_PKS0_i"),
    ("reduction.cu", "_Z6reducePKdPdi"),
]


def extracted_ptx(passes: Passes, bitcode: bytes, kernel: str) -> str:
    return compile_one(passes.extract(bitcode, kernel), baseline(3)).output.decode()


def body(ptx: str, kernel: str) -> list[str]:
    """The kernel's lines, without comments and without the function's number in its labels."""
    lines = [re.sub(r"\$L__BB\d+_", "$L__BB_", line) for line in code_lines(ptx.encode())]
    start = next(number for number, line in enumerate(lines) if f".entry {kernel}(" in line)
    return lines[start : lines.index("}", start)]


@pytest.mark.parametrize(("source", "kernel"), KERNELS)
def test_an_extracted_kernel_assembles_alone(
    passes: Passes, pipeline_start: Capture, ptxas: Path, source: str, kernel: str
) -> None:
    ptx = extracted_ptx(passes, pipeline_start(source, 3), kernel)
    assert ptx.count(".entry") == 1
    assert assemble(ptx.encode(), ptxas, "sm_90").resources.keys() == {kernel}


@pytest.mark.parametrize(("source", "kernel"), KERNELS)
def test_an_extracted_kernel_has_the_applications_code(
    passes: Passes, pipeline_start: Capture, source: str, kernel: str
) -> None:
    bitcode = pipeline_start(source, 3)
    whole = compile_one(bitcode, baseline(3)).output.decode()
    assert body(extracted_ptx(passes, bitcode, kernel), kernel) == body(whole, kernel)


def test_what_another_kernel_writes_is_still_read(passes: Passes, pipeline_start: Capture) -> None:
    ptx = extracted_ptx(passes, pipeline_start("private_state.cu", 3), "_Z11reads_fieldPd")
    assert re.search(r"\.visible \.global .*_ZL5field\[256\];", ptx)
    assert any("ld.global" in line for line in body(ptx, "_Z11reads_fieldPd"))
    assert "unused_by_reader" not in ptx


def test_constants_that_only_others_read_keep_their_place(passes: Passes, pipeline_start: Capture) -> None:
    ptx = extracted_ptx(passes, pipeline_start("device_state.cu", 3), "_Z12counts_callsPf")
    assert ptx.index(" coefficients[64]") < ptx.index(" _ZL11permutation[32]")
    assert "counter" not in ptx


def test_a_function_local_static_keeps_its_name(passes: Passes, pipeline_start: Capture) -> None:
    ptx = extracted_ptx(passes, pipeline_start("device_state.cu", 3), "_Z12counts_callsPf")
    assert re.search(r"\.visible \.global .* _ZZ12counts_callsPfE5calls;", ptx)


def test_debug_information_of_other_kernels_goes(passes: Passes, pipeline_start: Capture) -> None:
    ptx = extracted_ptx(passes, pipeline_start("reduction.cu", 3, "-g"), "_Z6reducePKdPdi")
    assert "stencil" not in ptx
    assert ".loc" in ptx


def test_an_unknown_kernel_is_named(passes: Passes, pipeline_start: Capture) -> None:
    with pytest.raises(PassesError, match='no kernel "nobody"') as error:
        passes.extract(pipeline_start("saxpy.cu", 3), "nobody")
    assert error.value.status is PassesStatus.BAD_KERNEL


def test_bytes_that_are_not_bitcode_are_said_to_be(passes: Passes) -> None:
    with pytest.raises(PassesError) as error:
        passes.extract(b"not bitcode", "k")
    assert error.value.status is PassesStatus.BAD_BITCODE
