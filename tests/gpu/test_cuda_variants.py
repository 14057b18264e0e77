"""Variants of a kernel's source on a GPU, honest ones and cheats that only a GPU makes possible."""

import msgspec
import pytest

from r3cc.devices import open_device
from r3cc.farm import EvaluatorSettings
from r3cc.farm.local import LocalEvaluator
from r3cc.replay.model import Candidate, Status, TimingPlan
from tests.farm.test_variants import keep
from tests.gpu.test_cuda_replay import saxpy_launches
from tests.replay.modules import compile_setup
from tests.replay.sources import SAXPY

pytestmark = pytest.mark.gpu

WAIT_S = 300
QUICK = TimingPlan(warmups=1, samples=4)
FINAL = TimingPlan(warmups=1, samples=4, held_out=True, perturbed=True)
LINE = "y[i] = a * x[i] + y[i];"


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    device = open_device("cuda:0")
    architecture = device.properties.architecture
    device.close()
    folder = tmp_path_factory.mktemp("variants")
    setup = compile_setup(folder, SAXPY, "saxpy", "cuda:0", architecture)
    setup = msgspec.structs.replace(setup, variants=folder / "variants")
    with LocalEvaluator(saxpy_launches(), setup, "cuda:0", EvaluatorSettings(launch_deadline_s=5.0)) as evaluator:

        def evaluate(text, plan=FINAL):
            candidate = Candidate(variant=keep(folder / "variants", text))
            return evaluator.submit(candidate, plan).result(WAIT_S)

        yield evaluate


def test_an_honest_rewrite_is_right_everywhere(judge):
    found = judge(SAXPY.replace(LINE, "y[i] = __fma_rn(a, __ldg(x + i), y[i]);"))
    assert found.status is Status.OK, (found.message, found.mismatches)


def test_what_knows_the_recorded_scalar_is_right_on_the_recorded_launch_only(judge):
    text = SAXPY.replace(LINE, "y[i] = 3.0 * x[i] + y[i];")
    assert judge(text, QUICK).status is Status.OK
    found = judge(text)
    assert found.status is Status.MISMATCH and "perturbed" in found.message


CHEATS = {
    "the multiprocessor decides": [(LINE, "y[i] = a * x[i] + y[i] + (__nvvm_read_ptx_sreg_smid() == 0);")],
    "the clock decides": [(LINE, "y[i] = a * x[i] + y[i] + (clock64() % 97 == 0);")],
    "the reference lies somewhere in memory": [(LINE, "y[i] = y[i + (1l << 24)];")],
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_found_out(judge, name):
    text = SAXPY
    for old, new in CHEATS[name]:
        assert old in text
        text = text.replace(old, new)
    assert judge(text).status in (Status.MISMATCH, Status.DEVICE_FAULT)
