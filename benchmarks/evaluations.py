"""Evaluations per second, compile-bound and launch-only, with the time split by phase against its floor."""

from __future__ import annotations

import itertools
import random
import shutil
import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT, Options, build, parse_options, record_command, report, run
from r3cc.farm import EvaluatorSettings
from r3cc.farm.local import LocalEvaluator, compile_processes
from r3cc.replay.model import Candidate, Evaluation, LaunchConfiguration, TimingPlan
from r3cc.replay.stages import Stage
from r3cc.store import Store

KERNEL = "tendencies_z"
COMPILING = ("compile_ir", "codegen", "assemble")
PASSES = ("instcombine", "simplifycfg", "gvn", "early-cse", "sroa", "reassociate", "dse", "adce", "sink", "slsr")
SEED = 1
PLAN = TimingPlan(samples=3)


def main() -> None:
    options = parse_options(__doc__ or "")
    store = recording(options)
    count = 8 if options.quick else (40 if options.device == "cpu" else 200)
    results = {
        "compile_bound": measure(distinct(compile_bound(count)), store, options.device),
        "launch_only": measure(distinct(launch_only(count)), store, options.device),
    }
    rows = [row for name, found in results.items() for row in _rows(name, found)]
    report(options, "evaluations", results, rows)


def recording(options: Options) -> Path:
    """The store with the kernel's launches."""
    program = build(ROOT / "examples/weather/weather.cu", options)
    size = ("64", "3") if options.device == "cpu" else ("2048", "10")
    store = options.out / "evaluation-store"
    shutil.rmtree(store, ignore_errors=True)
    run([*record_command(store, options.device, "--kernels", KERNEL), "--", program, *size])
    return store


def compile_bound(count: int) -> list[Candidate]:
    """Pipelines that all differ: three passes after the default ones."""
    orders = list(itertools.permutations(PASSES, 3))
    chosen = random.Random(SEED).sample(orders, count)
    return [Candidate(pipeline=f"default<O3>,function({','.join(order)})") for order in chosen]


def launch_only(count: int) -> list[Candidate]:
    """Block shapes that all differ; the code stays the recorded build's."""
    extents = range(1, 65)
    shapes = [(x, y, 1) for x, y in itertools.product(extents, extents) if 32 <= x * y <= 512]
    chosen = random.Random(SEED).sample(shapes, count)
    return [Candidate(launch=LaunchConfiguration(block=shape)) for shape in chosen]


def distinct(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """No candidate twice, so that none is answered from memory."""
    return tuple(dict.fromkeys(candidates))


def measure(candidates: Sequence[Candidate], store: Path, device: str) -> dict[str, Any]:
    """Judge them all through the evaluator that searches use; ``device`` may be ``cuda:*``."""
    settings = EvaluatorSettings()
    with Store.open(store) as opened:
        kernel = opened.find_kernel(KERNEL)
        # An empty cache of code objects: what is measured is compiled.
        shutil.rmtree(opened.cache, ignore_errors=True)
        with LocalEvaluator.open(opened, kernel, device, settings) as evaluator:
            baseline = evaluator.baseline()
            if baseline.status != "ok":
                raise SystemExit(f"the baseline is not valid: {baseline.status}: {baseline.message}")
            evaluator.prepare(evaluator.width).result()
            begin = time.perf_counter()
            evaluations = _evaluate(evaluator, candidates)
            wall = time.perf_counter() - begin
    return _results(evaluations, wall, compile_processes(settings))


def _evaluate(evaluator: LocalEvaluator, candidates: Sequence[Candidate]) -> list[Evaluation]:
    """Keep as many in flight as the evaluator says is worth it, as a search does."""
    waiting, flying, done = deque(candidates), deque[Any](), list[Evaluation]()
    while waiting or flying:
        while waiting and len(flying) < evaluator.width:
            flying.append(evaluator.submit(waiting.popleft(), PLAN))
        done.append(flying.popleft().result())
    return done


def _results(evaluations: Sequence[Evaluation], wall: float, processes: int) -> dict[str, Any]:
    """Floor: the compilers' own work spread over the compile processes, or the kernels' own time, if that is longer."""
    phases = _phases(evaluations)
    compiling = sum(phases[name] for name in COMPILING) / 1e9
    running = phases[Stage.LAUNCH.value] / 1e9
    return {
        "evaluations": len(evaluations),
        "wall_s": wall,
        "per_second": len(evaluations) / wall,
        "statuses": dict(Counter(str(evaluation.status) for evaluation in evaluations)),
        "distinct_objects": len({evaluation.object_hash for evaluation in evaluations}),
        "phases_ms_each": {name: spent / 1e6 / len(evaluations) for name, spent in sorted(phases.items())},
        "compile_processes": processes,
        "floor_s": max(compiling / processes, running),
    }


def _phases(evaluations: Sequence[Evaluation]) -> Counter[str]:
    """Nanoseconds by phase. What an evaluation took from an earlier one, it reports again: count that once.

    The baseline's code was compiled before the clock began.
    """
    phases: Counter[str] = Counter()
    compiled, measured = {_code(Candidate())}, set[Any]()
    for evaluation in evaluations:
        candidate = evaluation.candidate
        measurement = (evaluation.object_hash, candidate.launch)
        for name, spent in evaluation.phases_ns.items():
            known = _code(candidate) in compiled if name in COMPILING else measurement in measured
            phases[name] += 0 if known else spent
        compiled.add(_code(candidate))
        measured.add(measurement)
    return phases


def _code(candidate: Candidate) -> tuple[Any, ...]:
    """What decides a candidate's code object."""
    return candidate.pipeline, candidate.codegen, candidate.variant


def _rows(name: str, found: dict[str, Any]) -> list[tuple[str, str]]:
    title = name.replace("_", " ")
    statuses = ", ".join(f"{count} {status}" for status, count in found["statuses"].items())
    phases = ", ".join(f"{phase} {spent:.2f}" for phase, spent in found["phases_ms_each"].items())
    return [
        (f"{title}: evaluations", f"{found['per_second']:.2f} a second ({statuses})"),
        (f"{title}: phases", f"{phases} ms each"),
        (f"{title}: wall, floor", f"{found['wall_s']:.2f} s, {found['floor_s']:.2f} s"),
    ]


if __name__ == "__main__":
    main()
