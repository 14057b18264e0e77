"""Integers in structs that a kernel needs, told from LLVM's text."""

from __future__ import annotations

from r3cc.remix.source.integers import integers_used, struct_reads

KERNEL = """define ptx_kernel void @k(ptr noundef byval(%struct.Grid) align 8 %0, i32 noundef %1, ptr %2) {{
{body}
  ret void
}}
"""
STORE = "  store i32 %9, ptr %2, align 4"


def kernel(*lines: str) -> str:
    return KERNEL.format(body="\n".join(f"  {line.strip()}" for line in lines))


def bytes_of(*places: tuple[int, int]) -> set[tuple[int, int]]:
    return {(0, byte) for begin, size in places for byte in range(begin, begin + size)}


def test_integers_at_fixed_places() -> None:
    text = kernel(
        "%4 = load i32, ptr %0, align 8, !tbaa !13",
        "%5 = getelementptr inbounds nuw i8, ptr %0, i64 8",
        "%6 = load i32, ptr %5, align 4",
        "%7 = getelementptr inbounds nuw i8, ptr %5, i64 8",
        "%8 = load double, ptr %7, align 8",
        "%9 = add i32 %4, %6",
        "store double %8, ptr %2, align 8",
        STORE,
    )
    found = struct_reads(text, "k")
    assert found.integers == bytes_of((0, 4), (8, 4))
    assert found.all == bytes_of((0, 4), (8, 4), (16, 8))
    assert not found.unknown and not integers_used(text, "k")


def test_what_is_only_assumed_or_unused_is_not_read() -> None:
    text = kernel(
        "%4 = load i32, ptr %0, align 8",
        "%5 = icmp eq i32 %4, 1000",
        "tail call void @llvm.assume(i1 %5)",
        "%9 = add i32 %1, 1000",
        STORE,
    )
    honest = struct_reads(kernel("%9 = load i32, ptr %0, align 8", STORE), "k")
    assert struct_reads(text, "k").all == set()
    assert honest.missing(struct_reads(text, "k")) == sorted(bytes_of((0, 4)))


def test_a_wider_read_holds_a_narrower_one() -> None:
    narrow = struct_reads(kernel("%9 = load i32, ptr %0, align 8", STORE), "k")
    wide = kernel("%4 = load <2 x i32>, ptr %0, align 8", "%9 = extractelement <2 x i32> %4, i64 0", STORE)
    assert not narrow.missing(struct_reads(wide, "k"))


def test_a_struct_that_is_read_at_varying_places_may_be_read_everywhere() -> None:
    honest = struct_reads(kernel("%9 = load i32, ptr %0, align 8", STORE), "k")
    varying = kernel(
        "%4 = sext i32 %1 to i64", "%5 = getelementptr i32, ptr %0, i64 %4", "%9 = load i32, ptr %5", STORE
    )
    assert struct_reads(varying, "k").unknown == {0}
    assert not honest.missing(struct_reads(varying, "k"))
