"""`r3 strip`: the note and its payload are gone, and the program is what it was otherwise."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from r3cc.cli import r3
from r3cc.errors import R3Error
from r3cc.store.binary import read_binary
from r3cc.store.strip import strip
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_program

SOURCE = """#include "minicuda.h"
extern "C" int printf(const char *, ...);
__global__ void fill(float *x) { x[thread()] = 1; }
extern "C" int run(int count) { if (count > 5) fill<<<1, 32>>>(nullptr); return printf("%d\\n", count); }
"""
MAIN = 'extern "C" int run(int); int main(int count, char **) { return run(count) != 2; }\n'
INPUTS = Path(__file__).parents[1] / "lit/Inputs"


def native(name: str) -> Path | None:
    try:
        return native_program(name)
    except R3Error:
        return None


COMPILER, CUDA = native("r3-clang++"), find_cuda()
pytestmark = pytest.mark.skipif(COMPILER is None or CUDA is None, reason="no r3-clang++ or no CUDA tree")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an object, an archive, a library and a program, all with R3's note."""
    assert CUDA is not None
    folder = tmp_path_factory.mktemp("strip")
    (folder / "kernel.cu").write_text(SOURCE)
    (folder / "main.cpp").write_text(MAIN)
    # The CUDA runtime is not linked: the test's programs launch nothing.
    flags = [f"--cuda-path={CUDA.path}", "-Wno-unknown-cuda-version", "-nocudainc", f"-I{INPUTS}", "-fPIC"]
    compiler(folder, *flags, "--offload-arch=sm_90", "-O1", "-c", "kernel.cu", "-o", "kernel.o")
    subprocess.run(["ar", "rc", "libkernel.a", "kernel.o"], cwd=folder, check=True)
    stub = "".join(f'extern "C" int {name}() {{ return 0; }}\n' for name in UNDEFINED)
    (folder / "stub.cpp").write_text(stub)
    link(folder, "kernel.o", "app")
    compiler(folder, "-shared", "-fPIC", "kernel.o", "stub.cpp", "-o", "libkernel.so")
    return folder


UNDEFINED = (
    "__cudaRegisterFatBinary",
    "__cudaRegisterFatBinaryEnd",
    "__cudaUnregisterFatBinary",
    "__cudaRegisterFunction",
    "__cudaPopCallConfiguration",
    "__cudaPushCallConfiguration",
    "cudaLaunchKernel",
)


def compiler(folder: Path, *arguments: str) -> None:
    done = subprocess.run([str(COMPILER), *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def link(folder: Path, kernel: str, program: str) -> None:
    compiler(folder, "main.cpp", kernel, "stub.cpp", "-o", program)


def run(program: Path) -> str:
    return subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout


def test_a_program_runs_as_before_without_the_note(built: Path, tmp_path: Path) -> None:
    (module,) = read_binary(built / "app")
    app = Path(shutil.copy(built / "app", tmp_path / "app"))
    done = CliRunner().invoke(r3, ["strip", str(app)])
    assert done.exit_code == 0, done.output
    assert "1 note and their payload removed" in done.stderr
    assert read_binary(app) == []
    assert module.bitcode not in app.read_bytes()
    assert app.stat().st_size == (built / "app").stat().st_size
    assert run(app) == run(built / "app") == "1\n"
    notes = subprocess.run(["readelf", "-n", str(app)], capture_output=True, text=True, check=True)
    assert notes.stderr == ""
    assert "carries nothing" in CliRunner().invoke(r3, ["strip", str(app)]).stderr


def test_only_what_is_r3s_changes(built: Path, tmp_path: Path) -> None:
    strip(built / "app", tmp_path / "app")
    before, after = (path.read_bytes() for path in (built / "app", tmp_path / "app"))
    (module,) = read_binary(built / "app")
    changed = sum(a != b for a, b in zip(before, after, strict=True))
    assert 0 < changed <= len(module.bitcode) + 96 + 4096
    start = before.index(module.bitcode)
    assert before[:start].count(b"R3\0\0") == 1


def test_a_library_is_stripped(built: Path, tmp_path: Path) -> None:
    assert strip(built / "libkernel.so", tmp_path / "libkernel.so").notes == 1
    assert read_binary(tmp_path / "libkernel.so") == []


def test_what_a_link_leads_to_is_stripped(built: Path, tmp_path: Path) -> None:
    library = Path(shutil.copy(built / "libkernel.so", tmp_path / "libkernel.so.1"))
    linked = tmp_path / "libkernel.so"
    linked.symlink_to(library.name)
    assert CliRunner().invoke(r3, ["strip", str(linked)]).exit_code == 0
    assert linked.is_symlink()
    assert read_binary(library) == []


@pytest.mark.parametrize("name", ["kernel.o", "libkernel.a"])
def test_what_is_linked_from_stripped_objects_has_no_note(built: Path, tmp_path: Path, name: str) -> None:
    for source in ("main.cpp", "stub.cpp"):
        shutil.copy(built / source, tmp_path)
    assert strip(built / name, tmp_path / name).bytes > 0
    link(tmp_path, name, "app")
    assert read_binary(tmp_path / "app") == []
    assert run(tmp_path / "app") == "1\n"


def test_what_cannot_be_stripped_is_one_sentence(built: Path, tmp_path: Path) -> None:
    thin = tmp_path / "thin.a"
    subprocess.run(["ar", "rcT", str(thin), str(built / "kernel.o")], check=True)
    text = tmp_path / "text"
    text.write_text("not a program")
    cut = tmp_path / "cut"
    cut.write_bytes((built / "libkernel.so").read_bytes()[:2000])
    for file, sentence in (
        (thin, "is a thin archive"),
        (text, "is not a 64-bit little-endian ELF program"),
        (cut, "is cut short"),
    ):
        before = file.read_bytes()
        done = CliRunner().invoke(r3, ["strip", str(file)])
        assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
        assert sentence in done.stderr
        assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
