from __future__ import annotations

import pytest

from r3cc.llvm import Passes, PassesError, PassesStatus
from r3cc.tune.edits import EXPANDED_OPTIONS
from tests.llvm.compiler import BASELINE_OPTIONS, ProcessDied, baseline, compile_one
from tests.llvm.conftest import Capture

NVPTX = "nvptx64-nvidia-cuda"
HOST = "x86_64-unknown-linux-gnu"


@pytest.mark.parametrize(
    ("pipeline", "column", "complaint"),
    [
        ("sroa,inline", 6, "unknown function pass 'inline'"),
        ("function(sroa,bogus)", 15, "unknown function pass 'bogus'"),
        ("function(sroa", 9, "invalid pipeline"),
        ("loop(licm))", 11, "invalid pipeline"),
        ("instcombine<foo>", 13, "invalid InstCombine pass parameter 'foo'"),
    ],
)
def test_a_refused_pipeline_says_where(passes: Passes, pipeline: str, column: int, complaint: str) -> None:
    with pytest.raises(PassesError, match=f"at column {column}: {complaint}") as error:
        passes.parse_pipeline(pipeline, NVPTX, "sm_90")
    assert error.value.status is PassesStatus.BAD_PIPELINE


@pytest.mark.parametrize("triple", [NVPTX, HOST])
@pytest.mark.parametrize("level", ["O1", "O2", "O3", "Os", "Oz"])
def test_what_llvm_prints_parses_again(passes: Passes, triple: str, level: str) -> None:
    text = passes.parse_pipeline(f"default<{level}>", triple)
    assert passes.parse_pipeline(text, triple) == text


@pytest.mark.parametrize("name", ["sroa", "instcombine", "gvn", "slp-vectorizer", "load-store-vectorizer", "licm"])
def test_pass_names_print(passes: Passes, name: str) -> None:
    adaptor = "function(loop-mssa({}))" if name == "licm" else "function({})"
    assert name in passes.parse_pipeline(adaptor.format(name), NVPTX)


def test_every_listed_pass_parses_in_its_adaptor(passes: Passes) -> None:
    listed = passes.list_passes(NVPTX, "sm_90")
    for name in listed.function:
        passes.parse_pipeline(f"function({name})", NVPTX, "sm_90")
    for name in listed.loop:
        passes.parse_pipeline(f"function(loop({name}))", NVPTX, "sm_90")
    for name in listed.loop_mssa:
        passes.parse_pipeline(f"function(loop-mssa({name}))", NVPTX, "sm_90")
    for name in listed.cgscc:
        passes.parse_pipeline(f"cgscc({name})", NVPTX, "sm_90")
    for name in listed.module:
        passes.parse_pipeline(f"module({name})", NVPTX, "sm_90")


def test_passes_that_need_memory_ssa_are_not_plain_loop_passes(passes: Passes) -> None:
    listed = passes.list_passes(NVPTX)
    assert {"licm", "lnicm"} <= set(listed.loop_mssa)
    assert not {"licm", "lnicm"} & set(listed.loop)
    assert {"indvars", "loop-idiom"} <= set(listed.loop)
    assert "simplifycfg" in listed.parameters


def test_the_targets_own_passes_are_listed(passes: Passes) -> None:
    assert "nvvm-reflect" in passes.list_passes(NVPTX).module + passes.list_passes(NVPTX).function
    assert "nvvm-reflect" not in passes.list_passes(HOST).module


def test_an_aborting_pipeline_kills_only_its_process(pipeline_start: Capture) -> None:
    bitcode = pipeline_start("knobs.cu", 3)
    with pytest.raises(ProcessDied, match="MemorySSA"):
        compile_one(bitcode, baseline(3, pipeline="function(mem2reg,loop-simplify,loop(licm))"))


def test_an_unknown_target_is_named(passes: Passes) -> None:
    with pytest.raises(PassesError, match="vax") as error:
        passes.parse_pipeline("sroa", "vax-dec-vms")
    assert error.value.status is PassesStatus.UNSUPPORTED


def test_an_unknown_cpu_is_named(passes: Passes) -> None:
    with pytest.raises(PassesError, match="sm_3000") as error:
        passes.list_passes(NVPTX, "sm_3000")
    assert error.value.status is PassesStatus.BAD_REQUEST


@pytest.mark.parametrize("source", ["all.cu", "reduction.cu", "device_math.cu", "private_state.cu"])
def test_options_of_edited_pipelines_change_nothing_in_o3(pipeline_start: Capture, source: str) -> None:
    bitcode = pipeline_start(source, 3)
    options = tuple(f"-{key.removeprefix('mllvm:')}={value}" for key, value in EXPANDED_OPTIONS)
    with_them = baseline(3, mllvm=(*BASELINE_OPTIONS, *options))
    assert compile_one(bitcode, with_them).output == compile_one(bitcode, baseline(3)).output
