"""The example programs: where they are, how they are built and run, what they launch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from r3cc.devices.count import count_cuda_devices
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_program
from tests.python_path import python_path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@dataclass(frozen=True)
class Example:
    """One program, with arguments that keep it short and the launches of each kernel that they lead to."""

    source: str
    arguments: tuple[str, ...]
    launches: dict[str, int]

    @property
    def name(self) -> str:
        return Path(self.source).stem

    @property
    def path(self) -> Path:
        return EXAMPLES / self.source


def _weather(steps: int) -> dict[str, int]:
    stage = ("fill_halo_x", "fill_halo_z", "tendencies_x", "tendencies_z", "update")
    return {"sum_mass": 2} | dict.fromkeys(stage, 2 * steps)


def _hydro(steps: int) -> dict[str, int]:
    step = (
        "move_half_step",
        "predict_pressure",
        "corner_forces",
        "move_nodes",
        "update_zones",
        "limit_time_step",
        "advance_clock",
    )
    return {"start_clock": 1} | dict.fromkeys(step, steps)


def _cg(iterations: int) -> dict[str, int]:
    each = dict.fromkeys(("begin_iteration", "spmv", "update_solution"), iterations)
    return each | {
        "count_row_lengths": 1,
        "invert_diagonal": 1,
        "precondition": iterations + 1,
        "dot": 2 * iterations + 1,
        "update_direction": iterations,
    }


FIRST_STEPS = (
    Example("first-steps/saxpy.cu", ("5000",), {"saxpy": 1}),
    Example("first-steps/device_state.cu", ("3000", "3"), {"advance_weights": 3, "apply_weights": 3}),
    Example("first-steps/constant_tables.cu", ("3000",), {"evaluate_polynomial": 2}),
)
MINI_APPS = (
    Example("weather/weather.cu", ("32", "2"), _weather(2)),
    Example("cg/cg.cu", ("6", "400"), {}),
    Example("hydro/hydro.cu", ("12", "3"), _hydro(3)),
)
ALL = FIRST_STEPS + MINI_APPS

DEVICES = [
    pytest.param("cpu", id="cpu"),
    pytest.param(
        "cuda:0",
        id="cuda",
        marks=[pytest.mark.gpu, pytest.mark.skipif(count_cuda_devices() == 0, reason="no NVIDIA GPU")],
    ),
]


def compile_example(compiler: Path, cuda: Path, example: Example, program: Path, *flags: str) -> None:
    """Build by one command, as a user without CMake does; warnings are errors."""
    library = cuda / "lib64" if (cuda / "lib64").is_dir() else cuda / "lib"
    command = [
        str(compiler),
        "-O3",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unknown-cuda-version",
        "--offload-arch=sm_90",
        f"--cuda-path={cuda}",
        *flags,
        str(example.path),
        "-o",
        str(program),
        f"-L{library}",
        f"-Wl,-rpath,{library}",
        f"-l:{runtime_name(library)}",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def build_cuda(folder: Path, name: str, source: str, *flags: str) -> Path:
    """Build a CUDA source by r3-clang++ into ``folder / name``, linked with the shared runtime."""
    cuda = find_cuda()
    assert cuda is not None
    library = cuda.path / "lib64" if (cuda.path / "lib64").is_dir() else cuda.path / "lib"
    (folder / f"{name}.cu").write_text(source)
    options = ["-O2", f"--cuda-path={cuda.path}", "--offload-arch=sm_90", "-Wno-unknown-cuda-version"]
    libraries = [f"-L{library}", f"-Wl,-rpath,{library}", f"-l:{runtime_name(library)}"]
    command = [str(native_program("r3-clang++")), *options, f"{name}.cu", "-o", name, *flags, *libraries]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / name


def runtime_name(library: Path) -> str:
    """``libcudart.so.13``: NVIDIA's wheels have no name without the number."""
    return sorted(path.name for path in library.glob("libcudart.so.*"))[0]


def r3(*arguments: str, store: Path) -> subprocess.CompletedProcess[str]:
    """Run the ``r3`` command on a store."""
    environment = os.environ | {"R3_STORE": str(store), "PYTHONPATH": python_path()}
    command = [sys.executable, "-c", "from r3cc.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=store.parent)


def r3_json(*arguments: str, store: Path) -> Any:
    """Run a verb that has to succeed; returns the one JSON document that it prints."""
    done = r3(*arguments, "--json", store=store)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def function_name(demangled: str) -> str:
    """``spmv`` of ``spmv(Matrix, double const*, double*)``."""
    return demangled.split("(")[0]
