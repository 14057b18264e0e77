"""Every way to get memory of the CUDA runtime: recorded and replayed, or not recordable with the reason."""

from __future__ import annotations

import subprocess

import pytest

from r3cc.errors import R3Error
from r3cc.farm.local import LocalEvaluator
from r3cc.replay.model import Status
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_program
from tests.cpu.allocations import PROGRAM, Run, record

pytestmark = pytest.mark.gpu

RECORDED = ("in_front", "plain", "asynchronous", "pinned", "mapped", "pitched", "volume")
SURFACES = "it reads textures or surfaces, whose handles mean nothing at replay"
REFUSED = {
    "managed": {"managed memory"},
    "registered": {"pinned host memory", "mapped host memory"},
    "pooled": {"memory of the program's own pool"},
    "drawn": {SURFACES},
    "sampled": {SURFACES},
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Run:
    tree = find_cuda()
    try:
        compiler = native_program("r3-clang++")
    except R3Error as missing:
        pytest.skip(str(missing))
    assert tree is not None
    folder = tmp_path_factory.mktemp("allocations")
    library = next(path for path in (tree.path / "lib64", tree.path / "lib") if any(path.glob("libcudart.so.*")))
    runtime = min(path.name for path in library.glob("libcudart.so.*"))
    link = [f"-L{library}", f"-Wl,-rpath,{library}", f"-l:{runtime}"]
    device = [f"--cuda-path={tree.path}", "--offload-arch=sm_90", "-Wno-unknown-cuda-version"]
    subprocess.run([compiler, "-O2", "-DARRAYS", *device, PROGRAM, "-o", folder / "app", *link], check=True)
    return record(folder / "app")


def test_all_of_them_compute_the_same_as_ever(recorded: Run) -> None:
    assert recorded.ways.pop("mipmapped") == "there"
    assert set(recorded.ways.values()) == {"right"}
    assert len(recorded.ways) == len(RECORDED) + len(REFUSED)


@pytest.mark.parametrize("way", RECORDED)
def test_it_is_recorded_and_replayed(recorded: Run, way: str) -> None:
    kernel = recorded.kernel(way)
    assert (kernel.recorded, kernel.not_recordable) == (1, ())
    with LocalEvaluator.open(recorded.store, kernel) as evaluator:
        found = evaluator.baseline()
    assert found.status is Status.OK, (found.message, found.mismatches)


@pytest.mark.parametrize("way", REFUSED)
def test_it_is_not_recordable_and_the_reason_is_given(recorded: Run, way: str) -> None:
    kernel = recorded.kernel(way)
    assert kernel.recorded == 0
    (refusal,) = kernel.not_recordable
    assert refusal.reason in REFUSED[way]
    assert refusal.launches == kernel.launches == 1
