"""What a winner's changes buy, one by one, and what became of the code: registers, spills, instructions."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from r3cc.replay.events import AnyEvent, Baseline, Begin, Final, Part, Result
from r3cc.replay.model import Interval, Status
from r3cc.report.shapes import Restriction, SingleWinner, line, restricted, restriction_line, single_winner


class PartReport(msgspec.Struct, frozen=True):
    """One change of a winner."""

    change: str
    factor: float | None
    """Time without the change over time with it: above 1 it helps. None where the code is not valid without it."""
    low: float | None
    high: float | None
    status: str


class Explanation(msgspec.Struct, frozen=True):
    """A kernel's winner."""

    kernel: str
    demangled: str
    changes: tuple[str, ...]
    speedup: Interval | None
    parts: tuple[PartReport, ...]
    before: dict[str, int]
    """What the device's tools say of the recorded build's code."""
    after: dict[str, int]
    single_winner: SingleWinner | None = None
    """Where launch shapes disagree."""
    restriction: Restriction | None = None
    """Where the winner's block is for some launch shapes alone."""


def explain(events: Sequence[AnyEvent]) -> tuple[Explanation, ...]:
    """An explanation of every winner of a search."""
    begin = events[0] if events else None
    if not isinstance(begin, Begin):
        return ()
    results = {event.kernel: event for event in events if isinstance(event, Result) and event.n is not None}
    named = {plan.kernel: plan.demangled for plan in begin.kernels}
    named.update({unit.module: f"module-scope values of {len(unit.kernels)} kernels" for unit in begin.units})
    return tuple(_explanation(result, named.get(kernel, kernel), events) for kernel, result in results.items())


def _explanation(result: Result, name: str, events: Sequence[AnyEvent]) -> Explanation:
    own = [event for event in events if getattr(event, "kernel", None) == result.kernel]
    baseline = next((event.evaluation.resources for event in own if isinstance(event, Baseline)), {})
    finals = [event.evaluation for event in own if isinstance(event, Final) and event.n == result.n]
    return Explanation(
        kernel=result.kernel,
        demangled=name,
        changes=result.changes,
        speedup=result.speedup,
        parts=tuple(_part(event, result) for event in own if isinstance(event, Part)),
        before=baseline,
        after=finals[-1].resources if finals else {},
        single_winner=single_winner(result.kernel, events),
        restriction=restricted(result.kernel, events),
    )


def _part(part: Part, result: Result) -> PartReport:
    ratio, speedup = part.evaluation.ratio, result.speedup
    if part.evaluation.status is not Status.OK or ratio is None or speedup is None:
        return PartReport(part.change, None, None, None, part.evaluation.status)
    return PartReport(
        part.change,
        ratio.median * speedup.median,
        ratio.low * speedup.median,
        ratio.high * speedup.median,
        part.evaluation.status,
    )


def lines(explanation: Explanation) -> list[str]:
    """An explanation as people read it."""
    speedup = explanation.speedup
    gained = f": {speedup.median:.3f}x [{speedup.low:.3f}, {speedup.high:.3f}]" if speedup is not None else ""
    found = [f"{explanation.demangled}{gained}"]
    for part in explanation.parts:
        found.append(f"  {part.change}: {_worth(part)}")
    if not explanation.parts:
        found += [f"  {change}: all of it" for change in explanation.changes]
    for name in sorted(explanation.before.keys() | explanation.after.keys()):
        before, after = explanation.before.get(name), explanation.after.get(name)
        if before != after:
            found.append(f"  {name}: {before} before, {after} after")
    if explanation.restriction is not None:
        found.append(f"  {restriction_line(explanation.restriction)}")
    shapes = line(explanation.single_winner)
    return [*found, f"  {shapes}"] if shapes is not None else found


def _worth(part: PartReport) -> str:
    if part.factor is None:
        return f"needed: without it the candidate is a {part.status}"
    assert part.low is not None and part.high is not None
    doubt = " (inside the noise)" if part.low <= 1 <= part.high else ""
    return f"{part.factor:.3f}x [{part.low:.3f}, {part.high:.3f}]{doubt}"
