"""The first milestone: replay at the recorded options is what clang made."""

from __future__ import annotations

import pytest

from r3cc.llvm import Passes
from tests.llvm.compiler import baseline, code_lines, compile_one
from tests.llvm.conftest import Capture


def assert_equal_code(ours: bytes, clangs: bytes) -> None:
    """Equal line by line; the order of globals, which changes from run to run in clang, aside."""
    assert split_globals(code_lines(ours)) == split_globals(code_lines(clangs))


def split_globals(lines: list[str]) -> tuple[list[str], list[str]]:
    """Declarations of globals, sorted, and all other lines, in order."""
    return sorted(filter(_is_global, lines)), [line for line in lines if not _is_global(line)]


def _is_global(line: str) -> bool:
    words = line.split()
    return line[0] == "." and any(space in words for space in (".global", ".const", ".shared")) and line[-1] == ";"


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_recorded_options_give_clangs_ptx(clang_ptx: Capture, pipeline_start: Capture, level: int) -> None:
    made = compile_one(pipeline_start("all.cu", level), baseline(level))
    assert made.output.count(b".entry") == 14
    assert_equal_code(made.output, clang_ptx("all.cu", level))


@pytest.mark.parametrize("contract", ["off", "on", "fast"])
def test_contraction_is_clangs(clang_ptx: Capture, pipeline_start: Capture, contract: str) -> None:
    flag = f"-ffp-contract={contract}"
    made = compile_one(pipeline_start("device_math.cu", 3, flag), baseline(3, fp_contract=contract))
    assert_equal_code(made.output, clang_ptx("device_math.cu", 3, flag))


@pytest.mark.parametrize("flag", ["-ffast-math", "-g", "-fgpu-flush-denormals-to-zero", "-fgpu-rdc"])
def test_flags_that_the_ir_carries_need_no_option(clang_ptx: Capture, pipeline_start: Capture, flag: str) -> None:
    made = compile_one(pipeline_start("device_math.cu", 3, flag), baseline(3))
    assert_equal_code(made.output, clang_ptx("device_math.cu", 3, flag))


@pytest.mark.parametrize(
    ("flag", "change"),
    [
        ("-fno-unroll-loops", {"unroll_loops": False}),
        ("-fno-slp-vectorize", {"vectorize_slp": False}),
        ("-fno-vectorize", {"vectorize_loops": False}),
    ],
)
def test_tuning_options_are_clangs(
    clang_ptx: Capture, pipeline_start: Capture, flag: str, change: dict[str, bool]
) -> None:
    made = compile_one(pipeline_start("knobs.cu", 3, flag), baseline(3, **change))
    assert_equal_code(made.output, clang_ptx("knobs.cu", 3, flag))


def test_the_printed_default_pipeline_is_the_default(pipeline_start: Capture) -> None:
    bitcode = pipeline_start("device_math.cu", 3)
    text = Passes().parse_pipeline("default<O3>", "nvptx64-nvidia-cuda", "sm_90")
    assert "," in text
    printed, default = (compile_one(bitcode, baseline(3, pipeline=pipeline)) for pipeline in (text, "default<O3>"))
    assert code_lines(printed.output) == code_lines(default.output)
