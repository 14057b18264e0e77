"""What an evaluation says to the next prompt."""

from __future__ import annotations

from r3cc.remix.model import Stage
from r3cc.remix.prompts.feedback import judged
from r3cc.remix.source.messages import without_paths
from r3cc.replay.model import Candidate, Evaluation, Mismatch, Status


def said(status: Status, message: str = "", *mismatches: Mismatch, held_out: bool = False) -> str:
    found = judged(Evaluation(Candidate(), status, message=message, mismatches=mismatches), held_out=held_out)
    assert found is not None
    assert found.stage is (Stage.HELD_OUT if held_out else found.stage)
    return found.message


def test_a_difference_is_told_by_its_element_and_not_by_its_address() -> None:
    message = said(
        Status.MISMATCH,
        "",
        Mismatch("0x44000027f300+1056", "double", 846, 1e-3, 0.5),
        Mismatch("total+0", "float", 1, 2.0, 1.0),
    )
    assert "846 elements of type double of one array, the first of them number 132 from 0, by up to 0.001" in message
    assert "1 elements of type float at total+0" in message
    assert "0x" not in message


def test_what_is_held_out_stays_unknown() -> None:
    assert "846" not in said(Status.MISMATCH, "", Mismatch("0x1+8", "double", 846, 1e-3, 0.5), held_out=True)


def test_no_path_of_this_machine_is_told() -> None:
    message = said(Status.COMPILE_ERROR, "ptxas /var/scratch/one/kernel.ptx, line 12; error: too much shared data")
    assert "ptxas kernel.ptx, line 12" in message
    assert without_paths("n/a, 1/2/3, loads/stores/atomics, a / b") == "n/a, 1/2/3, loads/stores/atomics, a / b"
