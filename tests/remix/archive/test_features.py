"""Features: facts of optimised IR, and bins that names, comments and dead code cannot move."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing

import pytest

from r3cc.errors import R3Error
from r3cc.remix.archive.features import DIMENSIONS, describe, dimension, features, neighbours
from r3cc.remix.artefact import Artefact, read
from r3cc.remix.source.inspector import Inspector
from r3cc.toolchain.llvm import find_llvm_program

AXPY = """
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @axpy(ptr %x, ptr %y, float %a, i32 %n) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = sext i32 %t to i64
  %p = getelementptr float, ptr %x, i64 %i
  %q = getelementptr float, ptr %y, i64 %i
  %v = load float, ptr %p, align 4
  %w = load float, ptr %q, align 4
  %m = fmul float %a, %v
  %s = fadd float %m, %w
  store float %s, ptr %q, align 4
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""
SAME = (
    AXPY.replace("%m", "%other")
    .replace("; ", ";; ")
    .replace("  ret void", "  %dead = fadd float %w, %w\n  %dead2 = load double, ptr %p, align 8\n  ret void")
)


class Reader:
    """Facts of a kernel in LLVM's text, as a search takes them from a variant's bitcode."""

    def __init__(self, inspector: Inspector) -> None:
        self._inspector = inspector

    def __call__(self, text: str, kernel: str = "axpy") -> Artefact:
        tool = find_llvm_program("llvm-as")
        if tool is None:
            pytest.skip("llvm-as is not installed")
        bitcode = subprocess.run(
            [tool.path, "-o", "-", "-"], input=text.encode(), capture_output=True, check=True
        ).stdout
        return self._inspector.inspect(bitcode, kernel).artefact


@pytest.fixture(scope="module")
def facts() -> Iterator[Reader]:
    with closing(Inspector()) as opened:
        yield Reader(opened)


def test_facts_of_a_kernel(facts: Reader) -> None:
    found = facts(AXPY)
    assert found == Artefact(
        accesses=3,
        bytes=12,
        widest=4,
        async_copies=False,
        flops=2,
        block_barriers=False,
        warp_operations=False,
        atomics=False,
    )
    with pytest.raises(R3Error, match="has no kernel"):
        facts(AXPY, "other")


def test_names_and_dead_code_count_for_nothing(facts: Reader) -> None:
    assert facts(SAME) == facts(AXPY)


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("%v = load <4 x float>, ptr addrspace(1) %p, align 16", "widest", 16),
        ("store <2 x double> %v, ptr addrspace(1) %p, align 16", "bytes", 16),
        ("store double 0.000000e+00, ptr %p, align 8", "bytes", 8),
        ("%v = load volatile i16, ptr %p, align 2", "bytes", 2),
        ("%v = load float, ptr addrspace(3) %p, align 4", "accesses", 0),
        ("%v = load float, ptr addrspace(5) %p, align 4", "accesses", 0),
        ("%f = call float @llvm.fma.f32(float %a, float %b, float %c)", "flops", 2),
        ("%f = tail call contract <2 x float> @llvm.fmuladd.v2f32(<2 x float> %a, <2 x float> %b)", "flops", 4),
        ("%f = fmul contract <4 x double> %a, %b", "flops", 4),
        ("%f = fdiv float %a, %b", "flops", 1),
        ("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)", "block_barriers", True),
        ("%s = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %a, i32 1, i32 31)", "warp_operations", True),
        ("%r = atomicrmw fadd ptr %p, float %v seq_cst", "atomics", True),
        (
            "call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %s, ptr addrspace(1) %g)",
            "async_copies",
            True,
        ),
    ],
)
def test_what_a_line_says(line: str, field: str, value: object) -> None:
    text = f"define ptx_kernel void @k(ptr %p) {{\n  {line}\n  ret void\n}}\n"
    assert getattr(read(text, "k"), field) == value


def test_bins_of_every_dimension_have_names_and_can_be_reached() -> None:
    plain = Artefact(3, 12, 4, False, 2, False, False, False)
    wide = Artefact(100, 12, 16, False, 200, True, True, False)
    grid = Artefact(30, 12, 8, True, 0, False, False, True)
    found = [
        dict(features(plain, {"registers": 20}).bins),
        dict(features(wide, {"registers": 100, "shared_bytes": 9000}).bins),
        dict(features(grid, {"registers": 255, "spill_loads": 8, "shared_bytes": 100}, 60_000).bins),
    ]
    assert [each["staging"] for each in found] == [0, 2, 3]
    assert [each["registers"] for each in found] == [0, 2, 4]
    assert [each["access"] for each in found] == [0, 2, 3]
    assert [each["work"] for each in found] == [0, 3, 2]
    assert [each["synchronisation"] for each in found] == [0, 2, 3]
    assert [each["intensity"] for each in found] == [1, 3, 0]
    for each in found:
        assert set(each) == set(DIMENSIONS)
        assert all(number < len(dimension(name).bins) for name, number in each.items())


def test_edges_belong_to_the_bin_below() -> None:
    artefact = Artefact(4, 16, 8, False, 0, False, False, False)
    assert dict(features(artefact, {"registers": 32, "shared_bytes": 8192}).bins) == {
        "staging": 1,
        "registers": 0,
        "access": 1,
        "work": 0,
        "synchronisation": 0,
        "intensity": 0,
    }


def test_neighbours_are_one_step_away() -> None:
    names = ("synchronisation", "access")
    assert neighbours((0, 0), names) == [(1, 0), (0, 1)]
    assert len(neighbours((1, 1), names)) == 4
    assert describe((2, 1), names) == "block barriers, 8-byte accesses"
