"""R3 beside Kernel Tuner on a GPU: the same kernels, the same block shapes, evaluations per second and the best found.

Needs a GPU and Kernel Tuner 1.5 (``pip install kernel-tuner``) over cuda-bindings, which R3 uses as well, or CuPy. Both
measure every shape of each kernel of ``programs/shapes_kernels.cuh`` once. Kernel Tuner compiles for each; R3 replays
the recorded launch and compiles once, since only the launch differs. R3 also validates every candidate and times the
baseline beside it, which Kernel Tuner does not. Which tool's best shape is better is said by both tools' own tables.
"""

from __future__ import annotations

import json
import random
import shutil
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.common import PROGRAMS, Options, build, options_of, options_parser, record_command, report, run
from benchmarks.examples import spaces
from r3cc.farm import EvaluatorSettings
from r3cc.farm.local import LocalEvaluator
from r3cc.replay.model import Candidate, Dim3, LaunchConfiguration, Status, TimingPlan
from r3cc.store import Store
from r3cc.tune.knobs import BLOCK

BACKENDS = ("NVCUDA", "cupy")
"""Kernel Tuner's faces of CUDA, in the order in which they are tried."""
REPEATS = 8
"""Launches that each side times for each block shape; half of R3's are the baseline's."""
EDGE = 4096
CUBE = 256
"""What the program makes of this edge."""
Times = dict[Dim3, float]
"""Microseconds by block."""


@dataclass(frozen=True)
class Problem:
    """A kernel as Kernel Tuner is told of it."""

    size: Dim3
    arguments: Sequence[Any]


@dataclass(frozen=True)
class Measured:
    """What one tool found."""

    times: Times
    seconds: float


def main() -> None:
    parser = options_parser(__doc__ or "")
    parser.add_argument("--shapes", type=int, default=64, help="most block shapes of one kernel [64]")
    given = parser.parse_args()
    options = options_of(given)
    if options.device == "cpu":
        raise SystemExit("Kernel Tuner has no cpu device: run this on a machine with a GPU")
    most = 8 if options.quick else given.shapes
    ours = by_r3(options, most)
    shapes = {kernel: list(measured.times) for kernel, measured in ours.items()}
    theirs = by_kernel_tuner(shapes)
    results = {kernel: compared(ours[kernel], theirs[kernel]) for kernel in theirs}
    rows = [(kernel, text(found)) for kernel, found in results.items()]
    report(options, "beside_kernel_tuner", results, rows or [("none", "no kernel was measured by both")])
    if not results:
        raise SystemExit(1)


def by_r3(options: Options, most: int) -> dict[str, Measured]:
    """Every shape through R3's evaluator; its clock runs from the first submission to the last answer."""
    path = options.out / "kernel-tuner-store"
    shutil.rmtree(path, ignore_errors=True)
    program = build(PROGRAMS / "shapes.cu", options)
    run([*record_command(path, options.device), "--", program, str(EDGE)])
    found = {}
    with Store.open(path) as store:
        for choice, space in spaces(store, store.kernels(store.recording(None).id), options.device):
            kernel = choice.kernel
            blocks = [block for knob in space.knobs if knob.key == BLOCK for block in map(dimensions, knob.values)]
            blocks = random.Random(1).sample(blocks, min(most, len(blocks)))
            try:
                with LocalEvaluator.open(store, kernel, options.device, EvaluatorSettings()) as evaluator:
                    evaluator.baseline()
                    found[kernel.name] = measure(evaluator, blocks)
            except Exception:
                traceback.print_exc()
                print(f"R3: {kernel.name} left out", flush=True)
            else:
                print(f"R3: {kernel.name} {len(blocks) / found[kernel.name].seconds:.1f} shapes/s", flush=True)
    return found


def measure(evaluator: LocalEvaluator, blocks: Sequence[Dim3]) -> Measured:
    """All blocks, in microseconds; those that fail are left out."""
    began = time.perf_counter()
    plan = TimingPlan(samples=REPEATS // 4)
    futures = [evaluator.submit(Candidate(launch=LaunchConfiguration(block=block)), plan) for block in blocks]
    evaluations = [future.result() for future in futures]
    seconds = time.perf_counter() - began
    times = {
        block: each.time_ns.median / 1e3
        for block, each in zip(blocks, evaluations, strict=True)
        if each.status is Status.OK and each.time_ns is not None
    }
    return Measured(times, seconds)


def by_kernel_tuner(shapes: Mapping[str, Sequence[Dim3]]) -> dict[str, Measured]:
    """The same shapes through Kernel Tuner's brute force; its clock runs from the call to its return."""
    try:
        import kernel_tuner  # noqa: F401
    except ImportError as error:
        raise SystemExit(f"this needs Kernel Tuner: pip install kernel-tuner cuda-bindings ({error})") from None
    problems = problems_of(EDGE, CUBE)
    found = {}
    for kernel, blocks in shapes.items():
        for backend in BACKENDS:
            try:
                found[kernel] = brute_force(kernel, problems[kernel], blocks, backend)
            except Exception:
                traceback.print_exc()
                print(f"Kernel Tuner over {backend}: {kernel} failed", flush=True)
            else:
                speed = len(blocks) / found[kernel].seconds
                print(f"Kernel Tuner over {backend}: {kernel} {speed:.1f} shapes/s", flush=True)
                break
    return found


def brute_force(kernel: str, problem: Problem, blocks: Sequence[Dim3], backend: str) -> Measured:
    """Kernel Tuner's times of these blocks."""
    from kernel_tuner import tune_kernel

    names = ("block_size_x", "block_size_y", "block_size_z")
    wanted = set(blocks)

    def given(parameters: Mapping[str, int]) -> bool:  # a named function: it takes lambdas apart as text
        return tuple(parameters[name] for name in names) in wanted

    values = {name: sorted({block[axis] for block in blocks}) for axis, name in enumerate(names)}
    began = time.perf_counter()
    results, _ = tune_kernel(
        kernel,
        (PROGRAMS / "shapes_kernels.cuh").read_text(),
        problem.size,
        list(problem.arguments),
        values,
        restrictions=given,
        lang=backend,
        iterations=REPEATS,
        quiet=True,
    )
    seconds = time.perf_counter() - began
    return Measured(times_of(results, names), seconds)


def times_of(results: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Times:
    """Microseconds by block of Kernel Tuner's results, milliseconds each; a failed one has a word instead of a time."""
    times: Times = {}
    for each in results:
        x, y, z = (int(each[name]) for name in names)
        if isinstance(each["time"], float):
            times[x, y, z] = 1e3 * float(each["time"])
    return times


def problems_of(edge: int, cube: int) -> dict[str, Problem]:
    """What the program launches."""
    rng = np.random.default_rng(1)
    x, y = (rng.random(edge * edge, dtype=np.float32) for _ in range(2))
    plane = Problem((edge, edge, 1), (np.int32(edge), np.int32(edge), x, y))
    return {
        "saxpy": Problem((edge * edge, 1, 1), (np.int32(edge * edge), np.float32(2.0), x, y)),
        "transpose": plane,
        "blur": plane,
        "diffuse": Problem((cube, cube, cube), (np.int32(cube), np.int32(cube), np.int32(cube), x, y)),
    }


def compared(ours: Measured, theirs: Measured) -> dict[str, Any]:
    """Both tools on the shapes that both measured, in a form for JSON."""
    both = [block for block in ours.times if block in theirs.times]
    ours_best, theirs_best = min(both, key=ours.times.__getitem__), min(both, key=theirs.times.__getitem__)
    return {
        "shapes": len(both),
        "r3": side(ours, ours_best),
        "kernel_tuner": side(theirs, theirs_best),
        "r3_best_by_kernel_tuner": theirs.times[ours_best] / theirs.times[theirs_best],
        "kernel_tuner_best_by_r3": ours.times[theirs_best] / ours.times[ours_best],
    }


def side(measured: Measured, best: Dim3) -> dict[str, Any]:
    """One tool's half."""
    return {
        "per_second": len(measured.times) / measured.seconds,
        "best_block": best,
        "best_us": measured.times[best],
        "times_us": {json.dumps(block): value for block, value in measured.times.items()},
    }


def text(found: Mapping[str, Any]) -> str:
    """One line for people."""
    parts = [
        f"{name} {one['per_second']:.1f}/s, best {one['best_us']:.1f} us with {one['best_block']}"
        for name, one in (("R3", found["r3"]), ("Kernel Tuner", found["kernel_tuner"]))
    ]
    cross = f"R3's best by Kernel Tuner's table {found['r3_best_by_kernel_tuner']:.3f} of its best"
    return "; ".join(
        (f"{found['shapes']} shapes", *parts, cross, f"the reverse {found['kernel_tuner_best_by_r3']:.3f}")
    )


def dimensions(text: str) -> Dim3:
    """``x,y,z`` as numbers."""
    x, y, z = map(int, text.split(","))
    return x, y, z


if __name__ == "__main__":
    main()
