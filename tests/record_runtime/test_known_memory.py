"""Memory that was stored before is recognised on the device, and is not copied again."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import msgspec
import pytest

from r3cc.store.model import Launch
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.llvm import require_clang
from tests.record_runtime.bench import Bench, Recorded
from tests.record_runtime.build_programs import CHASE, SCALE

KERNELS = Path(__file__).parents[2] / "record_runtime/cuda/source/chunk_kernels.cu"
MEBI = 1 << 20
MANY = {"R3_RECORD_LAUNCHES": "20", "R3_RECORD_EVERY": "1", "FAKE_CUDA_TRAFFIC": "1"}
WAYS = {"off": {"R3_RECORD_DEVICE_HASH": "0"}, "no compiler": {"FAKE_CUDA_NO_COMPILER": "1"}}


def traffic(recorded: Recorded) -> int:
    """Bytes that were copied from the device."""
    found = re.search(r"copied to the host: (\d+)", recorded.messages)
    assert found, recorded.messages
    return int(found.group(1))


def contents(recorded: Recorded, kernel: str) -> list[Launch]:
    """All that a launch document says of what was recorded."""
    return [msgspec.structs.replace(each, launch="", time_ns=0) for each in recorded.launches(kernel)]


def test_twenty_launches_over_a_table_copy_it_once(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "tables", **MANY)
    assert len(recorded.launches(SCALE)) == 20
    assert 4 * MEBI < traffic(recorded) < 11 * MEBI  # the table, and a chunk of 256 KiB a launch


@pytest.mark.parametrize("way", WAYS)
def test_without_it_the_same_is_recorded(bench: Bench, way: str) -> None:
    program = bench.programs.dynamic
    for scenario, kernel in (("tables", SCALE), ("farlist", CHASE)):
        recorded = bench.record(program, scenario, **MANY)
        plain = bench.record(program, scenario, **MANY, **WAYS[way])
        assert recorded.output == plain.output
        assert contents(recorded, kernel) == contents(plain, kernel) != []
        if scenario == "tables":
            assert traffic(plain) > 150 * MEBI


def test_pointers_in_large_memory_are_found_on_the_device(bench: Bench) -> None:
    launch = bench.record(bench.programs.dynamic, "farlist").launches(CHASE)[0]
    assert sorted(region.size for region in launch.regions) == [16, 3 * MEBI, 3 * MEBI]
    assert all(region.before != region.after for region in launch.regions)


def test_managed_memory_is_found_on_the_device(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "farmanaged")
    assert set(recorded.refusals(CHASE)) == {"managed memory"}
    assert recorded.launches(CHASE) == []


def test_a_change_that_arguments_do_not_lead_to_is_seen_on_the_device(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "hiddentable", **MANY)
    assert len(recorded.launches("_Z6hiddenm")) == 19
    (reason,) = recorded.refusals("_Z6hiddenm")
    assert "changes memory that its arguments don't lead to" in reason


def test_the_code_that_is_embedded_is_that_of_the_source(tmp_path: Path) -> None:
    tree = find_cuda()
    if tree is None:
        pytest.skip("needs a CUDA tree")
    options = [f"--cuda-path={tree.path}", "-Wno-unknown-cuda-version", "--cuda-feature=+ptx63"]
    command = [require_clang().path, "-x", "cuda", "-O3", "--cuda-device-only", "--cuda-gpu-arch=sm_75", *options]
    made = tmp_path / "made.ptx"
    subprocess.run([*map(str, command), "-S", str(KERNELS), "-o", str(made)], check=True)
    assert made.read_text() == KERNELS.with_suffix(".ptx").read_text()
