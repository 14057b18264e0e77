"""The replay compiler on host modules, as the cpu device uses it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from r3cc.llvm import CompileRequest
from r3cc.toolchain.llvm import require_clang
from tests.llvm.compiler import compile_one

SOURCE = "void add(float *restrict y, const float *x, int n) { for (int i = 0; i < n; ++i) y[i] += 2 * x[i]; }"


@pytest.fixture(scope="module")
def bitcode(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    target = tmp_path_factory.mktemp("host") / "add.bc"
    flags = ["-x", "c", "-", "-O3", "-c", "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-o", str(target)]
    subprocess.run([str(require_clang().path), *flags], input=SOURCE.encode(), check=True)
    return target.read_bytes()


def request(**changes: object) -> CompileRequest:
    return CompileRequest(**{"pipeline": "default<O3>", "cpu": "native", "features": "", **changes})  # type: ignore[arg-type]


def test_an_object_that_links_and_runs(bitcode: bytes, tmp_path: Path) -> None:
    (tmp_path / "add.o").write_bytes(compile_one(bitcode, request(emit="object")).output)
    (tmp_path / "main.c").write_text(
        "void add(float *, const float *, int); int main(void) { float y[3] = {1, 2, 3}, x[3] = {1, 1, 1};"
        " add(y, x, 3); return y[0] == 3 && y[2] == 5 ? 0 : 1; }"
    )
    compiler = shutil.which("cc") or str(require_clang().path)
    subprocess.run([compiler, "-shared", "-o", "libadd.so", "add.o"], cwd=tmp_path, check=True)
    subprocess.run([compiler, "main.c", "-L.", "-ladd", "-Wl,-rpath,.", "-o", "main"], cwd=tmp_path, check=True)
    subprocess.run(["./main"], cwd=tmp_path, check=True)


def test_loops_are_vectorised_for_the_cpu(bitcode: bytes) -> None:
    wide = compile_one(bitcode, request(cpu="x86-64-v3")).output
    assert b"%ymm" in wide
    scalar = compile_one(bitcode, request(cpu="x86-64-v3", vectorize_loops=False, vectorize_slp=False)).output
    assert b"%ymm" not in scalar
