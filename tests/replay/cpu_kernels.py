"""Code objects for the cpu device from kernels.c, and the launch that their kernel was "recorded" in."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from r3cc.errors import R3Error
from r3cc.replay.facts import KernelFacts
from r3cc.toolchain.llvm import require_clang
from r3cc.toolchain.native import native_library
from tests.replay.launches import MemoryLaunches, make_launch

HERE = Path(__file__).parent
ABI = HERE.parents[1] / "record_runtime" / "cpu"

FACTS = KernelFacts("scale", {0: "double", 1: "double"}, {"factor": "double", "calls": "i32"}, frozenset({"factor"}))
Y, X = 0x610000000000, 0x610000100000
COUNT = 1000


def built(name):
    """Skip where a native part of R3 is not built."""
    try:
        native_library(name)
    except R3Error:
        return False
    return True


needs_cpu_device = pytest.mark.skipif(not built("libr3cpu.so"), reason="libr3cpu.so is not built")


def build(folder, variant):
    """Shared object of kernels.c in a variant."""
    target = folder / f"{variant.lower()}.so"
    command = [require_clang().path, "-shared", "-fPIC", "-O1", f"-DVARIANT={variant}", f"-I{ABI}"]
    subprocess.run([*command, "-o", target, HERE / "kernels.c", "-lm"], check=True, capture_output=True)
    return target


def recorded(launches=1, variant="RIGHT", app_ns=0.0):
    """Launches of scale at two sizes of block, the second one on other data; variant ACCUMULATE adds to y."""
    inputs = [np.linspace(1.0, 2.0, COUNT) + number for number in range(launches)]
    y = np.full(COUNT, 0.5)
    return _launched([(x, y, 3.0 * x + (y if variant == "ACCUMULATE" else 0.0)) for x in inputs], app_ns)


def cancelling():
    """A launch of scale's variant CANCELS: differences of a millionth of their terms, and through zero."""
    x = 1.0 + 1e-4 * np.cos(np.arange(COUNT) / 50)
    following = np.roll(x, -1)
    after = 3.0 * (following * following * following - x * x * x)
    return _launched([(x, np.full(COUNT, 0.5), after)])


def _launched(content, app_ns=0.0):
    source = MemoryLaunches()
    for number, (x, y, after) in enumerate(content):
        factor, calls = np.array([0.0, 3.0]), np.array([7], np.int32)
        arguments = np.array([Y, X], np.uint64).tobytes() + np.array([COUNT, 0], np.int32).tobytes()
        launch = make_launch(
            [source.region(Y, y, after), source.region(X, x, x)],
            [source.variable("factor", factor, factor), source.variable("calls", calls, calls + 1)],
            arguments[:20],
            (8, 8, 4),
            name="scale",
            grid=(16, 1, 1),
            block=(64, 1, 1),
            launch=f"host-1-0/{number}",
        )
        source.add(launch, app_ns=app_ns)
    return source
