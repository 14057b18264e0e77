"""HIP devices, by hip-python, on the cpu device's own HIP runtime: the calls are real, the GPU is the host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

from r3cc.devices.base import DeviceUnavailable, runs_on_host
from r3cc.errors import R3Error
from r3cc.farm.local import check_device, compile_setup
from r3cc.store import Store
from r3cc.toolchain.native import native_library
from tests.conftest import SAXPY
from tests.cpu.test_hip import PROGRAM, ROOT, record
from tests.cpu.test_hip import build as build_hip
from tests.replay.cpu_kernels import build


@pytest.fixture
def environment() -> dict[str, str]:
    """Variables under which hip-python finds R3's HIP runtime."""
    if find_spec("hip") is None:
        pytest.skip("needs hip-python: pip install 'r3cc[hip]'")
    try:
        folder = native_library("cpu/hip6/libamdhip64.so").parent
    except R3Error as missing:
        pytest.skip(str(missing))
    return os.environ | {"LD_LIBRARY_PATH": str(folder)}


def test_the_calls_of_replay(tmp_path: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "tests.devices.hip_calls", str(build(tmp_path, "RIGHT"))]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    missing, ordinal, image = done.stdout.splitlines()
    assert missing == "hipModuleGetFunction: hipErrorNotFound"
    assert ordinal == "there is no hip:7 here; the runtime has 1 GPU(s), numbered from 0"
    assert image == "hipModuleLoadData: hipErrorInvalidImage"


def test_a_recorded_kernel_is_replayed(tmp_path: Path, environment: dict[str, str]) -> None:
    done = record(build_hip(PROGRAM, tmp_path / "waves", "--offload-arch=gfx90a"), tmp_path / "store")
    assert done.returncode == 0, done.stderr
    command = [sys.executable, "-c", "from r3cc.cli import main; main()", "replay", "--store", str(tmp_path / "store")]
    for passes, status in ((), "ok"), (("--passes", "default<O1>"), "ok"), (("--passes", "no-such-pass"), "rejected"):
        options = ["--device", "hip:0", "--samples", "1", "--json", *passes, "sums"]
        done = subprocess.run(
            [*command, *options], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
        )
        answer = json.loads(done.stdout)
        assert answer["status"] == status, done.stdout + done.stderr
        assert answer["device"] == "hip:0"


def test_kernels_for_other_gpus_are_refused(small_store: Store) -> None:
    kernel = small_store.find_kernel(SAXPY, None)
    assert check_device(kernel, "hip:0") == "hip:0"
    with pytest.raises(R3Error, match="was not built for AMD's GPUs: hip:0 cannot run it"):
        compile_setup(small_store, kernel, "hip:0", "")
    with pytest.raises(R3Error, match="can be replayed on a cuda device only"):
        check_device(msgspec.structs.replace(kernel, device="cuda:0"), "hip:0")


def test_without_hip_python_it_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from r3cc.devices import open_device

    monkeypatch.setitem(sys.modules, "hip", None)
    with pytest.raises(DeviceUnavailable, match=r"pip install 'r3cc\[hip\]'"):
        open_device("hip:0")


def test_what_ran_on_the_host_is_no_gpus_result() -> None:
    assert runs_on_host("cpu", "some processor") and runs_on_host("hip:0", "R3 cpu device")
    assert not runs_on_host("hip:0", "AMD Instinct MI250X") and not runs_on_host("cuda:0", "NVIDIA H200")
