"""Kernels without IR: their recorded code is what is replayed."""

from __future__ import annotations

from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.llvm import assemble
from r3cc.replay.compile import CodeRequest, Compiler, CompileSetup
from r3cc.replay.foreign import foreign_setup
from r3cc.replay.model import Specialisation, Status
from r3cc.replay.targets import open_target
from r3cc.store import Store
from r3cc.toolchain.cuda import find_ptxas
from tests.store.pack_writer import PackWriter, add_recording

PTX = b"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry twice(.param .u64 x) {
  .reg .b64 %a; .reg .f32 %v;
  ld.param.u64 %a, [x];
  ld.global.f32 %v, [%a];
  add.f32 %v, %v, %v;
  st.global.f32 [%a], %v;
  ret;
}
"""


def setup_of(folder: Path, image: bytes, kind: str, device: str = "cuda:0") -> CompileSetup:
    """The setup of a kernel in a store that holds its code."""
    Store.create(folder / "store").close()
    pack = PackWriter(add_recording(folder / "store") / "node1-1-1.r3pack")
    pack.process(device="cuda:0", architecture="sm_90")
    info = {"format": kind, "architecture": "sm_90"}
    pack.document("module", module="foreign:1", bitcode=None, image=pack.chunk(image), info=info, binary="/apps/app")
    pack.kernel("foreign:1", "twice")
    pack.end()
    with Store.open(folder / "store") as store:
        (kernel,) = store.kernels()
        return foreign_setup(store, store.module(kernel.module), kernel, device, "sm_90")


def test_a_cubin_is_taken_as_it_is(tmp_path: Path) -> None:
    setup = setup_of(tmp_path, b"\x7fELF machine code", "cubin")
    made = Compiler(setup, open_target(setup)).compile(CodeRequest())
    assert made.status is Status.OK and made.path is not None
    assert made.path.read_bytes() == b"\x7fELF machine code"


@pytest.mark.skipif(find_ptxas() is None, reason="needs ptxas")
def test_ptx_is_assembled_with_the_candidates_options(tmp_path: Path) -> None:
    ptxas = find_ptxas()
    assert ptxas is not None
    setup = setup_of(tmp_path, PTX + b"\0", "ptx")
    compiler = Compiler(setup, open_target(setup))
    plain = compiler.compile(CodeRequest())
    assert plain.path is not None, plain.message
    assert plain.path.read_bytes() == assemble(PTX, ptxas.path, "sm_90", ("-O3",), 60.0).cubin
    assert plain.resources["registers"] > 0
    other = compiler.compile(CodeRequest(codegen=(("ptxas-opt", "0"),)))
    assert other.status is Status.OK and other.object_hash != plain.object_hash


@pytest.mark.parametrize(
    "request_",
    [
        CodeRequest(pipeline="default<O1>"),
        CodeRequest(codegen=(("opt-level", "1"),)),
        CodeRequest(specialisation=Specialisation(arguments=((0, "4"),))),
    ],
)
def test_what_needs_ir_is_rejected(tmp_path: Path, request_: CodeRequest) -> None:
    setup = setup_of(tmp_path, b"\x7fELF", "cubin")
    made = Compiler(setup, open_target(setup)).compile(request_)
    assert made.status is Status.REJECTED and "without IR" in made.message


def test_the_cpu_device_cannot_run_it(tmp_path: Path) -> None:
    with pytest.raises(R3Error, match="carries no IR"):
        setup_of(tmp_path, b"\x7fELF", "cubin", device="cpu")
