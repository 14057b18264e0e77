"""Memory is recognised on the GPU: the same is recorded as without, and little is copied."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from r3cc.errors import R3Error
from r3cc.store import Store
from r3cc.store.model import Kernel, Launch
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_program

pytestmark = pytest.mark.gpu

PROGRAM = Path(__file__).parent / "programs/tables.cu"
TABLE = 8 * ((3 << 20) + 6)
LAUNCHES = 20


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = find_cuda()
    try:
        compiler = native_program("r3-clang++")
    except R3Error as missing:
        pytest.skip(str(missing))
    assert tree is not None
    target = tmp_path_factory.mktemp("program") / "tables"
    folder = next(path for path in (tree.path / "lib64", tree.path / "lib") if any(path.glob("libcudart.so.*")))
    runtime = min(path.name for path in folder.glob("libcudart.so.*"))
    link = [f"-L{folder}", f"-Wl,-rpath,{folder}", f"-l:{runtime}"]
    device = [f"--cuda-path={tree.path}", "--offload-arch=sm_90", "-Wno-unknown-cuda-version"]
    subprocess.run([compiler, "-O2", *device, PROGRAM, "-o", target, *link], check=True)
    return target


class Recorded(msgspec.Struct):
    """What a run printed, and left."""

    output: str
    store: Store

    def kernel(self, name: str) -> Kernel:
        (found,) = (kernel for kernel in self.store.kernels() if name in kernel.name)
        return found

    def launches(self, name: str) -> list[Launch]:
        """By ordinal, without what differs from run to run."""
        found = sorted(self.store.launches(self.kernel(name)), key=lambda launch: launch.ordinal)
        return [msgspec.structs.replace(each, launch="", time_ns=0, module="") for each in found]

    @property
    def copied(self) -> int:
        """Bytes that recorded launches had copied to the host."""
        return sum(end.copied_bytes for end in self.store.ends(self.store.recording().id))


def record(program: Path, store: Path, **variables: str) -> Recorded:
    options = ["--store", str(store), "--launches", str(LAUNCHES), "--held-out", "0", "--every", "1"]
    command = [sys.executable, "-c", "from r3cc.cli import main; main()", "record", *options, "--", str(program)]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return Recorded(done.stdout, Store.open(store))


@pytest.fixture(scope="module")
def recorded(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(program, tmp_path_factory.mktemp("with") / "store")


def test_the_same_is_recorded_as_without(program: Path, recorded: Recorded, tmp_path: Path) -> None:
    plain = record(program, tmp_path / "store", R3_RECORD_DEVICE_HASH="0")
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert recorded.output == plain.output == printed
    for name in ("walk", "fill", "hidden"):
        assert recorded.launches(name) == plain.launches(name) != []
    assert plain.copied > 2 * LAUNCHES * 3 * TABLE


def test_what_is_known_is_not_copied_again(recorded: Recorded) -> None:
    walks = recorded.launches("walk")
    assert len(walks) == LAUNCHES
    assert [region.size for region in walks[0].regions] == [TABLE] * 3
    # The tables after each of their fills, and 4 changed chunks of 256 KiB a launch.
    assert 3 * TABLE <= recorded.copied < 10 * TABLE + 30 * 4 * (256 << 10)


def test_a_hidden_change_is_seen(recorded: Recorded) -> None:
    (refusal,) = recorded.kernel("hidden").not_recordable
    assert "changes memory that its arguments don't lead to" in refusal.reason
    assert refusal.launches == 1
    assert all(launch.snapshot == "all" for launch in recorded.launches("hidden"))
