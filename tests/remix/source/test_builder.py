"""From a kernel built by r3-clang++ to its regions, and from rewritten regions to variants."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import pytest

from r3cc.errors import R3Error
from r3cc.remix.model import Built, Rejection, Stage, Variant
from r3cc.store.variants import variant_paths
from tests.remix.source.project import build_project, built, kernel_of, open_builder

pytestmark = pytest.mark.skipif(not built(), reason="r3-clang++ and libR3Passes.so are not built")

PLAIN = "plain"


def regions(builder):
    return {each.name: each for each in builder.source.regions}


def variant_of(opened, texts, values={}):  # noqa: B006
    built = opened.build(texts, values)
    return built.variant if isinstance(built, Built) else built


def test_regions_are_the_kernel_and_what_it_calls_in_the_users_files(builder, project):
    opened = builder(PLAIN)
    found = opened.source.regions
    assert [each.name for each in found] == ["plain", "square", "operator()", "hidden"]
    assert [each.kernel for each in found] == [True, False, False, False]
    assert {Path(each.path).name for each in found} == {"kernels.cu", "square.h", "operators.h"}
    assert all(not Path(each.path).is_absolute() for each in found)
    assert found[0].text.startswith("__global__ void\nplain(double") and found[0].text.endswith("}")
    for each in found:
        content = (project[0] / "build" / each.path).read_bytes()
        assert content[each.begin : each.end].decode() == each.text


def test_a_template_in_an_anonymous_namespace_has_its_header_and_bounds(builder):
    text = builder("(anonymous namespace)::templated").source.regions[0].text
    assert text.startswith("template <int Times>\n__launch_bounds__(256)")


def test_a_kernel_whose_head_is_a_macro_and_one_that_a_macro_makes(builder):
    names = [each.name for each in builder("wrapped").source.regions]
    assert names == ["wrapped", "operator+", "operator()"]
    with pytest.raises(R3Error, match="made by a macro"):
        builder("generated_float")


def test_the_unchanged_source_gives_the_recorded_module_bit_for_bit(builder, project):
    opened = builder(PLAIN)
    variant = variant_of(opened, {})
    assert isinstance(variant, Variant)
    bitcode, info = variant_paths(opened._store, variant.id)
    assert bitcode.read_bytes() == project[1].bitcode
    assert msgspec.json.decode(info.read_bytes()) == project[1].info
    assert variant.ir_hash == opened._original.digest
    assert opened._module.uses_preamble(opened.source.name), "the precompiled preamble was not used"


def test_a_rewrite_of_the_kernel_gives_other_ir_and_leaves_the_tree_alone(builder, project):
    opened = builder(PLAIN)
    tree = sorted((path, path.read_bytes()) for path in (project[0] / "tree").rglob("*") if path.is_file())
    text = regions(opened)["plain"].text
    variant = variant_of(opened, {"plain": text.replace("if (i < n) {", "if (i >= n) return; {")})
    assert isinstance(variant, Variant), variant
    assert variant.id == hashlib.sha256(variant_paths(opened._store, variant.id)[0].read_bytes()).hexdigest()[:16]
    original = variant_of(opened, {})
    assert variant.ir_hash != original.ir_hash and variant.source_hash != original.source_hash
    assert tree == sorted((path, path.read_bytes()) for path in (project[0] / "tree").rglob("*") if path.is_file())


def test_other_words_have_one_source_hash_and_one_ir_hash(builder):
    opened = builder(PLAIN)
    text = regions(opened)["plain"].text
    original = variant_of(opened, {})
    spaced = variant_of(opened, {"plain": text.replace("{", "{ /* as before */\n", 1)})
    renamed = variant_of(opened, {"plain": text.replace("twice", "doubled")})
    assert spaced.source_hash == original.source_hash
    assert renamed.source_hash != original.source_hash and renamed.ir_hash == original.ir_hash


def test_what_a_log_tells_of_is_kept_under_its_name_if_it_is_the_same_code(builder):
    opened = builder(PLAIN)
    text = regions(opened)[PLAIN].text
    texts = {PLAIN: text.replace("{", "{\n  int unused = 0;", 1)}
    here = variant_of(opened, texts)
    for name, ir_hash, kept in (("1" * 16, here.ir_hash, True), ("2" * 16, "of other code", False)):
        opened.rebuild(msgspec.structs.replace(here, id=name, ir_hash=ir_hash), texts)
        bitcode, info = variant_paths(opened._store, name)
        assert (bitcode.is_file(), info.is_file()) == (kept, kept)


def test_functions_in_headers_can_be_rewritten_together_with_the_kernel(builder):
    opened = builder(PLAIN)
    found = regions(opened)
    variant = variant_of(
        opened,
        {
            "square": found["square"].text.replace("x * x", "x * (x + T(0))"),
            "operator()": found["operator()"].text.replace("factor * x", "x * factor + 0.0"),
            "plain": found["plain"].text.replace("+ 1.0", "+ 2.0"),
        },
    )
    assert isinstance(variant, Variant), variant
    assert variant.ir_hash != variant_of(opened, {"plain": found["plain"].text.replace("+ 1.0", "+ 2.0")}).ir_hash


def test_parameters_take_the_first_value_unless_told(builder):
    opened = builder(PLAIN)
    text = regions(opened)["plain"].text.replace(
        "auto twice", "#pragma unroll R3_PARAM(factor, 2, 4)\n  for (int k = 0; k < n; ++k) x[k] += 1;\n  auto twice"
    )
    texts = {"plain": text.replace("+ 1.0", "+ R3_PARAM(more, 1.0, 0.5 + 2.0)")}
    assert [(each.name, each.values) for each in opened.parameters(texts)] == [
        ("factor", ("2", "4")),
        ("more", ("1.0", "0.5 + 2.0")),
    ]
    default, other = variant_of(opened, texts), variant_of(opened, texts, {"more": "0.5 + 2.0"})
    assert default.parameters == {"factor": "2", "more": "1.0"}
    assert other.parameters == {"factor": "2", "more": "0.5 + 2.0"} and other.ir_hash != default.ir_hash
    for wrong, values in (({"plain": text}, {"factor": "3"}), ({"plain": text + "// R3_PARAM(\nR3_PARAM(x"}, {})):
        assert variant_of(opened, wrong, values).stage is Stage.REGIONS


REJECTED = [
    ("twice = [", "twice = [[", Stage.REGIONS, "unbalanced"),
    ("return square(value) + 1.0", "return squared(value)", Stage.COMPILE, "compile_error"),
    ("plain(double *x, int n)", "other(double *x, int n)", Stage.ABI, "signature_changed"),
    ("plain(double *x, int n)", "plain(double *x, long n)", Stage.ABI, "parameters_changed"),
    ("plain(double *x, int n)", "plain(double *x, int n, int m = 0)", Stage.ABI, "parameters_changed"),
    ("atomicAdd(&calls, 1)", "others += 1.0", Stage.ABI, "other_global"),
    ("__global__ void", "__device__ double cache[64];\n__global__ void", None, ""),
    ("int i =", "static __device__ double cache[64]; cache[n % 64] += 1.0; int i =", Stage.ABI, "new_global"),
    ("atomicAdd(&calls, 1)", "extern __device__ int other(int); calls = other(i)", None, ""),
    ("int i =", "__shared__ double tile[8192]; tile[threadIdx.x] = x[0]; x[1] = tile[n]; int i =", None, ""),
    ("__global__ void", "__launch_bounds__(64) __global__ void", Stage.RESOURCES, "launch_bounds"),
]


@pytest.mark.parametrize(("old", "new", "stage", "reason"), REJECTED)
def test_what_is_not_the_recorded_kernel_any_more_is_rejected(builder, old, new, stage, reason):
    opened = builder(PLAIN)
    text = regions(opened)["plain"].text
    assert old in text
    answer = variant_of(opened, {"plain": text.replace(old, new)})
    assert isinstance(answer, Rejection), answer
    if stage is not None:
        assert (answer.stage, answer.reason) == (stage, reason), answer
    assert "/" not in answer.message.replace("R3_", "") and answer.message.endswith((".", ")"))


def test_an_unknown_region_is_rejected(builder):
    assert builder(PLAIN).build({"nobody": "void nobody() {}"}).reason == "unknown_region"


def test_a_message_of_the_compiler_names_region_and_line(builder):
    opened = builder(PLAIN)
    text = regions(opened)["square"].text.replace("return", "\n\n  return undeclared +")
    answer = variant_of(opened, {"square": text})
    assert answer.stage is Stage.COMPILE and "undeclared" in answer.message
    assert "in 'square', line 3" in answer.message


def test_a_source_that_was_changed_or_is_gone_is_one_sentence(tmp_path):
    module = build_project(tmp_path)
    source = tmp_path / "tree" / "kernels.cu"
    text = source.read_text()
    source.write_text(text + "\n")
    with pytest.raises(R3Error, match="was changed since it was recorded"):
        open_builder(tmp_path / "store", module, PLAIN)
    source.write_text(text)
    header = tmp_path / "tree" / "include" / "deep" / "square.h"
    header.write_text(header.read_text().replace("x * x", "x + x"))
    with pytest.raises(R3Error, match="does not give the recorded kernel any more"):
        open_builder(tmp_path / "store", module, PLAIN)
    source.unlink()
    with pytest.raises(R3Error, match="is not in"):
        open_builder(tmp_path / "store", module, PLAIN)
    assert kernel_of(module, PLAIN).name == PLAIN
