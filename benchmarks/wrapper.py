"""What r3-clang++ adds to a host-only compile, against the clang that it runs (A B A B)."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import Options, Summary, parse_options, report
from r3cc.toolchain.llvm import find_llvm_program
from r3cc.toolchain.native import native_program

AIM_MS = 5.0
PAIRS = 60
QUICK_PAIRS = 8


@dataclass(frozen=True)
class Cost:
    """Milliseconds of one compile: by the clock, and of processors (its children's included)."""

    wall_ms: float
    cpu_ms: float


def main() -> None:
    options = parse_options(__doc__ or "")
    source = options.out / "empty.cpp"
    source.write_text("int answer() { return 42; }\n")
    clang = find_llvm_program("clang++")
    if clang is None:
        raise SystemExit("clang++ 22 was not found; `r3 doctor` says what brings it")
    pairs = [_pair(clang.path, native_program("r3-clang++"), source, options) for _ in range(_pairs(options))]
    plain = Summary.of([plain.wall_ms for plain, _ in pairs])
    added = Summary.of([ours.wall_ms - plain.wall_ms for plain, ours in pairs])
    added_cpu = Summary.of([ours.cpu_ms - plain.cpu_ms for plain, ours in pairs])
    results = {"clang_ms": plain, "added_ms": added, "added_cpu_ms": added_cpu, "aim_ms": AIM_MS}
    rows = [
        ("clang++ -c, 1 line of C++", plain.text("ms")),
        ("added by r3-clang++", added.text("ms")),
        ("added processor time", added_cpu.text("ms")),
        ("aim", f"under {AIM_MS:g} ms: {'reached' if added.median < AIM_MS else 'missed'}"),
    ]
    report(options, "wrapper", results, rows)


def _pairs(options: Options) -> int:
    return QUICK_PAIRS if options.quick else PAIRS


def _pair(plain: Path, ours: Path, source: Path, options: Options) -> tuple[Cost, Cost]:
    return _compile(plain, source, options), _compile(ours, source, options)


def _compile(compiler: Path, source: Path, options: Options) -> Cost:
    """From the start of the process to its end."""
    arguments = [str(compiler), "-c", str(source), "-o", str(options.out / "empty.o")]
    begin = time.perf_counter_ns()
    process = os.posix_spawn(compiler, arguments, os.environ)
    _, status, usage = os.wait4(process, 0)
    spent = time.perf_counter_ns() - begin
    if status != 0:
        raise SystemExit(f"{compiler} failed on {source}")
    return Cost(spent / 1e6, (usage.ru_utime + usage.ru_stime) * 1e3)


if __name__ == "__main__":
    main()
