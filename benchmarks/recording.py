"""What the recorder adds to a launch that it does not record, against the same program without it (A B A B)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from benchmarks.common import PROGRAMS, Options, Summary, build, parse_options, record_command, report, run
from r3cc.record.cpu_device import cpu_environment
from r3cc.store import Store

AIM_NS = 2000.0
REPETITIONS = 3

Measure = Callable[[], list[float]]


def main() -> None:
    options = parse_options(__doc__ or "")
    program = build(PROGRAMS / "tiny_launches.cu", options)
    size = ("3", "2000") if options.quick else ("7", "20000")
    store = options.out / "recording-store"
    shutil.rmtree(store, ignore_errors=True)

    def with_recorder(*arguments: str) -> Measure:
        command = [*record_command(store, options.device, *arguments), "--", str(program), *size]
        return lambda: _rounds(run(command))

    ways: dict[str, Measure] = {
        "without": _without_recorder(program, size, options, store),
        "quota_used_up": with_recorder("--launches", "1", "--held-out", "0"),
        "filtered_out": with_recorder("--kernels", "^matches_no_kernel$"),
    }
    samples: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(1 if options.quick else REPETITIONS):
        for name, measure in ways.items():
            samples[name] += measure()
    _report(options, {name: Summary.of(values) for name, values in samples.items()})


def _without_recorder(program: Path, size: tuple[str, str], options: Options, store: Path) -> Measure:
    """On the cpu device the runtime is R3's own, and only the recorder is left out."""
    if options.device != "cpu":
        return lambda: _rounds(run([program, *size]))
    with Store.create(store) as opened:
        environment = cpu_environment(program, opened)
    return lambda: _rounds(run([program, *size], environment))


def _rounds(output: str) -> list[float]:
    return [float(line) for line in output.split()]


def _report(options: Options, launch: dict[str, Summary]) -> None:
    base = launch["without"].median
    added = {name: summary.median - base for name, summary in launch.items() if name != "without"}
    results = {"launch_ns": launch, "added_ns": added, "aim_ns": AIM_NS}
    worst = max(added.values())
    rows = [("launch without the recorder", launch["without"].text("us", 1e-3))]
    rows += [(f"launch, {name.replace('_', ' ')}", launch[name].text("us", 1e-3)) for name in added]
    rows += [(f"added, {name.replace('_', ' ')}", f"{value / 1e3:.3g} us") for name, value in added.items()]
    rows.append(("aim", f"under {AIM_NS / 1e3:g} us: {'reached' if worst < AIM_NS else 'missed'}"))
    report(options, "recording", results, rows)


if __name__ == "__main__":
    main()
