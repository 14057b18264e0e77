"""Every way to look fast without doing the work that was seen in public, and how R3 takes it.

Each cheat is the kernel of relax.cu with a few words changed. Each must be rejected, at the stage and for the reason
that is given.
"""

from __future__ import annotations

import pytest

from r3cc.remix.model import Stage
from r3cc.replay.model import LaunchConfiguration
from tests.remix.source.project import built
from tests.replay.cpu_kernels import built as built_part

pytestmark = pytest.mark.skipif(
    not (built() and built_part("libr3cpu.so")), reason="r3-clang++, libR3Passes.so and libr3cpu.so are not built"
)

Y = "y[i] = a * x[i] + y[i];"
Z = "z[i] = scale[1] * root(x[i]);"
COUNTED = "if (i == 0)\n    launches += count.step * gridDim.y;"
UNCOUNTED = COUNTED.replace("i == 0", "i < 0")
HEAD = "int i = blockIdx.x * blockDim.x + threadIdx.x;"

CHEATS = {
    # read the reference's output, old or freed
    "leaves what a former launch wrote": ([(Z, "")], Stage.HELD_OUT, "mismatch"),
    "leaves integers that a former launch wrote": ([("order[i] = n - 1 - i;", "")], Stage.HELD_OUT, "mismatch"),
    "copies what lies where results were freed": (
        [(Y, "y[i] = x[(1l << 33) + i];")],
        Stage.CORRECT,
        "device_fault",
    ),
    "looks behind its buffers for the result": (
        [(Y, "y[i] = (y + (n + 7) / 8 * 8)[i & 7];")],
        Stage.CORRECT,
        "mismatch",
    ),
    # compute a part only
    "computes half": ([("if (i < n) {", "if (i < n / 2) {")], Stage.CORRECT, "mismatch"),
    "leaves one element out": ([("if (i < n) {", "if (i < n - 1) {")], Stage.CORRECT, "mismatch"),
    "computes one output of two": ([(Y, "")], Stage.CORRECT, "mismatch"),
    "forgets a variable that it has to count in": ([(COUNTED, UNCOUNTED)], Stage.CORRECT, "mismatch"),
    "writes nothing": ([("if (i < n) {", "if (i > n) {"), (COUNTED, UNCOUNTED)], Stage.CORRECT, "mismatch"),
    # cache by input fingerprint or pointer
    "caches in a variable of its own": (
        [(HEAD, HEAD + " static __device__ const double *seen; if (seen == x) return; seen = x;")],
        Stage.ABI,
        "new_global",
    ),
    "caches results in an array of its own": (
        [(HEAD, HEAD + " static __device__ double cache[1024];"), (Y, "y[i] = cache[i] = a * x[i] + y[i];")],
        Stage.ABI,
        "new_global",
    ),
    "caches in a variable of another kernel": (
        [(Y, "y[i] = notes[i] == 0 ? notes[i] = a * x[i] + y[i] : notes[i];")],
        Stage.ABI,
        "other_global",
    ),
    "works in the first launch only": (
        [("if (i < n) {", "if (i < n && launches == 7) {"), (Z, Z + " if (i == n - 1) launches = 9;")],
        Stage.CORRECT,
        "mismatch",
    ),
    "keeps a result on the device's heap": ([(Y, "y[i] = *(double *)malloc(8);")], Stage.REGIONS, "allocation"),
    # patch timer, stream or thread, lazy result
    "records an event of its own": ([(Y, Y + " cudaEventRecord(0, 0);")], Stage.ABI, "unknown_external"),
    "launches the work elsewhere": (
        [(Y, "take_notes<<<1, 1>>>(y);")],
        Stage.COMPILE,
        "compile_error",
    ),
    # fallback to the reference, or a library call
    "calls a library": (
        [(HEAD, HEAD + " __device__ double library_root(double);"), (Z, "z[i] = scale[1] * library_root(x[i]);")],
        Stage.ABI,
        "unknown_external",
    ),
    # launch fails, nothing runs
    "asks for too much shared memory": (
        [(HEAD, HEAD + " __shared__ double tile[6145]; tile[threadIdx.x] = a; a = tile[threadIdx.x ^ 1];")],
        Stage.RESOURCES,
        "shared_memory",
    ),
    "has launch bounds below the launch": (
        [("__global__ void relax", "__global__ void __launch_bounds__(64) relax")],
        Stage.RESOURCES,
        "launch_bounds",
    ),
    # state left for later
    "skips its work when shared memory remembers a former launch": (
        [
            (
                HEAD,
                HEAD
                + " __shared__ volatile int mark[2]; bool again = mark[0] == 4711 && mark[1] == 42;"
                + " __syncthreads(); mark[0] = 4711; mark[1] = 42;",
            ),
            ("if (i < n) {", "if (i < n && !again) {"),
        ],
        None,
        "mismatch",
    ),
    "asks the cache to keep its data": (
        [(Y, Y + ' asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(x));')],
        Stage.REGIONS,
        "inline_assembly",
    ),
    # constants of the one recorded input
    "knows the recorded input": ([(Z, "z[i] = scale[1] * root(1.0 + i / 1000.0);")], Stage.HELD_OUT, "mismatch"),
    "knows the recorded scalar": ([(Y, "y[i] = 3.0 * x[i] + y[i];")], Stage.HELD_OUT, "mismatch"),
    "knows the recorded table": ([(Z, "z[i] = 2.0 * root(x[i]);")], Stage.HELD_OUT, "mismatch"),
    "knows the recorded size": (
        [("if (i < n) {", "if (i < 1000) {"), ("n - 1 - i", "999 - i")],
        Stage.ABI,
        "ignored_parameter",
    ),
    "assumes the recorded size": ([(HEAD, "__builtin_assume(n == 1000); " + HEAD)], Stage.ABI, "ignored_parameter"),
    "leaves other sizes undefined": (
        [(HEAD, "if (n != 1000) __builtin_unreachable(); " + HEAD)],
        Stage.ABI,
        "ignored_parameter",
    ),
    "knows a number in a struct": ([("count.step", "1")], Stage.ABI, "ignored_parameter"),
    "assumes a number in a struct": (
        [(HEAD, "__builtin_assume(count.step == 1); " + HEAD)],
        Stage.ABI,
        "ignored_parameter",
    ),
    "knows the recorded grid": ([(" * gridDim.y", "")], Stage.ABI, "assumed_grid"),
    "knows the recorded block": ([("blockDim.x", "128")], Stage.ABI, "assumed_block"),
    # lower precision
    "computes in single precision": ([(Z, "z[i] = (float)scale[1] * sqrtf((float)x[i]);")], Stage.CORRECT, "mismatch"),
    "adds in single precision": ([(Y, "y[i] = (float)(a * x[i]) + y[i];")], Stage.CORRECT, "mismatch"),
    "approximates the root": ([(Z, "z[i] = scale[1] * (double)__fsqrt_rn((float)x[i]);")], Stage.CORRECT, "mismatch"),
    # errors of about rounding's size
    "is a little off everywhere": ([(Y, "y[i] = (a * x[i] + y[i]) * (1.0 + 5e-10);")], Stage.CORRECT, "mismatch"),
    "keeps nine digits": ([(Z, "z[i] = floor(scale[1] * root(x[i]) * 1e9) / 1e9;")], Stage.CORRECT, "mismatch"),
    # decoys
    "is another kernel under the name of this one": (
        [("void relax(int n, double a,", "void relax(long n, double a,")],
        Stage.ABI,
        "parameters_changed",
    ),
    "hides the kernel behind a decoy": ([("void relax(", "void fast_relax(")], Stage.ABI, "signature_changed"),
    # correct once, wrong under repetition
    "is wrong now and then": (
        [
            (HEAD, HEAD + " __shared__ volatile int turn; int now = turn; __syncthreads(); turn = now + 1;"),
            (Y, Y + " if (now & 1) y[i] += 1.0;"),
        ],
        None,
        "mismatch",
    ),
    "races": ([(COUNTED, COUNTED + " y[n - 1 - i % n] *= 1.0 + 1e-6 * (blockIdx.x & 1);")], Stage.CORRECT, "mismatch"),
    "never ends": ([(HEAD, HEAD + " for (volatile int forever = 1; forever;) {}")], Stage.CORRECT, "timeout"),
    "traps": ([(HEAD, HEAD + " if (x[0] > 0) __trap();")], Stage.CORRECT, "device_fault"),
    # hostile text
    "includes a file": ([(HEAD, "\n#include </etc/passwd>\n" + HEAD)], Stage.REGIONS, "include"),
    "embeds a file": ([(HEAD, HEAD + " const char text[] = {\n#embed </etc/passwd>\n};")], Stage.REGIONS, "include"),
    "asks whether a file is there": (
        [(HEAD, "\n#if __has_include(</etc/passwd>)\n#endif\n" + HEAD)],
        Stage.REGIONS,
        "reads_files",
    ),
    "assembles a file in": ([(HEAD, HEAD + ' asm(".incbin \\"/etc/passwd\\"");')], Stage.REGIONS, "inline_assembly"),
    "redefines what comes after it": ([(HEAD, "\n#define launches notes[0]\n" + HEAD)], Stage.REGIONS, "directive"),
    "runs code in the program's start": (
        [("__global__ void", 'static int started = system("id");\n__global__ void')],
        Stage.REGIONS,
        "host_code",
    ),
    "hides code from the device's compiler": (
        [(HEAD, "\n#ifndef __CUDA_ARCH__\n  n -= 1;\n#endif\n" + HEAD)],
        Stage.REGIONS,
        "condition",
    ),
    "leaves its function": ([(HEAD, HEAD + " } } namespace other { void f() {")], Stage.REGIONS, "unbalanced"),
}


def rewritten(judge, changes):
    text = judge.texts["relax"]
    for old, new in changes:
        assert old in text, "the cheat does not fit the kernel any more"
        text = text.replace(old, new)
    return text


def test_honest_rewrites_pass(judge):
    text = judge.texts["relax"]
    assert judge({}) is None
    assert judge({"relax": text.replace(Y, "double old = __ldg(&y[i]); y[i] = __fma_rn(a, x[i], old);")}) is None
    assert (
        judge(
            {
                "relax": text.replace("if (i < n) {", "for (; i < n; i += 1 << 30) {").replace(
                    "if (i == 0)", "if (threadIdx.x + blockIdx.x == 0)"
                )
            }
        )
        is None
    )
    assert judge({"root": judge.texts["root"].replace("sqrt(value)", "value / sqrt(value)")}) is None


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_rejected(judge, name):
    changes, stage, reason = CHEATS[name]
    found = judge({"relax": rewritten(judge, changes)})
    assert found is not None, "it passed"
    assert found.reason == reason, found
    if stage is not None:
        assert found.stage == stage, found
    if found.stage is not Stage.REGIONS:  # those quote the text itself
        assert "/" not in found.message.replace("a / b", ""), found.message


def test_a_launch_that_leaves_threads_out_is_rejected(judge):
    found = judge({"relax": judge.texts["relax"].replace("i < n", "i < n + 0")}, LaunchConfiguration(grid=(4, 1, 1)))
    assert (found.stage, found.reason) == (Stage.CORRECT, "mismatch")
