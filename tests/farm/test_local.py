import os
import random
import signal
import threading
import time
from collections import Counter
from contextlib import closing, suppress

import msgspec
import numpy as np
import pytest

from r3cc.farm import EvaluatorSettings
from r3cc.farm.compile_pool import CompilePool
from r3cc.farm.local import LocalEvaluator
from r3cc.replay.compile import CodeRequest
from r3cc.replay.model import Candidate, LaunchConfiguration, Status, TimingPlan
from r3cc.store.model import Parameter
from tests.replay.cpu_kernels import built
from tests.replay.launches import MemoryLaunches, make_launch
from tests.replay.modules import compile_setup
from tests.replay.sources import SAXPY

pytestmark = pytest.mark.skipif(
    not (built("libr3cpu.so") and built("libR3Passes.so")), reason="libr3cpu.so and libR3Passes.so are not built"
)

WAIT_S = 120
COUNT = 5000
PLAN = TimingPlan(warmups=0, samples=3)
SETTINGS = EvaluatorSettings(compile_processes=1, launch_deadline_s=5.0, probes=2)
Y, X = 0x610000000000, 0x610000100000


def saxpy_launches():
    source = MemoryLaunches()
    x, y = np.linspace(0.0, 1.0, COUNT), np.full(COUNT, 2.0)
    arguments = np.array([COUNT, 0], np.int32).tobytes() + np.array([3.0]).tobytes()
    arguments += np.array([X, Y], np.uint64).tobytes()
    regions = [source.region(X, x, x), source.region(Y, y, 3.0 * x + y)]
    launch = make_launch(regions, (), arguments, (), name="saxpy", grid=(20, 1, 1), block=(256, 1, 1))
    parameters = (Parameter(0, 4), Parameter(8, 8), Parameter(16, 8), Parameter(24, 8))
    source.add(msgspec.structs.replace(launch, parameters=parameters))
    return source


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory):
    setup = compile_setup(tmp_path_factory.mktemp("saxpy"), SAXPY, "saxpy", "cpu")
    with LocalEvaluator(saxpy_launches(), setup, "cpu", SETTINGS) as opened:
        yield opened


def evaluate(evaluator, candidate, plan=PLAN):
    return evaluator.submit(candidate, plan).result(WAIT_S)


def test_the_baseline_is_valid_and_as_fast_as_itself(evaluator):
    found = evaluator.baseline()
    assert found.status is Status.OK, found.message
    assert found.object_hash and found.ir_hash and found.launches == 1
    assert found.ratio.low <= found.ratio.median <= found.ratio.high
    assert {"compile_ir", "codegen", "load", "launch", "check"} <= found.phases_ns.keys()


def test_another_pipeline_and_block_are_valid(evaluator):
    found = evaluate(evaluator, Candidate("default<O1>", (), LaunchConfiguration(block=(64, 1, 1))))
    assert found.status is Status.OK, found.message


@pytest.mark.parametrize(
    ("candidate", "status", "part"),
    [
        (Candidate("defalt<O1>"), Status.REJECTED, "defalt"),
        (Candidate(launch=LaunchConfiguration(block=(2048, 1, 1))), Status.REJECTED, "2048 threads"),
        (Candidate(codegen=(("speed", "11"),)), Status.REJECTED, "speed"),
        (Candidate(codegen=(("maxnreg", "64"),)), Status.REJECTED, "cpu device"),
        (Candidate(launch=LaunchConfiguration(grid=(1, 1, 1))), Status.MISMATCH, "differ"),
    ],
)
def test_a_bad_candidate_says_what_it_is(evaluator, candidate, status, part):
    found = evaluate(evaluator, candidate)
    assert found.status is status
    assert part in found.message


def test_a_pipeline_that_aborts_llvm_is_a_compile_error_and_the_evaluator_goes_on(evaluator):
    assert evaluate(evaluator, Candidate("loop(licm)")).status is Status.COMPILE_ERROR
    assert evaluate(evaluator, Candidate("default<O2>")).status is Status.OK


def test_equal_candidates_are_one_evaluation(evaluator):
    one, other = Candidate("default<O3>,verify"), Candidate("default<O3>,verify")
    future = evaluator.submit(one, PLAN)
    assert evaluator.submit(other, PLAN) is future
    assert future.result(WAIT_S).status is Status.OK


def test_equal_objects_are_measured_once(evaluator, monkeypatch):
    asked = Counter()
    submit = evaluator.lane.submit

    def counted(job):
        asked[job.code] += 1
        return submit(job)

    monkeypatch.setattr(evaluator.lane, "submit", counted)
    plan = TimingPlan(warmups=0, samples=4)
    found = [evaluate(evaluator, Candidate(f"default<O3>{',verify' * count}"), plan) for count in range(3)]
    assert len({each.object_hash for each in found}) == 1
    assert sum(asked.values()) == 1
    again = evaluate(evaluator, Candidate("default<O3>"), TimingPlan(warmups=0, samples=4, repetition=1))
    assert again.status is Status.OK
    assert sum(asked.values()) == 2


def test_closing_cancels_what_waits(tmp_path):
    setup = compile_setup(tmp_path, SAXPY, "saxpy", "cpu")
    evaluator = LocalEvaluator(saxpy_launches(), setup, "cpu", SETTINGS)
    futures = [evaluator.submit(Candidate(f"default<O{level}>"), PLAN) for level in (1, 2, 3)]
    evaluator.close()
    for future in futures:
        assert future.cancelled() or future.exception(WAIT_S) or future.result(WAIT_S)


@pytest.fixture
def pool(tmp_path):
    opened = CompilePool(compile_setup(tmp_path, SAXPY, "saxpy", "cpu"), 1, 60.0)
    yield opened
    opened.close()


def test_a_killed_compile_process_is_lost_and_replaced(pool):
    assert pool.submit(CodeRequest()).result(WAIT_S).status is Status.OK
    (first,) = pool.worker_pids
    os.kill(first, signal.SIGSTOP)  # so that it is at work when it dies
    running = pool.submit(CodeRequest("default<O1>"))
    time.sleep(0.2)
    os.kill(first, signal.SIGKILL)
    assert running.result(WAIT_S).status is Status.WORKER_LOST
    assert pool.submit(CodeRequest("default<O2>")).result(WAIT_S).status is Status.OK
    assert pool.worker_pids != [first]


def test_compile_processes_start_before_there_is_work(tmp_path):
    with closing(CompilePool(compile_setup(tmp_path, SAXPY, "saxpy", "cpu"), 3, 60.0)) as pool:
        pool.start(2)
        until = time.monotonic() + 60
        while len(pool.worker_pids) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        started = pool.worker_pids
        assert len(started) == 2
        assert pool.submit(CodeRequest()).result(60).status is Status.OK
        assert set(started) <= set(pool.worker_pids)


def test_an_idle_compile_process_ends_and_another_takes_its_place(tmp_path):
    pool = CompilePool(compile_setup(tmp_path, SAXPY, "saxpy", "cpu"), 1, 60.0)
    pool.idle_s = 0.1
    assert pool.submit(CodeRequest()).result(WAIT_S).status is Status.OK
    until = time.monotonic() + WAIT_S
    while pool.worker_pids and time.monotonic() < until:
        time.sleep(0.05)
    assert pool.worker_pids == []
    assert pool.submit(CodeRequest("default<O1>")).result(WAIT_S).status is Status.OK
    pool.close()


def test_a_compilation_that_does_not_end_is_a_compile_timeout(tmp_path):
    pool = CompilePool(compile_setup(tmp_path, SAXPY, "saxpy", "cpu"), 1, 60.0)
    assert pool.submit(CodeRequest()).result(WAIT_S).status is Status.OK
    pool.deadline_s = 0.5
    os.kill(pool.worker_pids[0], signal.SIGSTOP)
    assert pool.submit(CodeRequest("default<O1>")).result(WAIT_S).status is Status.COMPILE_TIMEOUT
    pool.deadline_s = 60.0
    assert pool.submit(CodeRequest("default<O1>")).result(WAIT_S).status is Status.OK
    pool.close()


def test_a_kernel_that_compiles_for_long_may_do_so(tmp_path):
    setup = compile_setup(tmp_path, SAXPY, "saxpy", "cpu")
    pool = CompilePool(setup, 1, 60.0)
    assert pool.deadline_of(CodeRequest()) > pool.deadline_of(CodeRequest("default<O1>")) == 60.0
    made = pool.submit(CodeRequest()).result(WAIT_S)
    found = pool.submit(CodeRequest()).result(WAIT_S)  # in the cache
    assert made.took_ns == found.took_ns > 0
    pool.allow(30.0)
    assert pool.deadline_of(CodeRequest("default<O1>")) == 300.0
    pool.allow(1.0)
    assert pool.deadline_s == 300.0
    pool.close()


def test_each_set_of_llvm_options_has_a_process_of_its_own(pool):
    plain = pool.submit(CodeRequest()).result(WAIT_S)
    first = pool.worker_pids
    changed = pool.submit(CodeRequest(codegen=(("mllvm:unroll-count", "4"),))).result(WAIT_S)
    assert changed.status is Status.OK, changed.message
    assert pool.worker_pids != first
    assert pool.submit(CodeRequest("default<O3>")).result(WAIT_S).object_hash == plain.object_hash


def test_an_unknown_llvm_option_is_no_traceback(pool):
    found = pool.submit(CodeRequest(codegen=(("mllvm:no-such-option", "1"),))).result(WAIT_S)
    assert found.status in (Status.REJECTED, Status.COMPILE_ERROR)
    assert found.message


def test_workers_killed_all_the_time_change_no_status(tmp_path):
    """Real processes: whatever dies, a candidate that is asked for again gets the status that it deserves."""
    setup = compile_setup(tmp_path, SAXPY, "saxpy", "cpu")
    wanted = {
        Candidate("default<O1>"): Status.OK,
        Candidate("default<O2>"): Status.OK,
        Candidate("defalt<O1>"): Status.REJECTED,
        Candidate("loop(licm)"): Status.COMPILE_ERROR,
        Candidate(launch=LaunchConfiguration(grid=(1, 1, 1))): Status.MISMATCH,
        Candidate("default<O1>", (), LaunchConfiguration(block=(64, 1, 1))): Status.OK,
    }
    with LocalEvaluator(saxpy_launches(), setup, "cpu", SETTINGS) as evaluator:
        over = threading.Event()
        killed = []

        def storm():
            draw = random.Random(5)
            while not over.wait(draw.uniform(0.05, 0.3)) and len(killed) < 25:
                pids = [*evaluator.pool.worker_pids, evaluator.lane.worker_pid]
                pid = draw.choice(pids)
                if pid is not None:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)

        storming = threading.Thread(target=storm)
        storming.start()
        try:
            found = {candidate: patiently(evaluator, candidate) for candidate in wanted}
        finally:
            over.set()
            storming.join()
    assert killed
    assert found == wanted


def patiently(evaluator, candidate):
    for _ in range(40):
        status = evaluate(evaluator, candidate).status
        if status is not Status.WORKER_LOST:
            return status
    return Status.WORKER_LOST


def test_several_devices_share_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("r3cc.farm.local.devices_of", lambda device: ["cpu", "cpu"])
    setup = compile_setup(tmp_path, SAXPY, "saxpy", "cpu")
    with LocalEvaluator(saxpy_launches(), setup, "cpu", SETTINGS) as evaluator:
        blocks = [(32 * count, 1, 1) for count in range(1, 7)]
        candidates = [Candidate(launch=LaunchConfiguration(block=block)) for block in blocks]
        futures = [evaluator.submit(candidate, PLAN) for candidate in candidates]
        assert {future.result(WAIT_S).status for future in futures} == {Status.OK}
        assert len({lane.worker_pid for lane in evaluator.lanes}) == 2
        assert None not in {lane.worker_pid for lane in evaluator.lanes}
        assert [lane.waiting for lane in evaluator.lanes] == [0, 0]


def test_a_fresh_evaluator_has_other_device_processes_and_the_same_code(tmp_path):
    setup = compile_setup(tmp_path, SAXPY, "saxpy", "cpu")
    with LocalEvaluator(saxpy_launches(), setup, "cpu", SETTINGS) as evaluator:
        assert evaluator.prepare().result(WAIT_S) > 0, "so small a launch fits many times"
        first = evaluate(evaluator, Candidate("default<O1>"))
        others = [evaluator.fresh(), evaluator.fresh()]
        for each in [other.prepare() for other in others]:
            each.result(WAIT_S)
        pids = {each.lane.worker_pid for each in (evaluator, *others)}
        assert len(pids) == 3 and None not in pids
        for os_pid in evaluator.pool.worker_pids:
            os.kill(os_pid, signal.SIGSTOP)  # nothing is compiled again
        again = [evaluate(other, Candidate("default<O1>")) for other in others]
        assert [each.status for each in again] == [Status.OK] * 2
        assert {each.object_hash for each in again} == {first.object_hash}
        others[0].close()
        assert evaluate(others[1], Candidate("default<O1>"), TimingPlan(samples=4)).status is Status.OK
    assert all(other.lane.worker_pid is None for other in others)
    late = others[1].submit(Candidate("default<O1>"), TimingPlan(samples=5))
    assert late.cancelled() or late.exception(WAIT_S)


def test_a_prepared_worker_that_dies_before_its_first_job_is_replaced(tmp_path):
    setup = compile_setup(tmp_path, SAXPY, "saxpy", "cpu")
    with LocalEvaluator(saxpy_launches(), setup, "cpu", SETTINGS) as evaluator:
        evaluator.prepare().result(WAIT_S)
        first = evaluator.lane.worker_pid
        os.kill(first, signal.SIGKILL)
        assert evaluator.baseline().status is Status.OK
        assert evaluator.lane.worker_pid != first


WIDTH = """
extern "C" __global__ void width(double *out) { out[blockIdx.x * blockDim.x + threadIdx.x] = blockDim.x; }
"""


def test_each_launch_shape_runs_with_its_own_block(tmp_path):
    """What the kernel writes is the block that it runs with: here one shape ran with 128 threads, another with 32."""
    source = MemoryLaunches()
    for number, (grid, block, ran) in enumerate(((8, 64, 128), (2, 64, 32))):
        before, after = np.zeros(grid * block), np.full(grid * block, float(ran))
        regions = [source.region(Y, before, after)]
        arguments = np.array([Y], np.uint64).tobytes()
        source.add(
            make_launch(
                regions,
                (),
                arguments,
                (8,),
                name="width",
                grid=(grid, 1, 1),
                block=(block, 1, 1),
                launch=f"host-1-0/{number}",
            )
        )
    large, small = ((8, 1, 1), (64, 1, 1), 0), ((2, 1, 1), (64, 1, 1), 0)
    setup = compile_setup(tmp_path, WIDTH, "width", "cpu")
    with LocalEvaluator(source, setup, "cpu", SETTINGS) as opened:
        right = LaunchConfiguration(block=(128, 1, 1), by_shape=((small, (32, 1, 1)),))
        found = evaluate(opened, Candidate(launch=right))
        assert found.status is Status.OK, found.message
        assert {(each.grid, each.block) for each in found.by_shape} == {each[:2] for each in (large, small)}
        one = evaluate(opened, Candidate(launch=LaunchConfiguration(block=(128, 1, 1))))
        assert one.status is Status.MISMATCH
