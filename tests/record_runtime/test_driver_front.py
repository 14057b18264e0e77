"""libr3record.so in front of a driver: what programs see, and what is recorded of them."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from r3cc.store.model import Launch
from r3cc.store.verify import verify
from tests.record_runtime.bench import Bench, Recorded
from tests.record_runtime.build_programs import BITCODE, CHASE, COUNT, HIDDEN, LOST, MODULE, SAMPLE, SCALE, SPIN


def written(launch: Launch) -> int:
    """Place of a launch among all recorded ones."""
    return int(launch.launch.split("/")[1])


def floats(recorded: Recorded, launch: Launch, which: str) -> np.ndarray:
    (region,) = launch.regions
    return recorded.store.image(getattr(region, which), region.size).view(np.float32)


@pytest.fixture(params=["linked", "dynamic"])
def program(bench: Bench, request: pytest.FixtureRequest) -> str:
    return str(getattr(bench.programs, request.param))


@pytest.mark.parametrize(
    "scenario",
    [
        *("basic", "hidden", "managed", "foreign", "copied", "other", "capturing", "asynchronous", "threads", "idle"),
        *("pinned", "pitched", "pooled", "textured", "graphs", "devices", "external", "recreated"),
    ],
)
def test_program_prints_the_same(bench: Bench, program: str, scenario: str) -> None:
    recorded = bench.record(program, scenario)
    assert recorded.status == 0
    assert recorded.output == bench.plain(program, scenario)
    assert verify(recorded.store).sound


def test_every_launch_is_counted_and_timed(bench: Bench, program: str) -> None:
    recorded = bench.record(program, "basic", "20")
    for name in (SCALE, CHASE, COUNT):
        kernel = recorded.kernel(name)
        assert (kernel.launches, kernel.timed, kernel.module) == (20, 20, MODULE)
        assert kernel.total_ns > 0
        (shape,) = kernel.shapes
        assert shape.launches == 20
        own = 10_000 * shape.grid[0]
        assert own <= shape.median_ns <= own + 10_000  # at most two waits for the host


def test_times_have_no_loading_of_code_in_them(bench: Bench, program: str) -> None:
    kernel = bench.record(program, "basic", "20", R3_RECORD_KERNELS="none of them").kernel(SCALE)
    assert (kernel.timed, kernel.recorded) == (20, 0)
    assert 10_000 <= kernel.total_ns / 20 <= 20_000


def test_a_recorded_launch_has_the_kernels_own_time(bench: Bench, program: str) -> None:
    recorded = bench.record(program, "basic")
    assert {launch.time_ns for launch in recorded.launches(SCALE)} == {10_000}
    assert {launch.time_ns for launch in recorded.launches(COUNT)} == {20_000}  # two blocks


def test_time_without_a_held_stream_has_the_gap_to_the_launch(bench: Bench, program: str) -> None:
    recorded = bench.record(program, "basic", FAKE_CUDA_NO_WAIT="1")
    assert {launch.time_ns for launch in recorded.launches(SCALE)} <= {10_000, 15_000, 20_000}
    assert recorded.output == bench.plain(program, "basic")


def test_launches_that_wait_are_let_go(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "basic", "30", R3_RECORD_LAUNCHES="20", FAKE_CUDA_BLOCKING="1")
    assert recorded.output == bench.plain(bench.programs.dynamic, "basic", "30")
    launches = [launch for name in (SCALE, CHASE, COUNT) for launch in recorded.launches(name)]
    assert len(launches) == 18
    # No time is taken of a launch whose hold had to be cut short; after 8 of them there are no holds.
    assert [launch.time_ns == 0 for launch in sorted(launches, key=written)] == ([True] * 8 + [False] * 10)


def test_launches_known_to_wait_are_not_held(bench: Bench) -> None:
    settings = {"FAKE_CUDA_BLOCKING": "1", "CUDA_LAUNCH_BLOCKING": "1"}
    launches = bench.record(bench.programs.dynamic, "basic", "5", **settings).launches(SCALE)
    assert launches and all(launch.time_ns > 0 for launch in launches)


def test_a_context_that_takes_the_place_of_another_is_timed(bench: Bench, program: str) -> None:
    kernel = bench.record(program, "recreated", "10").kernel(SCALE)
    assert (kernel.launches, kernel.timed) == (20, 20)


def test_memory_that_was_allocated_past_the_recorder_is_not_recorded_around(bench: Bench, program: str) -> None:
    recorded = bench.record(program, "external", "5")
    assert recorded.kernel(SCALE).recorded == 0
    reason = "an argument leads to device memory whose allocation the recorder did not see"
    assert recorded.refusals(SCALE)[reason] > 0


def test_module_carries_its_bitcode(bench: Bench, program: str) -> None:
    recorded = bench.record(program, "basic", "1")
    assert recorded.store.bitcode(MODULE) == BITCODE
    assert recorded.store.module(MODULE).info["architecture"] == "sm_90"
    assert recorded.store.module(MODULE).binary == program


def test_launch_has_memory_before_and_after(bench: Bench, program: str) -> None:
    recorded = bench.record(program, "basic")
    first = recorded.launches(SCALE)[0]
    assert (first.grid, first.block, first.shared) == ((1, 1, 1), (32, 1, 1), 0)
    assert [(p.offset, p.size) for p in first.parameters] == [(0, 8), (8, 4), (12, 4)]
    (region,) = first.regions
    assert struct.unpack("<Qfi", first.arguments) == (region.address, 2.5, 100000)
    assert region.address >= 0x440000000000
    before, after = floats(recorded, first, "before"), floats(recorded, first, "after")
    np.testing.assert_array_equal(before, np.arange(200000) % 97)
    np.testing.assert_array_equal(after[:100000], before[:100000] * 2.5)
    np.testing.assert_array_equal(after[100000:], before[100000:])


def test_launches_are_spread_and_one_is_held_out(bench: Bench) -> None:
    launches = bench.record(bench.programs.dynamic, "basic", "70").launches(CHASE)
    assert [launch.ordinal for launch in launches] == [0, 1, 8, 64]
    assert [launch.held_out for launch in launches] == [False, True, False, False]


def test_addresses_are_the_same_in_every_run(bench: Bench) -> None:
    runs = [bench.record(bench.programs.dynamic, "basic") for _ in range(2)]
    regions = [[region.address for launch in run.launches(CHASE) for region in launch.regions] for run in runs]
    assert regions[0] == regions[1] != []


def test_pointers_in_device_memory_are_followed(bench: Bench, program: str) -> None:
    first = bench.record(program, "basic").launches(CHASE)[0]
    assert [region.size for region in first.regions] == [16, 16, 16]
    assert all(region.before != region.after for region in first.regions)


def test_mutable_globals_are_captured(bench: Bench, program: str) -> None:
    recorded = bench.record(program, "basic")
    (counter,) = recorded.launches(COUNT)[0].globals
    assert counter.name == "counter"
    values = [recorded.store.image(key, 8).view(np.uint64)[0] for key in (counter.before, counter.after)]
    assert values == [1, 3]


def test_equal_launches_are_kept_once(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "fill", "30", R3_RECORD_LAUNCHES="30")
    assert [launch.ordinal for launch in recorded.launches(SCALE)] == [0]
    assert recorded.kernel(SCALE).launches == 30


def test_copied_image_is_found_by_its_digest(bench: Bench) -> None:
    kernel = bench.record(bench.programs.linked, "copied").kernel(SCALE)
    assert (kernel.module, kernel.recorded) == (MODULE, 3)


def test_relocatable_code_is_found_by_object_and_name(bench: Bench) -> None:
    kernel = bench.record(bench.programs.relocatable, "basic").kernel(SCALE)
    assert (kernel.module, kernel.recorded) == (MODULE, 3)


def test_kernel_without_note_is_counted(bench: Bench, program: str) -> None:
    recorded = bench.record(program, "foreign", "5")
    kernel = recorded.kernel(SCALE)
    assert kernel.module.startswith("foreign:")
    assert (kernel.launches, kernel.recorded) == (5, 0)
    assert recorded.refusals(SCALE) == {"no R3 note: its binary was not built by r3-clang++": 5}
    assert recorded.store.module(kernel.module).bitcode is None


def test_hidden_writes_fall_back_to_all_memory(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "hidden")
    launches = recorded.launches(HIDDEN)
    assert [launch.ordinal for launch in launches] == [1, 8]
    assert {launch.snapshot for launch in launches} == {"all"}
    assert all(region.before != region.after for launch in launches for region in launch.regions)
    ((reason, count),) = recorded.refusals(HIDDEN).items()
    assert "its arguments don't lead to" in reason and count == 1


@pytest.mark.parametrize(
    ("settings", "ordinals"),
    [
        ({"R3_RECORD_LAUNCHES": "1", "R3_RECORD_HELD_OUT": "0"}, [1]),
        ({"R3_RECORD_SKIP": "5"}, [6]),
        ({"R3_RECORD_EVERY": "6"}, [1, 7, 13]),
    ],
)
def test_the_launch_after_a_hidden_write_is_recorded(
    bench: Bench, settings: dict[str, str], ordinals: list[int]
) -> None:
    launches = bench.record(bench.programs.dynamic, "hidden", **settings).launches(HIDDEN)
    assert [launch.ordinal for launch in launches][: len(ordinals)] == ordinals


def test_whole_memory_on_request(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "hidden", R3_RECORD_SNAPSHOT="all")
    assert recorded.launches(HIDDEN)[0].ordinal == 0
    assert recorded.refusals(HIDDEN) == {}


@pytest.mark.parametrize(
    ("scenario", "name", "reason"),
    [
        ("managed", SCALE, "managed memory"),
        ("other", SCALE, "a cooperative launch"),
        ("lost", LOST, "the driver can't find its variable missing"),
        ("spinning", SPIN, "the device wasn't idle within the deadline"),
        ("pooled", SCALE, "memory of the program's own pool"),
        ("textured", SAMPLE, "it reads textures or surfaces, whose handles mean nothing at replay"),
        ("graphs", "(CUDA graph)", "launched as a CUDA graph"),
    ],
)
def test_what_cannot_be_replayed_has_a_reason(bench: Bench, scenario: str, name: str, reason: str) -> None:
    recorded = bench.record(bench.programs.dynamic, scenario, R3_RECORD_DEADLINE_MS="200")
    assert recorded.status == 0
    assert reason in recorded.refusals(name)


def test_snapshot_does_not_wait_for_ever(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "spinning", R3_RECORD_DEADLINE_MS="200")
    assert recorded.output == bench.plain(bench.programs.dynamic, "spinning")
    assert recorded.refusals(SCALE) == {"the device wasn't idle within the deadline": 1}


def test_argument_buffer_and_extended_launch(bench: Bench) -> None:
    launches = bench.record(bench.programs.dynamic, "other").launches(SCALE)
    assert {(launch.grid[0], launch.block[0]) for launch in launches} == {(3, 32), (1, 64)}
    assert {len(launch.arguments) for launch in launches} == {16}


def test_captured_streams_pass_through(bench: Bench) -> None:
    kernel = bench.record(bench.programs.dynamic, "capturing").kernel(SCALE)
    assert (kernel.launches, kernel.recorded) == (1, 1)


def test_stream_ordered_memory_is_recorded(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "asynchronous")
    assert [launch.ordinal for launch in recorded.launches(SCALE)] == [0, 1, 8]
    np.testing.assert_array_equal(floats(recorded, recorded.launches(SCALE)[1], "after"), np.full(1000, 3.0))


def test_pinned_memory_lies_at_its_own_fixed_addresses(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "pinned")
    launches = recorded.launches(SCALE)
    assert [launch.ordinal for launch in launches] == [0, 1, 8]
    assert {launch.regions[0].address for launch in launches} == {0x400000200000}  # behind the guard
    np.testing.assert_array_equal(floats(recorded, launches[0], "after"), np.arange(1000) * 2)


def test_pinned_memory_with_another_address_on_the_device_is_left_alone(bench: Bench) -> None:
    elsewhere = {"FAKE_CUDA_HOST_ELSEWHERE": "1"}
    recorded = bench.record(bench.programs.dynamic, "spinning", R3_RECORD_DEADLINE_MS="200", **elsewhere)
    assert recorded.output == bench.plain(bench.programs.dynamic, "spinning")
    assert recorded.refusals(SPIN) == {"pinned host memory": 1}


def test_pitched_memory_is_recorded_with_its_rows(bench: Bench) -> None:
    (launch, *_) = bench.record(bench.programs.dynamic, "pitched").launches(SCALE)
    assert [region.size for region in launch.regions] == [3 * 1024]


def test_graphs_are_counted(bench: Bench) -> None:
    kernel = bench.record(bench.programs.dynamic, "graphs", "7").kernel("(CUDA graph)")
    assert (kernel.launches, kernel.recorded) == (7, 0)


def test_each_device_has_its_own_addresses(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "devices", FAKE_CUDA_DEVICES="2")
    assert "2 devices" in recorded.output
    found = {(launch.device, launch.regions[0].address >> 40) for launch in recorded.launches(SCALE)}
    assert found == {("cuda:0", 0x44), ("cuda:1", 0x45)}
    assert recorded.kernel(SCALE).launches == 40


def test_threads(bench: Bench) -> None:
    kernel = bench.record(bench.programs.dynamic, "threads", "50").kernel(SCALE)
    assert kernel.launches == 200
    assert sorted(shape.launches for shape in kernel.shapes) == [50] * 4


def test_kernels_are_chosen_by_name(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "basic", R3_RECORD_KERNELS="^chase|scale\\(float")
    recorded_counts = {kernel.name: kernel.recorded for kernel in recorded.store.kernels()}
    assert recorded_counts == {SCALE: 3, CHASE: 3, COUNT: 0}
    assert recorded.kernel(COUNT).launches == 20


def test_skip_and_quota(bench: Bench) -> None:
    limits = {"R3_RECORD_SKIP": "5", "R3_RECORD_LAUNCHES": "1", "R3_RECORD_HELD_OUT": "0"}
    launches = bench.record(bench.programs.dynamic, "basic", **limits).launches(CHASE)
    assert [launch.ordinal for launch in launches] == [5]


def test_every_nth_launch(bench: Bench) -> None:
    settings = {"R3_RECORD_EVERY": "5", "R3_RECORD_SKIP": "2", "R3_RECORD_LAUNCHES": "2"}
    launches = bench.record(bench.programs.dynamic, "basic", "30", **settings).launches(SCALE)
    assert [launch.ordinal for launch in launches] == [2, 7, 12]


@pytest.mark.parametrize(
    ("ranks", "variables", "recorded"),
    [
        ("0", {"OMPI_COMM_WORLD_RANK": "0"}, 3),
        ("0", {"OMPI_COMM_WORLD_RANK": "1"}, 0),
        ("0,2-3", {"PMI_RANK": "3"}, 3),
        ("0,2-3", {"SLURM_PROCID": "4"}, 0),
        ("0", {}, 3),
    ],
)
def test_ranks_that_record(bench: Bench, ranks: str, variables: dict[str, str], recorded: int) -> None:
    run = bench.record(bench.programs.dynamic, "basic", R3_RECORD_RANKS=ranks, **variables)
    assert (run.kernel(SCALE).launches, run.kernel(SCALE).recorded) == (20, recorded)
    assert run.store.processes()[0].rank == (int(next(iter(variables.values()))) if variables else None)


def test_bad_ranks_are_said_once_and_harmless(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "basic", R3_RECORD_RANKS="3-1")
    assert recorded.messages.count("R3_RECORD_RANKS is '3-1'") == 1
    assert recorded.kernel(SCALE).recorded == 3


def test_bad_setting_is_said_once_and_harmless(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "basic", R3_RECORD_LAUNCHES="many", R3_RECORD_KERNELS="(")
    assert recorded.status == 0
    assert all(line.startswith("r3: ") for line in recorded.messages.splitlines())
    assert recorded.messages.count("R3_RECORD_LAUNCHES is 'many'") == 1
    assert recorded.messages.count("R3_RECORD_KERNELS is '('") == 1


def test_taken_base_is_an_error_that_leaves_the_program_alone(bench: Bench) -> None:
    # The lowest page can't be reserved.
    recorded = bench.record(bench.programs.dynamic, "basic", R3_RECORD_ARENA_BASE="0x7ffffffff000")
    assert recorded.output == bench.plain(bench.programs.dynamic, "basic")
    assert recorded.messages.count("can't be had on cuda:0") == 1
    assert recorded.kernel(SCALE).recorded == 0
    assert "the fixed range of device addresses can't be had" in recorded.refusals(SCALE)


def test_exhausted_device_memory_is_the_programs_own_error(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "basic", FAKE_CUDA_MEMORY="100000")
    assert recorded.status == 3
    assert "cuMemAlloc_v2(&address, size) failed: 2" in recorded.messages


def test_nothing_without_a_recording(bench: Bench) -> None:
    plain = bench.plain(bench.programs.dynamic, "basic")
    assert bench.plain(bench.programs.dynamic, "basic", LD_PRELOAD=str(bench.recorder)) == plain
    assert bench.plain("/bin/echo", "hello", LD_PRELOAD=str(bench.recorder)) == "hello\n"
