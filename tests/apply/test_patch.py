"""Source patches: what `git apply` makes of them is the winner's source, and nothing else is touched."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest

from r3cc.apply.patch import SourceWinner, source_patch, write_patch
from r3cc.errors import R3Error
from r3cc.replay.events import KernelPlan, RegionChange, Result
from r3cc.replay.model import Candidate, Interval
from r3cc.store.model import Module

KERNEL = "__global__ void scale(double *x) {\n  x[0] *= 2;\n}\n"
HELPER = "__device__ double half(double x) { return x / 2; }\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A git repository with a source that is compiled in its folder `build`."""
    (tmp_path / "build").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "src/app.cu").write_bytes((HELPER + KERNEL + "int main() {}").encode())
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def change(source: Path, before: str, after: str) -> RegionChange:
    begin = source.read_bytes().index(before.encode())
    return RegionChange("r", "../src/app.cu", begin, begin + len(before.encode()), before, after)


def winner(tree: Path, *changes: RegionChange, name: str = "scale", share: float = 0.5) -> SourceWinner:
    plan = KernelPlan(name, "m", name, f"{name}(double*)", share, "rounding")
    result = Result(
        at=1.0,
        kernel=name,
        n=1,
        candidate=Candidate(variant="0" * 16),
        changes=("block 64,1,1",),
        baseline_ns=None,
        best_ns=None,
        speedup=Interval(1.5, 1.4, 1.6, 61),
        strategy="adds\ninstead of multiplying",
        regions=changes,
        parameters={"R3_BLOCK": "64"},
    )
    return SourceWinner(plan, Module("m", None, {"directory": str(tree / "build")}, ""), result)


def applied(tree: Path, *winners: SourceWinner) -> str:
    patch = tree / "tuned.r3.patch"
    write_patch(patch, source_patch(winners, ["R3 test"]))
    subprocess.run(["git", "-C", str(tree), "apply", str(patch)], check=True)
    return (tree / "src/app.cu").read_bytes().decode()


def test_git_takes_the_patch_and_its_header_says_why(tree: Path) -> None:
    source = tree / "src/app.cu"
    first = change(source, KERNEL, KERNEL.replace("*= 2", "+= x[0]"))
    second = change(source, HELPER, HELPER.replace("x / 2", "x * 0.5"))
    before = source.read_bytes()
    text = source_patch([winner(tree, first, second)], ["R3 test"]).text
    assert source.read_bytes() == before
    head = [line for line in text.splitlines() if line.startswith("# ")]
    assert head[0] == "# R3 test"
    assert head[1] == "# scale(double*): 1.500x [1.400, 1.600], n=61, 50.0% of the device time"
    assert "#   why: adds instead of multiplying" in head
    assert "#   R3_BLOCK = 64" in head
    assert "#   measured together with: block 64,1,1" in head
    assert "diff --git a/src/app.cu b/src/app.cu\n--- a/src/app.cu\n+++ b/src/app.cu\n@@" in text
    expected = before.decode().replace("*= 2", "+= x[0]").replace("x / 2", "x * 0.5")
    assert applied(tree, winner(tree, first, second)) == expected


@pytest.mark.parametrize("ending", ["\n", "", "\r\n", "\n\f\n", "\n\u2028// \xe9\n"])
def test_lines_are_those_of_git(tree: Path, ending: str) -> None:
    source = tree / "src/app.cu"
    source.write_bytes(source.read_bytes() + ending.encode())
    last = "int main() {}" + ending
    expected = source.read_bytes().decode().replace(last, "int main() { return 0; }" + ending + "//")
    found = applied(tree, winner(tree, change(source, last, "int main() { return 0; }" + ending + "//")))
    assert found == expected


def test_of_two_that_disagree_the_larger_share_wins(tree: Path) -> None:
    source = tree / "src/app.cu"
    small = winner(tree, change(source, HELPER, "// small\n"), name="small", share=0.2)
    large = winner(tree, change(source, HELPER, "// large\n"), name="large", share=0.6)
    same = winner(tree, change(source, HELPER, "// large\n"), name="same", share=0.1)
    patch = source_patch([small, large, same], [])
    assert patch.kernels == ("large", "same")
    assert patch.left_out == {"small": "it rewrites lines of app.cu that large(double*) rewrites, too"}
    assert applied(tree, small, large, same).startswith("// large\n__global__")


HELPED = """\
struct Pair { double half; };
#define TWICE(x) (2 * half(x))
template <int n> __device__ double many(double x) { return n * x; }
constexpr int kWidth = 4;
__device__ double half(double x) { Pair pair; pair.half = x / 2; return pair.half; }
"""


def test_helpers_that_two_winners_call_alike_get_names_of_their_own(tree: Path) -> None:
    source, other = tree / "src/app.cu", KERNEL.replace("scale", "shift")
    source.write_text(KERNEL + other + "int main() {}")
    body = "x[0] = TWICE(x[0]) + many<kWidth>(half(x[0]))"
    first = winner(tree, change(source, KERNEL, HELPED + KERNEL.replace("x[0] *= 2", body)), share=0.6)
    second = winner(
        tree, change(source, other, HELPED + other.replace("x[0] *= 2", body)), name="ns::shift<int>", share=0.2
    )
    text = applied(tree, second, first)
    assert HELPED + KERNEL.replace("x[0] *= 2", body) in text
    end = text[text.index("struct Pair_of_") :]
    own = "_of_ns_shift_int"
    assert f"struct Pair{own} {{ double half; }};" in end
    assert f"#define TWICE{own}(x) (2 * half{own}(x))" in end
    assert f"Pair{own} pair; pair.half = x / 2; return pair.half;" in end
    assert f"x[0] = TWICE{own}(x[0]) + many{own}<kWidth{own}>(half{own}(x[0]))" in end
    assert "void shift(double *x)" in end


def test_names_that_are_not_new_stay(tree: Path) -> None:
    source, other = tree / "src/app.cu", KERNEL.replace("scale", "shift")
    source.write_text(HELPER + KERNEL + other + "int main() {}")
    lines = "  int lane = 0;\n  x[lane] = half(x[lane]);\n"
    first = winner(tree, change(source, KERNEL, KERNEL.replace("  x[0] *= 2;\n", lines)))
    second = winner(tree, change(source, other, other.replace("  x[0] *= 2;\n", lines)), name="shift", share=0.2)
    assert applied(tree, first, second).count(lines) == 2


def test_a_source_that_has_changed_is_one_sentence(tree: Path) -> None:
    source = tree / "src/app.cu"
    changed = winner(tree, change(source, KERNEL, "// nothing\n"))
    source.write_bytes(b"// new\n" + source.read_bytes())
    with pytest.raises(R3Error, match=r"app\.cu has changed since scale"):
        source_patch([changed], [])
    gone = msgspec.structs.replace(changed, module=Module("m", None, {"directory": "/nowhere"}, ""))
    with pytest.raises(R3Error, match="cannot read the source"):
        source_patch([gone], [])
