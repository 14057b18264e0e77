"""Parallel jobs: one recording for all ranks, whichever way round `r3 record` and the launcher stand."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.store import Store
from r3cc.store.verify import verify
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_library, native_program
from tests.python_path import python_path

RANKS = 4
MPIRUN = ("mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader,tcp", "-n", str(RANKS))
R3 = (sys.executable, "-c", "from r3cc.cli import main; main()")
SUM = sum(range(RANKS * 1000)) / 2**4


def missing_parts() -> str:
    """What these tests need and do not find; empty when all is there."""
    for program in ("mpirun", "mpicxx"):
        if shutil.which(program) is None:
            return f"needs Open MPI ({program}): Debian's openmpi-bin and libopenmpi-dev"
    try:
        native_program("r3-clang++")
        native_library("libR3Passes.so")
        native_library("libr3cpu.so")
    except R3Error as error:
        return str(error)
    return "" if find_cuda() else "needs a CUDA tree"


pytestmark = pytest.mark.skipif(bool(missing_parts()), reason=missing_parts() or "nothing is missing")


def flags_of_mpi(kind: str) -> list[str]:
    return shlex.split(
        subprocess.run(["mpicxx", f"--showme:{kind}"], check=True, capture_output=True, text=True).stdout
    )


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cuda = find_cuda()
    assert cuda is not None
    program = tmp_path_factory.mktemp("ranks") / "ranks"
    source = Path(__file__).parent / "programs/ranks.cu"
    compiler = [str(native_program("r3-clang++")), "-O2", f"--cuda-path={cuda.path}", "--offload-arch=sm_90"]
    libraries = [f"-L{cuda.path / folder}" for folder in ("lib", "lib64")] + ["-lcudart"]
    mpi = [*flags_of_mpi("compile"), str(source), "-o", str(program), *flags_of_mpi("link")]
    subprocess.run([*compiler, "-Wno-unknown-cuda-version", *mpi, *libraries], check=True)
    return program


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a job in ``folder``, two threads a rank at most."""
    environment = dict(os.environ) | {"PYTHONPATH": python_path(), "R3_CPU_THREADS": "1"}
    environment |= {"OMPI_MCA_rmaps_base_oversubscribe": "1", "TMPDIR": str(folder)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def check(store: Store) -> None:
    """One recording with every rank in it, whole."""
    (recording,) = store.recordings()
    assert recording.exit_status == 0
    assert sorted(process.rank for process in store.processes() if process.rank is not None) == list(range(RANKS))
    report = verify(store)
    assert report.sound and not report.killed
    assert {kernel.name: kernel.launches for kernel in store.kernels()} == {
        "_Z4fillPdid": RANKS,
        "_Z5halvePdi": 4 * RANKS,
    }


def test_r3_record_of_mpirun(tmp_path: Path, application: Path) -> None:
    done = run(tmp_path, *R3, "record", "--device", "cpu", "--", *MPIRUN, application)
    assert done.stdout == f"{RANKS} ranks: {SUM:.17g}\n"
    with Store.open(tmp_path / "r3-store") as store:
        check(store)
        assert all(kernel.recorded >= RANKS for kernel in store.kernels())  # every rank has another part


def test_mpirun_of_r3_record(tmp_path: Path, application: Path) -> None:
    done = run(tmp_path, *MPIRUN, *R3, "record", "--device", "cpu", "--", application)
    assert done.stdout == f"{RANKS} ranks: {SUM:.17g}\n"
    assert done.stderr.count("next: ") == 1  # one rank sums up
    with Store.open(tmp_path / "r3-store") as store:
        check(store)


def test_kernels_spread_over_ranks(tmp_path: Path, application: Path) -> None:
    run(tmp_path, *R3, "record", "--device", "cpu", "--ranks", "spread", "--", *MPIRUN, application)
    with Store.open(tmp_path / "r3-store") as store:
        check(store)
        for kernel in store.kernels():
            assert len({launch.launch.split("/")[0] for launch in store.launches(kernel)}) == 1


def test_printed_variables_record_a_job(tmp_path: Path, application: Path) -> None:
    printed = run(tmp_path, *R3, "record", "--device", "cpu", "--print-env", "--", application)
    (tmp_path / "job.sh").write_text(printed.stdout + shlex.join([*MPIRUN, str(application)]) + "\n")
    assert run(tmp_path, "sh", "job.sh").stdout == f"{RANKS} ranks: {SUM:.17g}\n"
    with Store.open(tmp_path / "r3-store") as store:
        assert len(store.processes()) == RANKS
        assert sum(kernel.launches for kernel in store.kernels()) == 5 * RANKS
