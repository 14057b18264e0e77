"""The first milestone, from the binary's own note: replay at the recorded options is what clang made.

lit's replay/recorded.cu does the same for a small kernel at every level.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from r3cc.llvm import CompileRequest
from r3cc.store.binary import EmbeddedModule, read_binary
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.llvm import require_clang
from r3cc.toolchain.native import native_program
from tests.llvm.compiler import compile_one
from tests.llvm.test_clang_equality import assert_equal_code

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def flags() -> list[str]:
    tree = find_cuda()
    if tree is None:
        pytest.skip("needs a CUDA tree")
    return [f"--cuda-path={tree.path}", "-Wno-unknown-cuda-version", "--offload-arch=sm_90", "-std=c++17"]


def build(source: Path, flags: list[str], folder: Path) -> EmbeddedModule:
    """The only module of a shared library made of one source."""
    compile_source = [str(native_program("r3-clang++")), *flags, "-fPIC", "-c", str(source), "-o", "code.o"]
    subprocess.run(compile_source, cwd=folder, check=True)
    subprocess.run(["ld", "-shared", "code.o", "-o", "code.so"], cwd=folder, check=True)
    (module,) = read_binary(folder / "code.so")
    return module


def clangs_ptx(source: Path, flags: list[str]) -> bytes:
    command = [str(require_clang().path), *flags, "--offload-device-only", "-S", str(source), "-o", "-"]
    return subprocess.run(command, check=True, capture_output=True).stdout


@pytest.mark.parametrize(("name", "level"), [("cg", "-O3"), ("hydro", "-O2"), ("weather", "-O1"), ("weather", "-O3")])
def test_an_examples_note_gives_clangs_ptx(flags: list[str], tmp_path: Path, name: str, level: str) -> None:
    source = EXAMPLES / name / f"{name}.cu"
    module = build(source, [*flags, level], tmp_path)
    made = compile_one(module.bitcode, CompileRequest.from_recorded(module.info["codegen"]))
    assert_equal_code(made.output, clangs_ptx(source, [*flags, level]))
