"""Every way to get memory: what the cpu device has is recorded and replayed, what it hasn't is named."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.farm.local import LocalEvaluator
from r3cc.replay.model import Status
from r3cc.store import Store
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_library, native_program
from tests.cpu import test_hip
from tests.cpu.allocations import PROGRAM, Run, record

MANAGED = Path(__file__).parent / "programs/managed.hip"
RECORDED = ("in_front", "plain", "asynchronous", "managed", "pinned", "mapped", "pitched", "volume")
REPLAYED = ("in_front", "asynchronous", "managed", "mapped", "pitched", "volume")
MISSING = {"pooled": "cudaMemPoolCreate", "mipmapped": "cudaMallocMipmappedArray", "array": "cudaMallocArray"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Run:
    tree = find_cuda()
    try:
        compiler = native_program("r3-clang++")
        native_library("cpu/cuda13/libcudart.so.13")
        native_library("libR3Passes.so")
    except R3Error as missing:
        pytest.skip(str(missing))
    runtime = next(iter(sorted(tree.path.glob("lib*/libcudart.so.13"))), None) if tree else None
    if tree is None or runtime is None:
        pytest.skip("needs a CUDA 13 tree")
    folder = tmp_path_factory.mktemp("allocations")
    device = [f"--cuda-path={tree.path}", "--offload-arch=sm_90", "-Wno-unknown-cuda-version"]
    subprocess.run([compiler, *device, "-O2", PROGRAM, "-o", folder / "app", runtime], check=True)
    return record(folder / "app", "--device", "cpu")


def test_every_way_that_is_there_is_recorded(recorded: Run) -> None:
    for way in RECORDED:
        assert recorded.ways[way] == "right"
        kernel = recorded.kernel(way)
        assert (kernel.recorded, kernel.not_recordable) == (1, ())


def test_the_first_allocation_has_mapped_memory_in_front(recorded: Run) -> None:
    (launch,) = recorded.store.launches(recorded.kernel("in_front"))
    arena = recorded.store.processes()[0].arena_base
    assert [region.address for region in launch.regions] == [arena + (2 << 20)]


@pytest.mark.parametrize("way", REPLAYED)
def test_it_is_replayed(recorded: Run, way: str) -> None:
    with LocalEvaluator.open(recorded.store, recorded.kernel(way)) as evaluator:
        found = evaluator.baseline()
    assert found.status is Status.OK, (found.message, found.mismatches)


def test_registered_memory_is_not_recordable(recorded: Run) -> None:
    assert recorded.ways["registered"] == "right"
    kernel = recorded.kernel("registered")
    assert [(each.reason, each.launches) for each in kernel.not_recordable] == [("registered host memory", 1)]


def test_what_is_missing_is_named(recorded: Run) -> None:
    for way, entry in MISSING.items():
        assert recorded.ways[way] == "missing: cudaErrorNotSupported"
        assert f"r3: the cpu device has no {entry}\n" in recorded.messages


def test_managed_variables_of_hip_are_recorded_and_replayed(tmp_path: Path) -> None:
    done = test_hip.record(test_hip.build(MANAGED, tmp_path / "app", "--offload-arch=gfx90a"), tmp_path / "store")
    assert (done.returncode, done.stdout) == (0, "0 wrong\n"), done.stderr
    with Store.open(tmp_path / "store") as store:
        (kernel,) = store.kernels()
        (launch,) = store.launches(kernel)
        assert sorted(region.size for region in launch.regions) == [256, 256]
        with LocalEvaluator.open(store, kernel) as evaluator:
            found = evaluator.baseline()
    assert found.status is Status.OK, (found.message, found.mismatches)
