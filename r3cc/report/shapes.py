"""Where launch shapes disagree: what one winner for all of them costs against a winner for each."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from r3cc.replay.events import Answer, AnyEvent, Final, Result
from r3cc.replay.model import Candidate, Dim3, Evaluation, LaunchConfiguration, ShapeTime, Status

NOTABLE = 0.01
"""Costs below this part of the time are not worth a word."""


class ShapeWinner(msgspec.Struct, frozen=True):
    """The best that the search saw for one shape."""

    grid: Dim3
    block: Dim3
    shared: int
    ratio: float
    single: float
    """The kernel's one winner there."""
    candidate: Candidate


class SingleWinner(msgspec.Struct, frozen=True):
    """One winner for all shapes beside the best for each."""

    cost: float
    """Part of the time by which one winner is slower; as the search saw it, so an upper bound."""
    shapes: tuple[ShapeWinner, ...]


def single_winner(kernel: str, events: Sequence[AnyEvent]) -> SingleWinner | None:
    """What a kernel's one verdict costs; None where its timed launches have one shape."""
    own = [event for event in events if getattr(event, "kernel", None) == kernel]
    result = next((event for event in own if isinstance(event, Result)), None)
    if result is None:
        return None
    judged = [event.evaluation for event in own if isinstance(event, Answer)]
    valid = [each for each in judged if each.status is Status.OK and each.by_shape]
    winner = _winner(result, own)
    if winner is None or not valid:
        return None
    best = tuple(_best(shape, valid) for shape in winner)
    times = [shape.weight * shape.baseline_ns for shape in winner]
    single = sum(time * each.single for time, each in zip(times, best, strict=True))
    apart = sum(time * each.ratio for time, each in zip(times, best, strict=True))
    return SingleWinner(single / apart - 1, best)


def _winner(result: Result, own: Sequence[AnyEvent]) -> tuple[ShapeTime, ...] | None:
    """Times of the winner by shape; the baseline's own, with ratios of 1, where there is none."""
    finals = [event.evaluation for event in own if isinstance(event, Final) and event.n == result.n]
    found = next((each.by_shape for each in reversed(finals) if each.by_shape), None)
    if found is None or result.n is not None:
        return found
    return tuple(msgspec.structs.replace(shape, ratio=1.0) for shape in found)


def _best(shape: ShapeTime, evaluations: Sequence[Evaluation]) -> ShapeWinner:
    """The best evaluation for a shape; never worse than the winner."""
    geometry = (shape.grid, shape.block, shape.shared)
    ratio, candidate = shape.ratio, None
    for evaluation in evaluations:
        for each in evaluation.by_shape:
            if (each.grid, each.block, each.shared) == geometry and each.ratio < ratio:
                ratio, candidate = each.ratio, evaluation.candidate
    return ShapeWinner(*geometry, ratio, shape.ratio, candidate or Candidate())


class Restriction(msgspec.Struct, frozen=True):
    """A winner whose launch shapes do not all get the same block."""

    served: int
    """Shapes that do not launch as recorded."""
    blocks: int
    """Different blocks that these get."""
    shapes: int
    cost: float
    """Part of the time by which the same block for all shapes is slower, as the search saw both."""


def restricted(kernel: str, events: Sequence[AnyEvent]) -> Restriction | None:
    """What the winner's block for every launch would cost; None where it is for every launch, or nobody measured it."""
    own = [event for event in events if getattr(event, "kernel", None) == kernel]
    result = next((event for event in own if isinstance(event, Result)), None)
    if result is None or not (result.candidate.launch.shapes or result.candidate.launch.by_shape):
        return None
    launch = result.candidate.launch
    answers = [event.evaluation for event in own if isinstance(event, Answer)]
    valid = [each for each in answers if each.status is Status.OK and each.ratio is not None]
    winner = next((each for each in valid if each.candidate == result.candidate), None)
    single = [each.ratio.median for each in valid if each.ratio and is_single(each.candidate, result.candidate)]
    if winner is None or winner.ratio is None or not single:
        return None
    shapes = len(winner.by_shape)
    blocks = {launch.block, *(block for _, block in launch.by_shape)}
    return Restriction(len(launch.shapes) or shapes, len(blocks), shapes, min(single) / winner.ratio.median - 1)


def is_single(candidate: Candidate, winner: Candidate) -> bool:
    """Whether a candidate is the winner but for launches, of which all get one of the winner's blocks."""
    blocks = {winner.launch.block, *(block for _, block in winner.launch.by_shape)}
    return _code(candidate) == _code(winner) and candidate.launch in {
        LaunchConfiguration(block=each) for each in blocks
    }


def _code(candidate: Candidate) -> Candidate:
    """A candidate without its launch, nor the bounds that follow from that."""
    codegen = tuple(pair for pair in candidate.codegen if pair[0] != "maxntid")
    return msgspec.structs.replace(candidate, launch=LaunchConfiguration(), codegen=codegen)


def restriction_line(found: Restriction) -> str:
    """What to say of it."""
    what = "the block is" if found.blocks == 1 else f"{found.blocks} blocks"
    whom = f"for {found.served} of {found.shapes} launch shapes, the others launch as recorded"
    if found.served == found.shapes:
        whom = f"for {found.shapes} launch shapes"
    return f"{what} {whom}: one block for all would cost {found.cost:.1%} (as the search saw both)"


def line(found: SingleWinner | None) -> str | None:
    """What to say of it; None for nothing."""
    if found is None or found.cost < NOTABLE:
        return None
    return (
        f"one winner for all {len(found.shapes)} launch shapes costs at most {found.cost:.1%} "
        "against a winner for each (as the search saw them)"
    )
