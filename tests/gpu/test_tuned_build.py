"""A second version on a GPU: judged, built in, launched where its guard holds, and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.store import Store
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_program

pytestmark = pytest.mark.gpu

PROGRAMS = Path(__file__).parent / "programs"


def r3(*arguments: str | Path) -> str:
    """A verb's output; its failure is the test's."""
    command = [sys.executable, "-c", "from r3cc.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def built(program: str, output: Path, *options: str) -> Path:
    """A program of the folder, with R3's options."""
    tree = find_cuda()
    try:
        compiler = native_program("r3-clang++")
    except R3Error as missing:
        pytest.skip(str(missing))
    assert tree is not None
    library = next(path for path in (tree.path / "lib64", tree.path / "lib") if any(path.glob("libcudart.so.*")))
    runtime = min(path.name for path in library.glob("libcudart.so.*"))
    link = [f"-L{library}", f"-Wl,-rpath,{library}", f"-l:{runtime}"]
    device = [f"--cuda-path={tree.path}", "--offload-arch=sm_90", "-Wno-unknown-cuda-version"]
    command = [compiler, "-O2", *device, *options, PROGRAMS / program, "-o", output, *link]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "r3:" not in done.stderr
    return output


def launched(folder: Path, program: Path, *arguments: str) -> set[str]:
    """Names of the kernels that a run of a tuned program launches; they are counted, though it carries no IR."""
    assert "right" in r3("record", "--store", folder, "--", program, *arguments)
    with Store.open(folder) as store:
        return {kernel.demangled for kernel in store.kernels()}


def test_a_second_version_is_launched_where_its_guard_holds(tmp_path: Path) -> None:
    store, profile = tmp_path / "store", tmp_path / "tuned.r3.json"
    r3("record", "--store", store, "--", built("version.cu", tmp_path / "plain"), "5")
    fixed = [word for what in ("0", "1", "block") for word in ("--fix", what)]
    options = ("--block", "128", "--codegen", "maxntid=128", "--codegen", "ptxas-opt=2", *fixed)
    r3("apply", "--store", store, "-o", profile, "--kernel", "scale", *options, "--samples", "5")
    r3("check", "--store", store, "--profile", profile, "--min-speedup", "0", "--samples", "3")
    tuned = built("version.cu", tmp_path / "tuned", f"--r3-use={profile}")
    assert "a second version for argument 0, argument 1, block 128,1,1" in r3("ls", "--binary", tuned)
    special, plain, other = "scale(int, double, double*) [specialised]", "scale(int, double, double*)", "add(double*)"
    assert launched(tmp_path / "same", tuned, "5") == {special, other}
    assert launched(tmp_path / "other", tuned, "6") == {plain, other}


def test_a_version_with_tables_looks_itself_whether_they_hold(tmp_path: Path) -> None:
    store, profile = tmp_path / "store", tmp_path / "tuned.r3.json"
    r3("record", "--store", store, "--", built("stencil_weights.cu", tmp_path / "plain"), "2")
    fixed = [word for what in ("weights", "2") for word in ("--fix", what)]
    r3("apply", "--store", store, "-o", profile, "--kernel", "smooth", *fixed, "--samples", "5")
    r3("check", "--store", store, "--profile", profile, "--min-speedup", "0", "--samples", "3")
    tuned = built("stencil_weights.cu", tmp_path / "tuned", f"--r3-use={profile}")
    assert "a second version for argument 2, weights" in r3("ls", "--binary", tuned)
    plain = "smooth(float const*, float const*, Ends, float*)"
    assert launched(tmp_path / "same", tuned, "2") == {f"{plain} [specialised]"}
    assert launched(tmp_path / "other-table", tuned, "3") == {f"{plain} [specialised]"}
    assert launched(tmp_path / "other-struct", tuned, "2", "more") == {plain}
    special = ("--fix", "0", "--passes", "default<O3>", "--samples", "5")
    r3("replay", "--store", store, "smooth", *special)
