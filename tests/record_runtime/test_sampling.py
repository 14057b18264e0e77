"""Which launches are recorded: of different scalars, by a plan, by ranks, or none at all."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from r3cc.store.verify import verify
from tests.record_runtime.bench import Bench, Recorded
from tests.record_runtime.build_programs import CHASE, COUNT, SCALE


def ordinals(recorded: Recorded, name: str) -> list[int]:
    return [launch.ordinal for launch in recorded.launches(name)]


def test_each_value_of_a_scalar_has_a_launch_for_search_before_one_has_two(bench: Bench) -> None:
    launches = bench.record(bench.programs.dynamic, "basic", "80").launches(SCALE)  # two factors by turns
    assert [launch.ordinal for launch in launches] == [0, 1, 9, 72]
    factors = [struct.unpack("<Qfi", launch.arguments)[1] for launch in launches if not launch.held_out]
    assert set(factors) == {0.5, 2.5}


def test_a_value_that_comes_late_is_recorded_past_the_quota(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "levels", "120")
    assert ordinals(recorded, SCALE) == [0, 1, 8, 64, 91]
    (late,) = (launch for launch in recorded.launches(SCALE) if launch.ordinal == 91)
    assert struct.unpack("<Qfi", late.arguments)[2] == 500
    assert not late.held_out


def test_a_value_that_comes_once_is_not(bench: Bench) -> None:
    assert ordinals(bench.record(bench.programs.dynamic, "levels", "91"), SCALE) == [0, 1, 8, 64]


def test_times_only(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "basic", "30", R3_RECORD_TIMES_ONLY="1")
    assert recorded.output == bench.plain(bench.programs.dynamic, "basic", "30")
    for name, blocks in ((SCALE, 1), (CHASE, 1), (COUNT, 2)):
        kernel = recorded.kernel(name)
        assert (kernel.launches, kernel.timed, kernel.recorded, kernel.not_recordable) == (30, 30, 0, ())
        assert kernel.total_ns >= 30 * blocks * 10_000
        assert recorded.launches(name) == []
    assert verify(recorded.store).packs[0].bytes < 10_000


def write_plan(folder: Path, kernels: dict[str, list[tuple[int, bool]]], **shape: Any) -> str:
    geometry = {"grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0} | shape
    document = {
        "kernels": [
            {"name": name, "shapes": [geometry | {"launches": [{"ordinal": o, "held_out": h} for o, h in launches]}]}
            for name, launches in kernels.items()
        ]
    }
    file = folder / "plan.json"
    file.write_text(json.dumps(document))
    return str(file)


def test_a_plan_alone_decides(bench: Bench) -> None:
    plan = write_plan(bench.folder, {SCALE: [(3, False), (5, True), (17, False)]})
    recorded = bench.record(bench.programs.dynamic, "basic", "20", R3_RECORD_PLAN=plan)
    assert [(launch.ordinal, launch.held_out) for launch in recorded.launches(SCALE)] == [
        (3, False),
        (5, True),
        (17, False),
    ]
    assert (recorded.kernel(CHASE).recorded, recorded.kernel(COUNT).recorded) == (0, 0)


def test_a_planned_launch_that_was_lost_is_replaced_by_the_next(bench: Bench) -> None:
    plan = write_plan(bench.folder, {"_Z6hiddenm": [(4, False), (9, True)]})
    recorded = bench.record(bench.programs.dynamic, "hidden", R3_RECORD_PLAN=plan)
    assert ordinals(recorded, "_Z6hiddenm") == [5, 9]  # the first one wrote where its arguments don't lead


def test_a_plan_of_other_shapes_records_nothing(bench: Bench) -> None:
    plan = write_plan(bench.folder, {SCALE: [(0, False)]}, grid=[7, 1, 1])
    assert bench.record(bench.programs.dynamic, "basic", R3_RECORD_PLAN=plan).kernel(SCALE).recorded == 0


def test_a_plan_that_cannot_be_read_is_said_once_and_harmless(bench: Bench) -> None:
    broken = bench.folder / "broken.json"
    broken.write_text('{"kernels": 1}')
    recorded = bench.record(bench.programs.dynamic, "basic", R3_RECORD_PLAN=str(broken))
    assert recorded.messages.count("R3_RECORD_PLAN") == 1
    assert recorded.kernel(CHASE).recorded == 3


def recorded_by_ranks(bench: Bench, launches: str) -> list[set[str]]:
    """Kernels that each of four ranks, one after the other, records of a recording."""
    path = bench.folder / "job"
    for rank in range(4):
        job = {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "4", "R3_RECORD_RANKS": "spread"}
        with bench.start(path, bench.programs.dynamic, "basic", launches, **job) as process:
            process.communicate(timeout=60)
    store = bench.open(path)
    ranks = {process.pack: process.rank for process in store.processes()}
    found: list[set[str]] = [set() for _ in range(4)]
    for kernel in store.kernels():
        assert kernel.launches == 4 * int(launches)
        for launch in store.launches(kernel):
            found[ranks[launch.launch.split("/")[0]] or 0].add(kernel.name)
    return found


def test_kernels_are_spread_over_ranks(bench: Bench) -> None:
    found = recorded_by_ranks(bench, "10")
    assert sum(map(len, found)) == 3 and set().union(*found) == {SCALE, CHASE, COUNT}
    assert max(map(len, found)) < 3


def test_a_kernel_that_its_rank_leaves_alone_is_taken_by_another(bench: Bench) -> None:
    first, *others = recorded_by_ranks(bench, "20")  # rank 0 gets to its 17th launch first
    assert first == {SCALE, CHASE, COUNT} and not any(others)
