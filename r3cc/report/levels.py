"""What each level of the search gave: measured, or the winner beside what is left without one level in the log."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from r3cc.replay.events import Answer, AnyEvent, Proposal, Result, parts_of
from r3cc.replay.levels import levels_of, uses, without_level
from r3cc.replay.model import Candidate, Interval, Status


class LevelShare(msgspec.Struct, frozen=True):
    """One level's part of a kernel's winner."""

    level: str
    gain: float
    """Time without the level over the winner's; above 1 it helps."""
    exact: bool
    """The log has the winner less this level; else it is the best candidate of the log that leaves the level alone."""
    proposal: int | None
    """That candidate's number; None: the baseline, or no candidate of the search."""
    measured: Interval | None = None
    """The gain, where the winner was measured again beside itself without the level; else it is as the search saw it,
    which says nothing of noise."""


def level_shares(kernel: str, events: Sequence[AnyEvent]) -> tuple[LevelShare, ...]:
    """The levels that a kernel's winner uses, in their order; empty without a winner."""
    result = next((each for each in events if isinstance(each, Result) and each.kernel == kernel), None)
    if result is None or result.n is None:
        return ()
    seen = _seen(kernel, events)
    winner = next((ratio for candidate, _, ratio in seen if candidate == result.candidate), None)
    if winner is None:
        return ()
    parts = parts_of(kernel, events)
    measured = {part.level: part.ratio for part in parts if part.level and part.ratio is not None}
    return tuple(
        _measured(level, measured[level]) if level in measured else _share(level, result.candidate, winner, seen)
        for level in levels_of(result.candidate)
    )


def _measured(level: str, ratio: Interval) -> LevelShare:
    return LevelShare(level, ratio.median, True, None, ratio)


def _share(
    level: str, winner: Candidate, ratio: float, seen: Sequence[tuple[Candidate, int | None, float]]
) -> LevelShare:
    less = without_level(winner, level)
    for candidate, number, without in seen:
        if candidate == less:
            return LevelShare(level, without / ratio, True, number)
    others = [each for each in seen if not uses(each[0], level)]
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
