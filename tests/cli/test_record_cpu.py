"""The user's way from a build to a listed and shown kernel on the cpu device, with R3's own native parts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.store import Store
from r3cc.store.verify import verify
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_library, native_program
from tests.cli.conftest import R3

SOURCE = Path(__file__).parents[2] / "examples/first-steps/saxpy.cu"


def missing_parts() -> str:
    """What this test needs and does not find; empty when all is there."""
    try:
        native_program("r3-clang++")
        native_library("libR3Passes.so")
        native_library("libr3cpu.so")
    except R3Error as error:
        return str(error)
    return "" if find_cuda() else "needs a CUDA tree"


@pytest.fixture(scope="module")
def saxpy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cuda = find_cuda()
    assert cuda is not None
    program = tmp_path_factory.mktemp("saxpy") / "saxpy"
    compiler = [str(native_program("r3-clang++")), "-O3", f"--cuda-path={cuda.path}", "--offload-arch=sm_90"]
    libraries = [f"-L{cuda.path / folder}" for folder in ("lib", "lib64")] + ["-lcudart"]
    flags = ["-Wno-unknown-cuda-version", str(SOURCE), "-o", str(program)]
    subprocess.run([*compiler, *flags, *libraries], check=True)
    return program


@pytest.mark.skipif(bool(missing_parts()), reason=missing_parts() or "nothing is missing")
def test_from_build_to_kernel(run_r3: R3, tmp_path: Path, saxpy: Path) -> None:
    (module,) = json.loads(run_r3("ls", "--binary", str(saxpy), "--json").stdout)["modules"]
    assert module["architecture"] == "sm_90"

    recorded = run_r3("record", "--device", "cpu", "--", str(saxpy))
    assert recorded.exit_code == 0, recorded.stderr
    assert "1 kernel, " in recorded.stderr

    (kernel,) = json.loads(run_r3("ls", "--json").stdout)["kernels"]
    assert (kernel["device"], kernel["module"], kernel["share"]) == ("cpu", module["module"], 1.0)
    assert kernel["recorded"] >= 1
    shown = json.loads(run_r3("show", "saxpy", "--json").stdout)
    launch = shown["recorded_launches"][0]
    assert [argument["type"] for argument in launch["arguments"]] == ["i32", "float", "ptr", "ptr"]
    assert len(launch["regions"]) == 2
    assert launch["changed_bytes"] > 0
    with Store.open(tmp_path / "r3-store") as store:
        assert verify(store).sound
        assert store.bitcode(kernel["module"]).startswith(b"BC\xc0\xde")
