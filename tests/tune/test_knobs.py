"""Every knob of the space changes the code object, by the way that every candidate takes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.farm.compile_pool import CompilePool
from r3cc.llvm import Passes
from r3cc.replay.compile import CodeObject, CodeRequest, CompileSetup
from r3cc.replay.model import Numerics, Status
from r3cc.tune.blocks import Shape
from r3cc.tune.edits import BasePipeline
from r3cc.tune.genotype import Genotype
from r3cc.tune.knobs import KERNEL_KNOBS, MODULE_KNOBS, STRICTNESS, Knob, Scope, allowed
from r3cc.tune.space import Space
from tests.tune.llvm_opt import KERNEL, find_opt
from tests.tune.synthetic import BASE_TEXT, describe

NAME = "_Z6kernelPfPKfS1_ii"
EVERY = (*KERNEL_KNOBS, *MODULE_KNOBS)
CODEGEN = {
    "pipeline": "default<O3>",
    "opt_level": 3,
    "codegen_level": 3,
    "fp_contract": "fast",
    "features": "+ptx83",
    "cpu": "sm_90",
    "vectorize_loops": True,
    "vectorize_slp": True,
    "unroll_loops": True,
    "mllvm": [],
    "ptxas": [],
}


@pytest.fixture(scope="module")
def bitcode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bitcode") / "kernel.bc"
    subprocess.run([find_opt(), "-passes=", str(KERNEL), "-o", str(path)], check=True)
    return path


class Builds:
    """Compiles requests for one device; equal requests once."""

    def __init__(self, device: str, bitcode: Path, cache: Path) -> None:
        info = {"module": "0" * 64, "architecture": "sm_90", "triple": "nvptx64-nvidia-cuda", "codegen": CODEGEN}
        self.device = device
        self.pool = CompilePool(CompileSetup(bitcode, info, NAME, device, "sm_90", cache), 2, 60.0)
        self._made: dict[CodeRequest, Future[CodeObject]] = {}

    def hash_of(self, codegen: tuple[tuple[str, str], ...] = ()) -> str:
        request = CodeRequest(None, codegen)
        made = self._made.setdefault(request, self.pool.submit(request)).result()
        assert made.status is Status.OK, made.message
        assert made.object_hash is not None
        return made.object_hash


@pytest.fixture(scope="module", params=["cuda:0", "cpu"])
def builds(request: pytest.FixtureRequest, bitcode: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builds]:
    try:
        Passes()
    except R3Error as missing:
        pytest.skip(str(missing))
    builds = Builds(request.param, bitcode, tmp_path_factory.mktemp("cache"))
    yield builds
    builds.pool.close()


@pytest.mark.parametrize("knob", EVERY, ids=lambda knob: knob.key)
def test_every_knob_changes_the_object(builds: Builds, knob: Knob) -> None:
    if knob.gpu_only and builds.device == "cpu":
        pytest.skip("the knob is not in the space of the cpu device")
    space = Space(BasePipeline(BASE_TEXT), {}, EVERY, describe(), [Shape((100, 1, 1), (256, 1, 1))])
    candidates = [space.candidate(Genotype(knobs=((knob.key, value),))) for value in knob.values]
    assert {builds.hash_of(candidate.codegen) for candidate in candidates} - {builds.hash_of()}


def test_looser_numerics_only_add_knobs() -> None:
    spaces = [set(allowed(EVERY, numerics, on_gpu=True)) for numerics in STRICTNESS]
    assert spaces[0] < spaces[1] < spaces[2]
    assert {knob.key for knob in spaces[2] - spaces[1]} == {"mllvm:nvptx-prec-divf32", "mllvm:nvptx-prec-sqrtf32"}


def test_the_cpu_device_has_no_gpu_knobs() -> None:
    keys = {knob.key for knob in allowed(EVERY, Numerics.APPROX, on_gpu=False)}
    assert not keys & {"maxnreg", "maxntid", "minctasm", "ptxas-opt"}
    assert "opt-level" in keys


def test_llvm_options_belong_to_the_module() -> None:
    assert all(knob.scope is Scope.MODULE for knob in EVERY if knob.key.startswith("mllvm:"))
