"""What r3-clang++ adds to a host-only compile, against the clang that it runs (A B A B)."""

from __future__ import annotations

import os
import time
from pathlib import Path

from benchmarks.common import Options, Summary, parse_options, report
from r3cc.toolchain.llvm import find_llvm_program
from r3cc.toolchain.native import native_program

AIM_MS = 5.0
PAIRS = 60
QUICK_PAIRS = 8


def main() -> None:
    options = parse_options(__doc__ or "")
    source = options.out / "empty.cpp"
    source.write_text("int answer() { return 42; }\n")
    clang = find_llvm_program("clang++")
    if clang is None:
        raise SystemExit("clang++ 22 was not found; `r3 doctor` says what brings it")
    pairs = [_pair(clang.path, native_program("r3-clang++"), source, options) for _ in range(_pairs(options))]
    added = Summary.of([ours - theirs for theirs, ours in pairs])
    compile_time = Summary.of([theirs for theirs, _ in pairs])
    results = {"clang_ms": compile_time, "added_ms": added, "aim_ms": AIM_MS}
    rows = [
        ("clang++ -c, 1 line of C++", compile_time.text("ms")),
        ("added by r3-clang++", added.text("ms")),
        ("aim", f"under {AIM_MS:g} ms: {'reached' if added.median < AIM_MS else 'missed'}"),
    ]
    report(options, "wrapper", results, rows)


def _pairs(options: Options) -> int:
    return QUICK_PAIRS if options.quick else PAIRS


def _pair(plain: Path, ours: Path, source: Path, options: Options) -> tuple[float, float]:
    return _compile_ms(plain, source, options), _compile_ms(ours, source, options)


def _compile_ms(compiler: Path, source: Path, options: Options) -> float:
    """Wall-clock milliseconds from the start of the process to its end."""
    arguments = [str(compiler), "-c", str(source), "-o", str(options.out / "empty.o")]
    begin = time.perf_counter_ns()
    process = os.posix_spawn(compiler, arguments, os.environ)
    _, status = os.waitpid(process, 0)
    spent = time.perf_counter_ns() - begin
    if status != 0:
        raise SystemExit(f"{compiler} failed on {source}")
    return spent / 1e6


if __name__ == "__main__":
    main()
