"""What prompts are told about a kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from r3cc.remix.model import Region, SourceKernel
from r3cc.remix.planning import (
    REMARKS_SHOWN,
    allowed_differences,
    context_of,
    grants_rounding,
    missed,
    resolved,
    without_comments,
)
from r3cc.replay.model import Numerics
from r3cc.tune.plan import KernelOptions

FILE = """// Axpy, as everybody knows it.
struct Grid { int n; int size() const { return n; } };

// nothing

__global__ void axpy(Grid g, float *x) { x[0] = g.size(); }

int main() { return 0; }
"""


def source(*functions: str) -> SourceKernel:
    regions = []
    for function in functions:
        begin = FILE.index(function)
        name = "axpy" if "axpy" in function else "size"
        regions.append(Region(name, "a/axpy.cu", begin, begin + len(function), function, name == "axpy"))
    return SourceKernel("abc", "axpy", tuple(regions))


def test_context_is_what_surrounds_the_regions_and_no_host_code_behind(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "axpy.cu").write_text(FILE)
    kernel, method = "__global__ void axpy(Grid g, float *x) { x[0] = g.size(); }", "int size() const { return n; }"
    ((name, text),) = context_of(source(kernel, method), tmp_path)
    assert name == "axpy.cu"
    assert "struct Grid { int n; /* region size */ };" in text
    assert text.endswith("/* region axpy */")
    assert "main" not in text and "everybody" not in text


def test_a_file_that_is_gone_has_no_context(tmp_path: Path) -> None:
    assert context_of(source("__global__ void axpy(Grid g, float *x) { x[0] = g.size(); }"), tmp_path) == ()


def test_comments_of_whole_lines_go() -> None:
    assert without_comments("a;\n  // b\n\n\n\nc; // d\n") == "a;\n\nc; // d"


def test_remarks_tell_what_the_optimiser_could_not_do() -> None:
    remarks = [
        "inline: '_Z3foov' inlined into '_Z1kv' with (cost=always) (in _Z1kv)",
        "inline: '_Z3foov' not inlined into '_Z1kv' because it is recursive (in _Z1kv)",
        "loop-vectorize: loop not vectorized: cannot identify the induction variable (in _Z1kv)",
        "loop-vectorize: loop not vectorized: cannot identify the induction variable (in _Z1kv)",
        "gvn: load of type double not eliminated (in _Z5otherv)",
        "licm: hoisting fmul (in _Z1kv)",
    ]
    assert missed(remarks, "_Z1kv") == (
        "inline: foo not inlined into k because it is recursive",
        "loop-vectorize: loop not vectorized: cannot identify the induction variable",
    )
    assert len(missed([f"licm: failed to move load {n} (in k)" for n in range(50)], "k")) == REMARKS_SHOWN


def test_winners_have_values_in_place_of_parameters() -> None:
    text = "int tile = R3_PARAM(tile, 4, 8, 16); // R3_PARAM\n"
    assert resolved({"k": text}, {"tile": "8"}) == {"k": "int tile = 8; // R3_PARAM\n"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (KernelOptions(numerics=Numerics.BITWISE), "every byte"),
        (KernelOptions(), "a double may be off by 1e-09 of its own value plus 1e-13 times the largest magnitude"),
        (KernelOptions(), "(Euclidean norm) by 1e-11; a float"),
        (KernelOptions(rtol=1e-3, atol=0.5), "by 0.001 of its own value plus 0.5; a float"),
    ],
)
def test_prompts_say_what_validation_allows(options: KernelOptions, said: str) -> None:
    assert said in allowed_differences(options)


@pytest.mark.parametrize(
    ("options", "granted"),
    [
        (KernelOptions(), True),
        (KernelOptions(numerics=Numerics.APPROX), True),
        (KernelOptions(numerics=Numerics.BITWISE), False),
        (KernelOptions(rtol=1e-3), False),
    ],
)
def test_what_rounding_moves_is_granted_unless_a_tolerance_is_given(options: KernelOptions, granted: bool) -> None:
    assert grants_rounding(options) is granted
