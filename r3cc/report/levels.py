"""What each level of the search gave: the winner beside what is left without one level, as far as the log has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from r3cc.replay.events import Answer, AnyEvent, Proposal, Result
from r3cc.replay.model import Candidate, Status

LEVELS: Mapping[str, str] = {
    "source": "variant",
    "pipeline": "pipeline",
    "codegen": "codegen",
    "launch": "launch",
    "specialisation": "specialisation",
}
"""Level and the candidate's field that holds it."""


OF_PIPELINE = "mllvm:unroll-threshold-default"
"""An option that stands for what the text of an edited ``default<O3>`` cannot say: it belongs to the pipeline."""


class LevelShare(msgspec.Struct, frozen=True):
    """One level's part of a kernel's winner."""

    level: str
    gain: float
    """Time without the level over the winner's, both as the search saw them; above 1 it helps."""
    exact: bool
    """The log has the winner less this level; else it is the best candidate of the log that leaves the level alone."""
    proposal: int | None
    """That candidate's number; None: the baseline."""


def level_shares(kernel: str, events: Sequence[AnyEvent]) -> tuple[LevelShare, ...]:
    """The levels that a kernel's winner uses, in their order; empty without a winner."""
    result = next((each for each in events if isinstance(each, Result) and each.kernel == kernel), None)
    if result is None or result.n is None:
        return ()
    seen = _seen(kernel, events)
    winner = next((ratio for candidate, _, ratio in seen if candidate == result.candidate), None)
    if winner is None:
        return ()
    used = [field for field in LEVELS.values() if _uses(result.candidate, field)]
    return tuple(
        _share(level, field, result.candidate, winner, seen) for level, field in LEVELS.items() if field in used
    )


def levels_of(candidate: Candidate) -> tuple[str, ...]:
    """The levels at which a candidate differs from the baseline."""
    return tuple(level for level, field in LEVELS.items() if _uses(candidate, field))


def _share(
    level: str, field: str, winner: Candidate, ratio: float, seen: Sequence[tuple[Candidate, int | None, float]]
) -> LevelShare:
    less = _without(winner, field)
    for candidate, number, without in seen:
        if candidate == less:
            return LevelShare(level, without / ratio, True, number)
    others = [each for each in seen if not _uses(each[0], field)]
    _, number, without = min(others, key=lambda each: each[2])
    return LevelShare(level, without / ratio, False, number)


def _seen(kernel: str, events: Sequence[AnyEvent]) -> list[tuple[Candidate, int | None, float]]:
    """Valid candidates of a kernel with number and ratio; the baseline, at 1, comes first."""
    asked = {each.n: each.candidate for each in events if isinstance(each, Proposal) and each.kernel == kernel}
    found: list[tuple[Candidate, int | None, float]] = [(Candidate(), None, 1.0)]
    for event in events:
        if not isinstance(event, Answer) or event.kernel != kernel or event.evaluation.status is not Status.OK:
            continue
        if event.evaluation.ratio is not None:
            candidate = asked.get(event.n, event.evaluation.candidate)
            found.append((candidate, event.n, event.evaluation.ratio.median))
    return found


def _uses(candidate: Candidate, field: str) -> bool:
    return hasattr(candidate, field) and _without(candidate, field) != candidate


def _without(candidate: Candidate, field: str) -> Candidate:
    """The candidate with one level as the baseline has it."""
    of_pipeline = tuple(option for option in candidate.codegen if option[0] == OF_PIPELINE)
    others = tuple(option for option in candidate.codegen if option[0] != OF_PIPELINE)
    match field:
        case "codegen":
            return msgspec.structs.replace(candidate, codegen=of_pipeline)
        case "pipeline":
            return msgspec.structs.replace(candidate, pipeline=None, codegen=others)
        case _:
            return msgspec.structs.replace(candidate, **{field: getattr(Candidate(), field)})
