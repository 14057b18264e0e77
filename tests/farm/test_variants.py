"""Variants of a kernel's source in live compile processes."""

import hashlib

import msgspec
import pytest

from r3cc.farm.local import LocalEvaluator
from r3cc.replay.model import Candidate, LaunchConfiguration, Status
from tests.farm.test_local import PLAN, SETTINGS, WAIT_S, saxpy_launches
from tests.replay.cpu_kernels import built
from tests.replay.modules import bitcode, compile_setup
from tests.replay.sources import SAXPY

pytestmark = pytest.mark.skipif(
    not (built("libr3cpu.so") and built("libR3Passes.so")), reason="libr3cpu.so and libR3Passes.so are not built"
)


def keep(folder, text):
    """Put a source's module where variants lie; its id."""
    module = bitcode(text)
    name = hashlib.sha256(module).hexdigest()[:16]
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.bc").write_bytes(module)
    return name


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    folder = tmp_path_factory.mktemp("variants")
    setup = compile_setup(folder, SAXPY, "saxpy", "cpu")
    setup = msgspec.structs.replace(setup, variants=folder / "variants")
    with LocalEvaluator(saxpy_launches(), setup, "cpu", SETTINGS) as evaluator:
        yield evaluator, folder / "variants"


def test_a_right_variant_is_measured_in_the_processes_that_were_there(opened):
    evaluator, folder = opened
    baseline = evaluator.baseline()
    pids = evaluator.pool.worker_pids, evaluator.lane.worker_pid
    variant = keep(folder, SAXPY.replace("a * x[i] + y[i]", "y[i] + (a + 1.0) * x[i] - x[i]"))
    found = evaluator.submit(Candidate(variant=variant), PLAN).result(WAIT_S)
    assert found.status is Status.OK, found.message
    assert found.object_hash != baseline.object_hash
    other = evaluator.submit(Candidate("default<O1>", (), LaunchConfiguration(block=(64, 1, 1)), variant), PLAN)
    assert other.result(WAIT_S).status is Status.OK
    assert (evaluator.pool.worker_pids, evaluator.lane.worker_pid) == pids


def test_a_wrong_variant_is_a_mismatch_and_the_captured_source_stays_right(opened):
    evaluator, folder = opened
    variant = keep(folder, SAXPY.replace("a * x[i]", "a * x[i] * x[i]"))
    assert evaluator.submit(Candidate(variant=variant), PLAN).result(WAIT_S).status is Status.MISMATCH
    assert evaluator.submit(Candidate("default<O2>"), PLAN).result(WAIT_S).status is Status.OK


def test_an_equal_variant_is_not_measured_again(opened):
    evaluator, folder = opened
    variant = keep(folder, SAXPY + "// said in other words\n")
    found = evaluator.submit(Candidate(variant=variant), PLAN).result(WAIT_S)
    assert found.object_hash == evaluator.submit(Candidate(), PLAN).result(WAIT_S).object_hash


@pytest.mark.parametrize("name", ["0123456789abcdef", "../module", ""])
def test_a_variant_that_is_not_there_is_rejected(opened, name):
    found = opened[0].submit(Candidate(variant=name), PLAN).result(WAIT_S)
    assert found.status is Status.REJECTED and name in found.message
