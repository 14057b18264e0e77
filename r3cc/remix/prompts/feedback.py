"""What an evaluation says to the next prompt: where it ended, one word for counting, one paragraph."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from r3cc.remix.model import Rejection, Stage
from r3cc.remix.source.messages import without_paths
from r3cc.replay.elements import size_of
from r3cc.replay.model import BYTES, Evaluation, Mismatch, Status

LEAST_RATIO = 0.01
"""A hundredth of the baseline's time is taken for work that is not done, until a person has looked."""
LONGEST = 600
"""Characters of a tool's message that a prompt shows."""
_FROM_NOTHING = 1e100
"""Relative difference that only a reference of 0 has."""
_ADDRESS = re.compile(r"0x[0-9a-f]+\+(\d+)")
_STAGES: Mapping[Status, Stage] = {
    Status.REJECTED: Stage.RESOURCES,
    Status.COMPILE_ERROR: Stage.COMPILE,
    Status.COMPILE_TIMEOUT: Stage.COMPILE,
    Status.LAUNCH_ERROR: Stage.RESOURCES,
    Status.OUT_OF_MEMORY: Stage.RESOURCES,
}
_SENTENCES: Mapping[Status, str] = {
    Status.REJECTED: "It is not accepted",
    Status.COMPILE_ERROR: "The device's assembler refused it",
    Status.COMPILE_TIMEOUT: "It took too long to compile; keep unrolling and inlining within reason",
    Status.LAUNCH_ERROR: "The device refused to launch it: too many registers, threads or bytes of shared memory",
    Status.DEVICE_FAULT: "It accessed memory that does not belong to it",
    Status.TIMEOUT: "It did not end: an endless loop, or a barrier that not every thread of the block reaches",
    Status.MISMATCH: "Its results differ from the recorded ones",
    Status.OUT_OF_MEMORY: "The device ran out of memory",
    Status.WORKER_LOST: "The process that ran it died",
}


def judged(evaluation: Evaluation, *, held_out: bool) -> Rejection | None:
    """Why an evaluation goes no further; None when it is right, and its time can be believed."""
    status = evaluation.status
    if status is Status.OK:
        ratio = evaluation.ratio
        return _impossible(ratio.median) if ratio is not None and ratio.high < LEAST_RATIO else None
    stage = _STAGES.get(status, Stage.HELD_OUT if held_out else Stage.CORRECT)
    unseen = stage is Stage.HELD_OUT
    where = " on launches or data that nobody is shown" if unseen else ""
    detail = "" if unseen else _detail(evaluation)
    return Rejection(stage=stage, reason=str(status), message=f"{_SENTENCES[status]}{where}{detail}.")


def slow(ratio: float, limit: float) -> Rejection:
    """Right, but too slow to be worth measuring well."""
    message = (
        f"It is right, and takes {ratio:.1f} times as long as the reference; above {limit:.0f} times none is kept."
    )
    return Rejection(stage=Stage.TIME, reason="slow", message=message)


def _impossible(ratio: float) -> Rejection:
    message = (
        f"It seems to take {ratio:.4f} of the reference's time; anything under {LEAST_RATIO} is taken for work that is "
        "not done."
    )
    return Rejection(stage=Stage.TIME, reason="too_good", message=message)


def _detail(evaluation: Evaluation) -> str:
    if evaluation.status is Status.MISMATCH and evaluation.mismatches:
        return ": " + _differences(evaluation.mismatches)
    message = without_paths(evaluation.message).strip().rstrip(".")
    return f": {message[:LONGEST]}" if message else ""


def _differences(mismatches: Sequence[Mismatch]) -> str:
    return "; ".join(map(_difference, mismatches[:3]))


def _place(mismatch: Mismatch) -> str:
    """Where the first one lies: addresses mean nothing to who reads the source."""
    found = _ADDRESS.fullmatch(mismatch.where)
    if found is None:
        return f"at {mismatch.where}"
    return f"of one array, the first of them number {int(found[1]) // size_of(mismatch.element)} from 0"


def _difference(mismatch: Mismatch) -> str:
    what = f"{mismatch.count} elements of type {mismatch.element} {_place(mismatch)}"
    if mismatch.element == BYTES:
        return what
    absolute, relative = mismatch.furthest
    from_nothing = mismatch.max_rel is not None and mismatch.max_rel > _FROM_NOTHING
    how = "where the reference has 0" if from_nothing else f"{relative} relative"
    return f"{what}, by up to {absolute} ({how})"
