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
        ("#if 1 + 1 > 1\nx[0] = 1'000;\n#else\nx[0] = '{';\n#endif", None),
        ("#if R3_PARAM(wide, 0, 1) > 0\nx[0] = 1;\n#endif", None),
        ("#if defined(__CUDA_ARCH__)\nx[0] = 1;\n#endif", "condition"),
        ("#ifndef __CUDA_ARCH__\n#endif", "condition"),
        ("#if __x86_64__\n#endif", "condition"),
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


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ("static int started = system(0);", "host_code"),
        ("int started{system(0)};", "host_code"),
        ("const int started = system(0);", "host_code"),
        ("struct Evil { Evil() { system(0); } } evil;", "host_code"),
        ("struct Evil { static inline int x = system(0); };", "host_code"),
        ("template <class T> void cudaFoo(T x) { system(0); }", "host_code"),
        ("namespace { struct E { E(); }; E e; }", "host_code"),
        ("namespace a { void f() {} }", "host_code"),
        ("__attribute__((constructor)) void f() { system(0); }", "host_code"),
        ("__host__ __device__ void cudaFoo(float *x) {}", "host_code"),
        ("int (*f)(__device__ int) = g;", "host_code"),
        ("__device__ __attribute__((used, host)) void cudaFoo(float *x) {}", "attribute"),
        ("__device__ __location__(host) void cudaFoo(float *x) {}", "attribute"),
        ("[[gnu::constructor]] __device__ void f() {}", "attribute"),
        ('__device__ __attribute__((alias("g"))) void f();', "attribute"),
        ("__device__ __attribute__((noinline, aligned(sizeof(double)))) int f(int *a) { return a[a[0]]; }", None),
        ("[[nodiscard]] __device__ int f(int x) { auto g = [&](int y) { return x + y; }; return g(1); }", None),
        ("void f();", "host_code"),
        ("__device__ struct A f() {} static int x = system(0);", "host_code"),
        ("struct A f() {}", "host_code"),
        ("__launch_bounds__(64) __global__ void other() {}", None),
        ("typedef struct { double x, y; } Pair;", None),
        ("__device__ double square(double x) { return x * x; }", None),
        ("template <int N> __device__ __forceinline__ double f(double x) { return N < 3 ? x : 0; }", None),
        ("namespace { __device__ int f(int); }", None),
        ("namespace detail::more { constexpr int N = 4; }", None),
        ("static const double third = 1.0 / 3.0;", None),
        ("static constexpr int tile[2] = {1, 2};", None),
        ("__constant__ double weights[2] = {1, 2};", None),
        (
            "struct Pair { double x, y; static constexpr int size = 2; __device__ double sum() { return x + y; } };",
            None,
        ),
        ("enum { A, B };", None),
        ("enum class Kind : int { A = 1 };", None),
        ("using real = double; typedef double other;", None),
        ("template <class T> struct Box { T x; };", None),
        ('extern "C" __device__ int f(int x) { return x; }', None),
        ("struct P { double x; __device__ P &operator=(const P &o) { x = o.x; return *this; } };", None),
    ],
)
def test_nothing_is_declared_for_the_host(before, reason):
    found = check_text("k", f"{before}\n{KERNEL % ''}", KERNEL % "")
    assert (found.reason if found else None) == reason


def test_what_the_original_declares_may_stay():
    for original in (
        "KERNEL_HEAD void k(float *x) { x[0] = 1; }",
        "__host__ __device__ double f(double x) { return x; }",
        "double operator()(double x) const { return x; }",
        "[=] __device__ (int i) { x[i] = 0; }",
    ):
        assert check_text("k", original.replace("{", "{ ;", 1), original) is None
    assert check_text("k", "FAST void f() {} KERNEL_HEAD void k(float *x) {}", "KERNEL_HEAD void k(float *x) {}")
    assert not check_text(
        "k", "KERNEL_HEAD int f() {} KERNEL_HEAD void k(float *x) {}", "KERNEL_HEAD void k(float *x) {}"
    )


def test_a_value_is_short():
    """It may stand in very many places."""
    texts = {"k": f"R3_PARAM(a, {'1 + ' * 40_000}1);" + "R3_PARAM(a);" * 1000}
    with pytest.raises(ParameterError, match="more than 64 characters"):
        parameters_of(texts)


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
