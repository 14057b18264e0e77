"""Kernels of MLIR in the store: translated, launched once, replayed and tuned on the cpu device."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from r3cc.cli import r3
from r3cc.mlir.translate import translate
from r3cc.store import Store
from r3cc.toolchain.llvm import find_llvm_program
from tests.replay.cpu_kernels import needs_cpu_device

EXAMPLE = Path(__file__).parents[2] / "examples/mlir"
KERNEL, LAUNCHES = EXAMPLE / "exponentials.mlir", EXAMPLE / "exponentials.json"

LLVM_DIALECT = """
module attributes {llvm.target_triple = "nvptx64-nvidia-cuda"} {
  llvm.func ptx_kernelcc @twice(%x: !llvm.ptr, %n: i32) attributes {nvvm.kernel} {
    %i = nvvm.read.ptx.sreg.tid.x : i32
    %inside = llvm.icmp "slt" %i, %n : i32
    llvm.cond_br %inside, ^body, ^end
  ^body:
    %p = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f64
    %v = llvm.load %p : !llvm.ptr -> f64
    %w = llvm.fadd %v, %v : f64
    llvm.store %w, %p : f64, !llvm.ptr
    llvm.br ^end
  ^end:
    llvm.return
  }
}
"""
TWICE = {
    "kernel": "twice",
    "grid": [1],
    "block": [64],
    "arguments": [
        {"pointer": [2, 25], "type": "f64", "data": {"file": "x.npy"}},
        {"value": 50, "type": "i32"},
    ],
}

pytestmark = [
    needs_cpu_device,
    pytest.mark.skipif(find_llvm_program("mlir-opt") is None, reason="needs mlir-opt (Debian: mlir-22-tools)"),
]


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(r3, [str(each) for each in arguments], prog_name="r3")


def import_into(store: Path, source: Path, launches: Path) -> Result:
    return invoke("store", "import", "--store", store, source, "--launches", launches, "--device", "cpu")


@pytest.fixture
def llvm_dialect(tmp_path: Path) -> tuple[Path, Path]:
    """A kernel of the LLVM dialect, and its launch on the numbers 0 to 49."""
    np.save(tmp_path / "x.npy", np.arange(50.0))
    (tmp_path / "twice.mlir").write_text(LLVM_DIALECT)
    (tmp_path / "twice.json").write_text(json.dumps({"launches": [TWICE]}))
    return tmp_path / "twice.mlir", tmp_path / "twice.json"


def test_a_kernel_is_imported_replayed_and_tuned(tmp_path: Path) -> None:
    store = tmp_path / "store"
    done = import_into(store, KERNEL, LAUNCHES)
    assert done.exit_code == 0, done.output
    assert "exponentials.mlir on cpu: 1 kernel, 2 launches" in done.output
    with Store.open(store) as opened:
        kernel = opened.find_kernel("exponentials", None)
        first, held_out = opened.launches(kernel)
        assert held_out.held_out and not first.held_out
        before, after = (
            np.frombuffer(opened.image(key, size).tobytes(), np.float32)
            for key, size in ((first.regions[0].before, 260_000), (first.regions[1].after, 260_000))
        )
    padded = np.concatenate([before, np.full(7, before[-1])])
    expected = 0.125 * sum(np.exp(padded[k : k + 65000]) for k in range(8))
    np.testing.assert_allclose(after, expected, rtol=1e-5)
    assert invoke("store", "verify", "--store", store).exit_code == 0
    for passes, status in ("default<O1>", "ok"), ("no-such-pass", "rejected"):
        answer = invoke("replay", "--store", store, "--json", "--samples", 1, "--passes", passes, "exponentials")
        assert json.loads(answer.stdout)["status"] == status
    tuned = invoke("tune", "--store", store, "--budget", 3, "--seed", 1, "--json")
    assert tuned.exit_code == 0, tuned.output
    assert json.loads(tuned.stdout)["kernels"][0]["statuses"] == {"ok": 3}


def test_a_kernel_of_the_llvm_dialect(tmp_path: Path, llvm_dialect: tuple[Path, Path]) -> None:
    done = import_into(tmp_path / "store", *llvm_dialect)
    assert done.exit_code == 0, done.output
    with Store.open(tmp_path / "store") as opened:
        (launch,) = opened.launches(opened.find_kernel("twice", None))
        content = opened.image(launch.regions[0].after, launch.regions[0].size).tobytes()
    assert np.array_equal(np.frombuffer(content), 2 * np.arange(50.0))


def test_bitcode_of_any_compiler(tmp_path: Path, llvm_dialect: tuple[Path, Path]) -> None:
    (content,) = translate(llvm_dialect[0], "sm_90")
    bitcode = tmp_path / "twice.bc"
    bitcode.write_bytes(content)
    done = import_into(tmp_path / "store", bitcode, llvm_dialect[1])
    assert done.exit_code == 0, done.output
    answer = invoke("replay", "--store", tmp_path / "store", "--json", "--samples", 1, "twice")
    assert json.loads(answer.stdout)["status"] == "ok"
    bitcode.write_text("no bitcode")
    assert "not a module that LLVM" in import_into(tmp_path / "store", bitcode, llvm_dialect[1]).stderr


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"kernel": "thrice"}, "the file has no kernel 'thrice'; it has twice"),
        ({"grid": [1, 1, 1, 1]}, r"[1, 1, 1, 1] is not one to three positive dimensions"),
        ({"arguments": TWICE["arguments"][:1]}, "the arguments of twice give 1 parameters of [8] bytes"),
        (
            {"arguments": [{"pointer": [49], "type": "f64", "data": {"file": "x.npy"}}, {"value": 1, "type": "i32"}]},
            "49",
        ),
        ({"arguments": [{"type": "f64"}]}, "needs exactly one of memref, pointer and value"),
        ({"block": [2048]}, "the launch of twice failed"),
        ({"colour": "red"}, "unknown field `colour`"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    tmp_path: Path, llvm_dialect: tuple[Path, Path], change: dict[str, object], problem: str
) -> None:
    source, launches = llvm_dialect
    launches.write_text(json.dumps({"launches": [TWICE | change]}))
    done = import_into(tmp_path / "store", source, launches)
    assert done.exit_code != 0
    assert problem in done.stderr


def test_bad_mlir_is_the_tools_own_error(tmp_path: Path) -> None:
    (tmp_path / "bad.mlir").write_text("gpu.module @k { gpu.nonsense }")
    done = import_into(tmp_path / "store", tmp_path / "bad.mlir", LAUNCHES)
    assert "gpu.nonsense" in done.stderr


def test_amds_gpus_are_refused(tmp_path: Path) -> None:
    done = invoke("store", "import", "--store", tmp_path / "store", KERNEL, "--launches", LAUNCHES, "--device", "hip:0")
    assert "not for hip:0" in done.stderr


def test_launches_are_asked_for(tmp_path: Path) -> None:
    done = invoke("store", "import", "--store", tmp_path / "store", KERNEL)
    assert "needs --launches FILE.json" in done.stderr
