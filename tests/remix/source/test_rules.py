"""What a rewrite's text may hold, told without a compiler."""

from __future__ import annotations

import pytest

from r3cc.remix.model import Parameter
from r3cc.remix.source.parameters import ParameterError, expand, parameters_of
from r3cc.remix.source.rules import check_text
from r3cc.remix.source.tokens import Kind, source_hash, tokens

KERNEL = "__global__ void k(float *x) {\n%s\n}"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('asm("exit;");', "inline_assembly"),
        ('__asm__ volatile ("exit;");', "inline_assembly"),
        ('as\\\nm("exit;");', "strange_text"),
        ("x[0] = 1; /* */ \n#include </etc/passwd>", "include"),
        ("#  /**/ include </etc/passwd>", "include"),
        ("#inc\\\nlude </etc/passwd>", "include"),
        ("%:include </etc/passwd>", "include"),
        ("??=include </etc/passwd>", "include"),
        ("char s[] = {\n#embed </etc/passwd>\n};", "include"),
        ("#if __has_include(</etc/passwd>)\n#endif", "reads_files"),
        ("#ifdef X\n#elif __has_embed(</etc/passwd>)\n#endif", "reads_files"),
        ("const char *s = __FILE__;", "reads_files"),
        ("const char *s = __builtin_FILE();", "reads_files"),
        ('_Pragma("unroll")', "preprocessor"),
        ("#define asmx 1", "directive"),
        ("#pragma clang attribute push", "directive"),
        ("#pragma GCC poison x", "directive"),
        ("#line 1", "directive"),
        ("float *p = new float[2];", "allocation"),
        ("x = (float *)malloc(8);", "allocation"),
        ('const char *s = R"x(})x";', "strange_text"),
        ("\\u0061sm(0);", "strange_text"),
        ("\ud800", "strange_text"),
        ("x[0] = 1;\0", "strange_text"),
        ("x[0] = 1; // Größe π", None),
        ("} __global__ void other() {", None),
        ("}", "unbalanced"),
        ("if (x) {", "unbalanced"),
        ("x[(0];", "unbalanced"),
        ("#if 1", "unbalanced"),
        ("((((" * 100 + "))))" * 100, "too_deep"),
        ("x[0] = 1; // asm in words, #include as well", None),
        ('const char *s = "asm #include";', None),
        ("#pragma unroll 4\nfor (;;) {}", None),
        ("#pragma unroll\nfor (;;) {}", None),
        ("#if defined(__CUDA_ARCH__)\nx[0] = 1'000;\n#else\nx[0] = '{';\n#endif", None),
    ],
)
def test_texts_are_judged_by_their_tokens(body, reason):
    found = check_text("k", KERNEL % body, KERNEL % "")
    assert (found.reason if found else None) == reason


def test_what_the_original_holds_may_stay_but_not_more_of_it():
    original = KERNEL % '#define N 4\nasm("membar.gl;");'
    assert check_text("k", original.replace("{", "{ x[1] = 0;"), original) is None
    assert check_text("k", original + ' void f() { asm("exit;"); }', original).reason == "inline_assembly"
    assert check_text("k", original.replace("#define N 4", "#define N 5"), original).reason == "directive"


def test_a_text_of_a_megabyte_is_too_long():
    assert check_text("k", KERNEL % ("x[0] += 1;" * 100_000), KERNEL).reason == "too_long"


def test_tokens_cover_a_text():
    text = 'x<<=1.5e-3f; // c\nauto s = u8"a\\"b"; /* d */ y->*z;\n# pragma  unroll \\\n 4\n'
    found = list(tokens(text))
    assert [each.text for each in found if each.kind is Kind.DIRECTIVE] == ["#pragma unroll 4"]
    assert all(text[each.begin : each.end] == each.text for each in found if each.kind is not Kind.DIRECTIVE)
    assert [each.text for each in found[:3]] == ["x", "<<=", "1.5e-3f"]


def test_a_hash_sees_tokens_only():
    assert source_hash({"k": "a + b"}) == source_hash({"k": "a+b // sum\n"})
    assert source_hash({"k": "a + b"}) != source_hash({"k": "a ++ b"})
    assert source_hash({"k": "a"}) != source_hash({"l": "a"})


def test_parameters_are_found_and_placed():
    texts = {"k": "f<R3_PARAM(T, float, double)>(R3_PARAM(n, 1, g(2, 3)), R3_PARAM(n));", "l": "no"}
    assert parameters_of(texts) == (Parameter("T", ("float", "double")), Parameter("n", ("1", "g(2, 3)")))
    assert expand(texts["k"], {"T": "double", "n": "g(2, 3)"}) == "f<double>((g(2, 3)), (g(2, 3)));"
    assert expand("R3_PARAM(n,\n 1)\nx", {"n": "1"}).count("\n") == 2


@pytest.mark.parametrize(
    "text",
    ["R3_PARAM", "R3_PARAM(", "R3_PARAM()", "R3_PARAM(n)", "R3_PARAM(n,)", "R3_PARAM(n, 1) R3_PARAM(n, 2)"],
)
def test_a_wrong_parameter_says_so(text):
    with pytest.raises(ParameterError):
        parameters_of({"k": text})
