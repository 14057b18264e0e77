"""Every rule: what it makes of a kernel compiles, keeps the mangled name, and computes the same on the cpu device."""

from __future__ import annotations

import re
import subprocess
import zlib
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from r3cc.errors import R3Error
from r3cc.llvm import CompileRequest, Passes
from r3cc.record.cpu_modules import link_module
from r3cc.remix.proposers.rules.catalogue import CATALOGUE
from r3cc.remix.proposers.rules.proposer import Rewritten, rewrites
from r3cc.remix.proposers.rules.syntax import Syntax, called, text_of
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.llvm import require_clang
from r3cc.toolchain.native import native_library
from tests.cpu.engine import Launch, run

SOURCE = (Path(__file__).parent / "kernels.cu").read_text()
N, BLOCK = 300, 128
GRID = (N + BLOCK - 1) // BLOCK
EXPECTED = {
    "reduction_tail": {"tree_sum", "tree_extreme"},
    "reduction_by_shuffle": {"tree_sum", "tree_extreme"},
    "split_accumulators": {"row_sums"},
    "share_with_neighbour": {"fluxes"},
    "stage_in_shared": {"smoothed"},
    "power_by_multiplication": {"powers"},
    "power_by_exponential": {"powers"},
    "hypotenuse_by_root": {"lengths"},
    "reciprocal_root": {"lengths"},
    "reciprocal_in_loop": {"quotients"},
    "shared_reciprocal": {"quotients"},
    "accumulate_in_register": {"memory_sum"},
    "keep_in_register": {"memory_sum"},
    "read_only_loads": {"memory_sum", "neighbours"},
    "restrict": {"memory_sum", "tree_sum"},
    "wide_loads": {"neighbours"},
    "unroll": {"row_sums", "neighbours", "nested"},
    "interchange": {"nested"},
    "fuse": {"nested"},
    "peel": {"nested"},
    "hoist_bound": {"memory_sum"},
    "hoist_invariant": {"memory_sum"},
    "launch_bounds": {"tree_sum"},
    "grid_stride": {"row_sums", "memory_sum"},
    "narrow_counters": {"nested"},
    "select_return": {"limited"},
    "select_value": {"selections"},
}
"""Kernels that a rule must find, among others."""


class Case(NamedTuple):
    kernel: str
    rewritten: Rewritten
    value: int
    """Which of the values of its parameters."""

    @property
    def name(self) -> str:
        return f"{self.kernel}_{zlib.crc32(self.rewritten.text.encode()):x}_{self.value}"


def functions() -> dict[str, str]:
    source = Syntax(SOURCE)
    texts = [text_of(node) for node in source.all("function_definition")]
    return {re.search(r"(\w+)\(", text)[1]: text for text in texts if "__" in text.split("(")[0]}  # type: ignore[index]


REGIONS = functions()
FOUND = rewrites(REGIONS)


def with_values(text: str, number: int) -> str:
    """Parameters replaced by one of their values, as the builder does."""

    def pick(match: re.Match[str]) -> str:
        values = [each.strip() for each in match[1].split(",")[1:]]
        return values[min(number, len(values) - 1)]

    return re.sub(r"R3_PARAM\(([^()]*)\)", pick, text)


def cases() -> list[Case]:
    """All rewrites with their first values, and those with parameters with the last ones as well."""
    both = [Case(each.region, each, number) for each in FOUND for number in (0, 9)]
    return [case for case in both if case.value == 0 or "R3_PARAM" in case.rewritten.text]


CASES = cases()


def kernel_of(name: str) -> str:
    """A kernel itself; of a device function the kernel that calls it."""
    if "__global__" in REGIONS[name]:
        return name
    return next(each for each, text in REGIONS.items() if "__global__" in text and f"{name}(" in text)


def variant_text(case: Case) -> str:
    """The rewritten region under another name; for a device function, with its kernel calling that one."""
    text, kernel = with_values(case.rewritten.text, case.value), kernel_of(case.kernel)
    if kernel == case.kernel:
        return renamed(text, case.kernel, case.name)
    inner = renamed(text, case.kernel, f"{case.name}_inner")
    outer = renamed(REGIONS[kernel].replace(f"{case.kernel}(", f"{case.name}_inner("), kernel, case.name)
    return f"{inner}\n{outer}"


def renamed(text: str, old: str, new: str) -> str:
    return re.sub(rf"\b{old}\b(?=\()", new, text, count=1)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """What every kernel and every rewrite of it writes: one module, one process."""
    try:
        engine = native_library("libr3cpu.so")
    except R3Error as error:
        pytest.skip(str(error))
    tree = find_cuda()
    if tree is None:
        pytest.skip("needs a CUDA tree")
    folder = tmp_path_factory.mktemp("rules")
    text = SOURCE.rstrip().removesuffix("}") + "\n" + "\n".join(map(variant_text, CASES)) + "\n}\n"
    (folder / "all.cu").write_text(text)
    device = ["-x", "cuda", "--cuda-device-only", "--offload-arch=sm_90", f"--cuda-path={tree.path}"]
    early = [
        "-O3",
        "-Xclang",
        "-disable-llvm-passes",
        "-emit-llvm",
        "-c",
        "-Wno-unknown-cuda-version",
        "-Wno-pass-failed",
    ]
    command = [require_clang().path, *device, *early, folder / "all.cu", "-o", folder / "all.bc"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    passes = Passes()
    lowered = passes.lower_to_host((folder / "all.bc").read_bytes())
    code = passes.compile(lowered, CompileRequest(pipeline="default<O1>", emit="object")).output
    names = [name for name, text in REGIONS.items() if "__global__" in text] + [case.name for case in CASES]
    launches = [Launch(name, (GRID, 1, 1), (BLOCK, 1, 1), arguments()) for name in names]
    answer = run(engine, link_module(code, folder), launches)
    assert answer.status == 0, answer.message
    return {name: arrays[2] for name, arrays in zip(names, answer.arrays, strict=True)}


def arguments() -> tuple[object, ...]:
    chance = np.random.default_rng(7)
    a = chance.random(N) + 0.5
    index = chance.integers(0, 20, N).astype(np.int32)
    return (np.int32(N), a, index, np.zeros(N))


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{each.rewritten.rule}-{each.kernel}-{n}" for n, each in enumerate(CASES)]
)
def test_rewrite_computes_the_same(case: Case, outputs: dict[str, np.ndarray]) -> None:
    kernel = kernel_of(case.kernel)
    assert np.any(outputs[kernel])
    np.testing.assert_allclose(outputs[case.name], outputs[kernel], rtol=1e-12)


@pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: rule.name)
def test_every_rule_finds_its_kernels(rule: object) -> None:
    found = defaultdict(set)
    for each in FOUND:
        found[each.rule].add(each.region)
    name = rule.name  # type: ignore[attr-defined]
    assert found[name] >= EXPECTED[name]


def test_no_rule_touches_a_signature_beyond_restrict_and_bounds() -> None:
    for each in FOUND:
        head = re.sub(r"__restrict__ |__launch_bounds__\(.*\) (?=\w+\(int)", "", each.text.split("{")[0])
        assert head == REGIONS[each.region].split("{")[0], each.rule


def test_rewrites_of_rewrites_still_parse() -> None:
    for each in FOUND:
        assert not Syntax(with_values(each.text, 0)).broken, each.rule


def test_whole_numbers_are_not_divided_by_reciprocals() -> None:
    for each in FOUND:
        if each.region == "quotients":
            assert "i / 2" in each.text and "(i / n)" in each.text


def test_helpers_above_a_kernel_are_not_taken_for_it() -> None:
    helper = "__device__ double twice(double *x) {\n  return 2 * *x;\n}\n\n"
    for each in rewrites({"tree_sum": helper + REGIONS["tree_sum"]}):
        assert each.text.startswith(helper), each.rule


def test_templates_and_linkage_stand_before_a_kernel() -> None:
    for head in ("template <typename T>\n", 'extern "C" ', "template <int N> __launch_bounds__(N)\n"):
        found = rewrites({"tree_sum": head + REGIONS["tree_sum"]})
        assert {"reduction_tail", "restrict"} <= {each.rule for each in found}
        assert all(each.text.startswith(head) for each in found)


def test_text_that_does_not_parse_is_left_alone() -> None:
    assert rewrites({"f": "__global__ void f(int n { for (;;"}) == []
    assert called(next(Syntax("void f() { g(1); }").all("call_expression"))) == "g"
