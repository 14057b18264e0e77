"""What the benchmarks share: building programs, running R3, statistics, tables and JSON files."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from r3cc.devices.count import count_cuda_devices
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_program

ROOT = Path(__file__).parents[1]
PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class Options:
    """Where to write, what to run on, how long to take."""

    out: Path
    device: str
    quick: bool
    architecture: str


def parse_options(description: str) -> Options:
    """The command line that every benchmark has."""
    return options_of(options_parser(description).parse_args())


def options_parser(description: str) -> argparse.ArgumentParser:
    """A parser with the options that every benchmark has; a benchmark may add its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, default=ROOT / "build/benchmarks", help="folder for JSON and programs")
    parser.add_argument("--device", default="cuda:0" if count_cuda_devices() else "cpu", help="cpu or cuda:N")
    parser.add_argument("--quick", action="store_true", help="a few samples: to see that it runs")
    parser.add_argument("--architecture", default="sm_90", help="what the programs are built for")
    return parser


def options_of(given: argparse.Namespace) -> Options:
    """The options that every benchmark has, from what was parsed; their folder is there then."""
    given.out.mkdir(parents=True, exist_ok=True)
    return Options(given.out.resolve(), given.device, given.quick, given.architecture)


@dataclass(frozen=True)
class Summary:
    """Median of samples and the bounds between which their middle half lies."""

    median: float
    low: float
    high: float
    samples: int

    @classmethod
    def of(cls, samples: Sequence[float]) -> Summary:
        if len(samples) < 2:
            return cls(samples[0], samples[0], samples[0], 1)
        low, median, high = statistics.quantiles(samples, n=4, method="inclusive")
        return cls(median, low, high, len(samples))

    def text(self, unit: str, scale: float = 1.0) -> str:
        """``1.23 us (1.20 to 1.30)``."""
        return f"{self.median * scale:.3g} {unit} ({self.low * scale:.3g} to {self.high * scale:.3g})"


def build(source: Path, options: Options) -> Path:
    """Build a CUDA program by r3-clang++ with the shared runtime."""
    compiler, libraries = toolchain_words(options)
    program = options.out / source.stem
    subprocess.run([*compiler, str(source), "-o", str(program), *libraries], check=True)
    return program


def toolchain_words(options: Options) -> tuple[list[str], list[str]]:
    """The compiler with its flags, and what links CUDA's shared runtime."""
    cuda = find_cuda()
    if cuda is None:
        raise SystemExit("no CUDA tree was found; `r3 doctor` says what brings one")
    library = cuda.path / "lib64" if (cuda.path / "lib64").is_dir() else cuda.path / "lib"
    runtime = min(path.name for path in library.glob("libcudart.so.*"))
    compiler = [str(native_program("r3-clang++")), "-O3", "-Wno-unknown-cuda-version"]
    return (
        [*compiler, f"--cuda-path={cuda.path}", f"--offload-arch={options.architecture}"],
        [f"-L{library}", f"-Wl,-rpath,{library}", f"-l:{runtime}"],
    )


def run(command: Sequence[str | Path], environment: dict[str, str] | None = None) -> str:
    """Run to a successful end; returns standard output."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, env=os.environ | (environment or {})
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed ({done.returncode}):\n{done.stdout}{done.stderr}")
    return done.stdout


def record_command(store: Path, device: str, *arguments: str) -> list[str]:
    """``r3 record`` into a store, to which ``--`` and the program are to be added."""
    python = [sys.executable, "-c", "from r3cc.cli import main; main()"]
    return [*python, "record", "--store", str(store), "--device", device, *arguments]


def report(options: Options, benchmark: str, results: dict[str, Any], rows: Sequence[tuple[str, str]]) -> None:
    """Print a small table and write ``OUT/<benchmark>.json``."""
    document = {
        "benchmark": benchmark,
        "device": options.device,
        "host": {"name": platform.node(), "cores": len(os.sched_getaffinity(0)), "machine": platform.machine()},
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": options.quick,
        "results": results,
    }
    (options.out / f"{benchmark}.json").write_text(json.dumps(msgspec.to_builtins(document), indent=2) + "\n")
    width = max(len(name) for name, _ in rows)
    print(f"\n{benchmark} on {options.device}" + (" (quick)" if options.quick else ""))
    for name, text in rows:
        print(f"  {name:<{width}}  {text}")
