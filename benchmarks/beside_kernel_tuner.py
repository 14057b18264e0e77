"""R3 beside Kernel Tuner on a GPU: the same kernel, the same block sizes, evaluations per second and the best found.

Needs a GPU and ``pip install kernel-tuner cupy-cuda13x``. Both measure every block size of saxpy, an example, once.
Kernel Tuner compiles for each; R3 replays the recorded launch and compiles once, since only the launch differs. R3 also
validates every candidate and times the baseline beside it, which Kernel Tuner does not.
"""

from __future__ import annotations

import shutil
import time
from typing import Any

import numpy as np

from benchmarks.common import ROOT, Options, build, parse_options, record_command, report, run
from r3cc.farm import EvaluatorSettings, LocalEvaluator
from r3cc.replay.model import Candidate, LaunchConfiguration, Status, TimingPlan
from r3cc.store import Store

BLOCKS = tuple(range(32, 1025, 32))
ELEMENTS = 50_000_000
REPEATS = 8
"""Launches that each side times for each block size; half of R3's are the baseline's."""
SOURCE = ROOT / "examples/first-steps/saxpy.cu"


def main() -> None:
    options = parse_options(__doc__ or "")
    if options.device == "cpu":
        raise SystemExit("Kernel Tuner has no cpu device: run this on a machine with a GPU")
    ours, theirs = by_r3(options), by_kernel_tuner()
    rows = [
        (name, f"{found['per_second']:.1f} evaluations/s, best {found['best_us']:.1f} us with {found['best_block']}")
        for name, found in (("R3", ours), ("Kernel Tuner", theirs))
    ]
    report(options, "beside_kernel_tuner", {"r3": ours, "kernel_tuner": theirs}, rows)


def by_r3(options: Options) -> dict[str, Any]:
    """Every block size through R3's evaluator; its clock runs from the first submission to the last answer."""
    store = options.out / "kernel-tuner-store"
    shutil.rmtree(store, ignore_errors=True)
    program = build(SOURCE, options)
    run([*record_command(store, options.device), "--", program, str(ELEMENTS)])
    with Store.open(store) as opened:
        kernel = opened.find_kernel("saxpy", None)
        with LocalEvaluator.open(opened, kernel, options.device, EvaluatorSettings()) as evaluator:
            evaluator.baseline()
            began = time.perf_counter()
            candidates = [Candidate(launch=LaunchConfiguration(block=(block, 1, 1))) for block in BLOCKS]
            plan = TimingPlan(samples=REPEATS // 4)
            evaluations = [future.result() for future in [evaluator.submit(each, plan) for each in candidates]]
            seconds = time.perf_counter() - began
    times = {
        block: each.time_ns.median / 1e3
        for block, each in zip(BLOCKS, evaluations, strict=True)
        if each.status is Status.OK and each.time_ns is not None
    }
    return summary(times, len(BLOCKS) / seconds)


def by_kernel_tuner() -> dict[str, Any]:
    """Every block size through Kernel Tuner's brute force."""
    try:
        from kernel_tuner import tune_kernel
    except ImportError:
        raise SystemExit("this needs Kernel Tuner: pip install kernel-tuner cupy-cuda13x") from None
    rng = np.random.default_rng(1)
    x, y = (rng.random(ELEMENTS).astype(np.float32) for _ in range(2))
    arguments = [np.int32(ELEMENTS), np.float32(2.0), x, y]
    began = time.perf_counter()
    results, _ = tune_kernel(
        "saxpy",
        kernel_source(),
        ELEMENTS,
        arguments,
        {"block_size_x": list(BLOCKS)},
        lang="cupy",
        iterations=REPEATS,
        verbose=False,
    )
    seconds = time.perf_counter() - began
    times = {int(each["block_size_x"]): 1e3 * float(each["time"]) for each in results}
    return summary(times, len(BLOCKS) / seconds)


def kernel_source() -> str:
    """The example's kernel alone, with the linkage that Kernel Tuner looks it up by."""
    text = SOURCE.read_text()
    start = text.index("__global__")
    return 'extern "C" ' + text[start : text.index("\n}", start) + 2]


def summary(times: dict[int, float], per_second: float) -> dict[str, Any]:
    """Times in microseconds by block size."""
    best = min(times, key=times.__getitem__)
    return {"times_us": times, "best_block": best, "best_us": times[best], "per_second": per_second}


if __name__ == "__main__":
    main()
