import os
import signal
import time

import msgspec
import numpy as np
import pytest

from r3cc.devices import open_device
from r3cc.farm import EvaluatorSettings
from r3cc.farm.local import LocalEvaluator
from r3cc.replay.compile import CodeRequest
from r3cc.replay.model import Candidate, L2State, LaunchConfiguration, Numerics, Status, TimingPlan
from r3cc.replay.session import Job
from r3cc.store.model import Parameter
from tests.replay.launches import MemoryLaunches, make_launch
from tests.replay.modules import compile_setup
from tests.replay.sources import FAULTY, SAXPY, STATE

pytestmark = pytest.mark.gpu

WAIT_S = 300
PLAN = TimingPlan(warmups=1, samples=9)
SETTINGS = EvaluatorSettings(launch_deadline_s=5.0)
Y, X = 0x440000200000, 0x440010000000
COUNT = 1 << 20
"""Elements that fill their memory to its end, where nothing more is mapped."""
STRIDE = 1024
"""Elements from one changed one to the next: every second page."""
ROWS = COUNT // STRIDE
BEFORE_THE_END = COUNT - 16
"""Elements behind which there is mapped memory that nobody captured."""


@pytest.fixture(scope="session")
def architecture():
    device = open_device("cuda:0")
    found = device.properties.architecture
    device.close()
    return found


@pytest.fixture
def evaluator_of(tmp_path, architecture):
    opened = []

    def make(source, launches, kernel, settings=SETTINGS):
        folder = tmp_path / str(len(opened))
        folder.mkdir()
        setup = compile_setup(folder, source, kernel, "cuda:0", architecture)
        opened.append(LocalEvaluator(launches, setup, "cuda:0", settings))
        return opened[-1]

    yield make
    for evaluator in opened:
        evaluator.close()


def scale_launches(accumulate=False, count=COUNT, app_ns=0.0):
    source = MemoryLaunches()
    x, y = np.linspace(1.0, 2.0, count), np.full(count, 0.5)
    arguments = np.array([Y, X], np.uint64).tobytes() + np.array([count], np.int32).tobytes()
    regions = [source.region(Y, y, 3.0 * x + (y if accumulate else 0.0)), source.region(X, x, x)]
    shape = {"grid": (-(-count // 256), 1, 1), "block": (256, 1, 1), "device": "cuda:0"}
    source.add(make_launch(regions, (), arguments, (8, 8, 4), name="scale", **shape), app_ns=app_ns)
    return source


def saxpy_launches():
    source = MemoryLaunches()
    x, y = np.linspace(0.0, 1.0, COUNT), np.full(COUNT, 2.0)
    arguments = np.array([COUNT, 0], np.int32).tobytes() + np.array([3.0]).tobytes()
    arguments += np.array([X, Y], np.uint64).tobytes()
    regions = [source.region(X, x, x), source.region(Y, y, 3.0 * x + y)]
    launch = make_launch(
        regions, (), arguments, (), name="saxpy", grid=(4096, 1, 1), block=(256, 1, 1), device="cuda:0"
    )
    parameters = (Parameter(0, 4), Parameter(8, 8), Parameter(16, 8), Parameter(24, 8))
    source.add(msgspec.structs.replace(launch, parameters=parameters))
    return source


def evaluate(evaluator, candidate, plan=PLAN):
    return evaluator.submit(candidate, plan).result(WAIT_S)


def test_saxpy_is_valid_at_its_own_options_and_others(evaluator_of):
    evaluator = evaluator_of(SAXPY, saxpy_launches(), "saxpy")
    baseline = evaluator.baseline()
    assert baseline.status is Status.OK, (baseline.message, baseline.mismatches)
    assert baseline.resources["registers"] > 0
    for candidate in (
        Candidate("default<O1>"),
        Candidate(launch=LaunchConfiguration(block=(64, 1, 1))),
        Candidate(codegen=(("fp-contract", "never"),)),
        Candidate(codegen=(("maxnreg", "32"), ("maxntid", "256"))),
    ):
        found = evaluate(evaluator, candidate)
        assert found.status is Status.OK, (candidate, found.message, found.mismatches)


def test_memory_is_restored_before_every_launch(evaluator_of):
    evaluator = evaluator_of("#define ACCUMULATE\n" + FAULTY, scale_launches(accumulate=True), "scale")
    found = evaluator.baseline()
    assert found.status is Status.OK, (found.message, found.mismatches)


def test_short_launches_are_timed_several_to_a_sample(evaluator_of):
    evaluator = evaluator_of(FAULTY, scale_launches(count=1000), "scale")
    found = evaluator.baseline()
    assert found.status is Status.OK
    assert found.time_ns.median < 100_000


def test_changes_all_over_memory_are_restored(evaluator_of):
    source = MemoryLaunches()
    y, x = np.full(COUNT, 0.5), np.ones(ROWS)
    after = y.copy()
    after[::STRIDE] += 3.0
    arguments = np.array([Y, X], np.uint64).tobytes() + np.array([ROWS], np.int32).tobytes()
    regions = [source.region(Y, y, after), source.region(X, x, x)]
    shape = {"grid": (ROWS // 256, 1, 1), "block": (256, 1, 1), "device": "cuda:0"}
    source.add(make_launch(regions, (), arguments, (8, 8, 4), name="scale", **shape))
    found = evaluator_of(f"#define STRIDE {STRIDE}\n" + FAULTY, source, "scale").baseline()
    assert found.status is Status.OK, (found.message, found.mismatches)
    assert found.message == ""
    assert found.mark_overhead_ns > 0


@pytest.mark.parametrize("state", [L2State.COLD, L2State.WARM])
def test_the_cache_state_asked_for_is_named(evaluator_of, state):
    settings = msgspec.structs.replace(SETTINGS, l2=state)
    evaluator = evaluator_of(FAULTY, scale_launches(), "scale", settings)
    assert evaluator.baseline().l2 is state
    other = next(each for each in L2State if each is not state)
    assert evaluate(evaluator, Candidate(), msgspec.structs.replace(PLAN, l2=other)).l2 is other


STATE_BEFORE = np.arange(64.0)


def state_launches(kernel, after, regions=(), arguments=b"", sizes=()):
    source = MemoryLaunches()
    factor = np.array([0.0, 0.5])
    variables = [source.variable("_ZL5state", STATE_BEFORE, after), source.variable("factor", factor, factor)]
    regions = [source.region(*region) for region in regions]
    shape = {"grid": (1, 1, 1), "block": (64, 1, 1), "device": "cuda:0"}
    source.add(make_launch(regions, variables, arguments, sizes, name=kernel, **shape))
    return source


def test_a_kernel_that_reads_internal_state_and_constants(evaluator_of):
    regions = [(Y, np.zeros(64), STATE_BEFORE * 0.5)]
    pointer = np.array([Y], np.uint64).tobytes()
    source = state_launches("read_state", STATE_BEFORE, regions, pointer, (8,))
    found = evaluator_of(STATE, source, "read_state").baseline()
    assert found.status is Status.OK, (found.message, found.mismatches)


def test_a_kernel_that_changes_internal_state(evaluator_of):
    source = state_launches("advance_state", STATE_BEFORE + 1.0)
    found = evaluator_of(STATE, source, "advance_state").baseline()
    assert found.status is Status.OK, (found.message, found.mismatches)


def test_wrong_internal_state_is_a_mismatch(evaluator_of):
    source = state_launches("advance_state", STATE_BEFORE + 2.0)
    found = evaluator_of(STATE, source, "advance_state").baseline()
    assert found.status is Status.MISMATCH
    assert found.mismatches[0].where == "_ZL5state+0"


@pytest.mark.parametrize(
    ("variant", "count", "status"),
    [
        ("HANG", COUNT, Status.TIMEOUT),
        ("WILD", COUNT, Status.DEVICE_FAULT),
        ("TRAP", COUNT, Status.DEVICE_FAULT),
        ("STRAY", BEFORE_THE_END, Status.MISMATCH),
        ("STRAY", COUNT, Status.DEVICE_FAULT),
        ("WRONG", COUNT, Status.MISMATCH),
    ],
)
def test_a_faulty_candidate_gets_its_status_and_the_next_one_runs(evaluator_of, variant, count, status):
    launches = scale_launches(count=count)
    settings = msgspec.structs.replace(SETTINGS, launch_deadline_s=2.0)
    evaluator = evaluator_of(FAULTY, launches, "scale", settings)
    assert evaluator.baseline().status is Status.OK
    faulty = evaluator_of(f"#define {variant}\n" + FAULTY, launches, "scale")
    code = faulty.pool.submit(CodeRequest()).result(WAIT_S)
    measured = evaluator.lane.submit(Job(code.path, LaunchConfiguration(), PLAN)).result(WAIT_S)
    assert measured.status is status, measured.message
    assert evaluate(evaluator, Candidate("default<O1>,verify")).status is Status.OK


def test_a_killed_worker_is_replaced(evaluator_of):
    evaluator = evaluator_of(FAULTY, scale_launches(), "scale")
    assert evaluator.baseline().status is Status.OK
    os.kill(evaluator.lane.worker_pid, signal.SIGKILL)
    time.sleep(0.2)
    evaluate(evaluator, Candidate("default<O1>"))
    assert evaluate(evaluator, Candidate("default<O2>,verify"), TimingPlan(samples=5)).status is Status.OK


def test_bitwise_replay_of_the_recorded_build(evaluator_of):
    settings = msgspec.structs.replace(SETTINGS, numerics=Numerics.BITWISE)
    assert evaluator_of(FAULTY, scale_launches(), "scale", settings).baseline().status is Status.OK
