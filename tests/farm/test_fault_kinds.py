"""Each kind of fault, in truth, in the real processes of the cpu device: its status, and the evaluator goes on."""

import pytest

from benchmarks.common import Options
from benchmarks.fault_storm import SETTINGS, VARIANTS, Fault, Faults, Forgetful, judge, keep_variant, recorded
from r3cc.replay.model import Candidate, Status
from tests.replay.cpu_kernels import built

pytestmark = pytest.mark.skipif(
    not (built("libr3cpu.so") and built("libR3Passes.so")), reason="libr3cpu.so and libR3Passes.so are not built"
)


@pytest.fixture(scope="module")
def stormy(tmp_path_factory):
    options = Options(tmp_path_factory.mktemp("storm"), "cpu", True, "sm_90")
    store = recorded(options)
    variants = {fault: keep_variant(store, statement, options) for fault, statement in VARIANTS.items()}
    with Forgetful.open(store, store.find_kernel("saxpy", None), "cpu", SETTINGS) as evaluator:
        assert evaluator.baseline().status is Status.OK
        yield Faults(store, variants), evaluator


@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name.lower())
def test_a_fault_has_its_status_and_what_comes_next_is_fine(stormy, fault):
    faults, evaluator = stormy
    fine = Candidate(f"default<O2>{',verify' * (1 + list(Fault).index(fault))}")
    evaluator.forget()
    found = faults.inject(fault, evaluator, fine)
    assert found.status is (fault.status or Status.WORKER_LOST), found.message
    evaluator.forget()
    assert judge(evaluator, fine).status is Status.OK
