"""What a winner's levels and changes buy, one by one, and what became of the code: registers, spills, instructions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from r3cc.replay.events import AnyEvent, Baseline, Begin, Final, Part, Result, parts_of
from r3cc.replay.model import Interval, Status
from r3cc.report.shapes import Restriction, SingleWinner, line, restricted, restriction_line, single_winner


class PartReport(msgspec.Struct, frozen=True):
    """One change of a winner, or one level."""

    change: str
    """Or the level's name."""
    factor: float | None
    """Time without the change over time with it: above 1 it helps. None where the code is not valid without it."""
    low: float | None
    high: float | None
    status: str
    left: float | None = None
    """The speedup that is left without it; None where that is not known."""

    @property
    def in_noise(self) -> bool:
        """Whether it may as well buy nothing."""
        return self.low is not None and self.high is not None and self.low <= 1 <= self.high

    @property
    def worth(self) -> str:
        """As people read it."""
        if self.factor is None:
            lost = self.status in (Status.OK, Status.WORKER_LOST)
            return "not measured" if lost else f"needed: without it the candidate is a {self.status}"
        value = f"{self.factor:.3f}x [{self.low:.3f}, {self.high:.3f}]"
        if self.in_noise:
            return f"{value} (inside the noise)"
        return f"{value}, {self.left:.3f}x without it" if self.left is not None else value


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
    levels: tuple[PartReport, ...] = ()
    """What is lost without each; empty where one level is all of it."""
    interplay: str | None = None
    """Where what is lost without each does not come to the speedup: what that means."""
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
    parts = parts_of(result.kernel, events)
    levels = tuple(_part(part, result) for part in parts if part.level)
    changes = tuple(_part(part, result) for part in parts if not part.level)
    baseline = next((event.evaluation.resources for event in reversed(own) if isinstance(event, Baseline)), {})
    finals = [event.evaluation for event in own if isinstance(event, Final) and event.n == result.n]
    return Explanation(
        kernel=result.kernel,
        demangled=name,
        changes=result.changes,
        speedup=result.speedup,
        parts=changes,
        before=baseline,
        after=finals[-1].resources if finals else {},
        single_winner=single_winner(result.kernel, events),
        levels=levels,
        interplay=_interplay(levels or changes, result.speedup),
        restriction=restricted(result.kernel, events),
    )


def _part(part: Part, result: Result) -> PartReport:
    what, status, ratio = part.level or part.change, part.evaluation.status, _ratio(part, result)
    if status is not Status.OK or ratio is None:
        return PartReport(what, None, None, None, status)
    left = result.speedup.median / ratio.median if result.speedup is not None else None
    return PartReport(what, ratio.median, ratio.low, ratio.high, status, left)


def _interplay(parts: Sequence[PartReport], speedup: Interval | None) -> str | None:
    """What it means where the parts' factors do not come to the speedup, beyond what is known of both."""
    known = [(part.low, part.factor, part.high) for part in parts if part.low and part.factor and part.high]
    if speedup is None or len(known) < max(2, len(parts)):
        return None
    low, product, high = (math.prod(factors) for factors in zip(*known, strict=True))
    come = f"taken away one by one they come to {product:.3f}x, not {speedup.median:.3f}x"
    if high < speedup.low:
        return f"{come}: what several of them can do is lost with none"
    if low > speedup.high:
        return f"{come}: what they do only together is lost with each"
    return None


def _ratio(part: Part, result: Result) -> Interval | None:
    """Time without the part over the winner's. Logs of before have both against the baseline, in other processes."""
    against, speedup = part.evaluation.ratio, result.speedup
    if part.ratio is not None or against is None or speedup is None:
        return part.ratio
    return Interval(
        against.median * speedup.median, against.low * speedup.low, against.high * speedup.high, against.samples
    )


def lines(explanation: Explanation) -> list[str]:
    """An explanation as people read it."""
    speedup = explanation.speedup
    gained = f": {speedup.median:.3f}x [{speedup.low:.3f}, {speedup.high:.3f}]" if speedup is not None else ""
    found = [f"{explanation.demangled}{gained}"]
    found += [f"  {part.change}: {part.worth}" for part in explanation.levels]
    indent = "    " if explanation.levels else "  "
    found += [f"{indent}{part.change}: {part.worth}" for part in explanation.parts]
    if not explanation.parts:
        worth = "all of it" if len(explanation.changes) == 1 else "not measured by itself"
        found += [f"  {change}: {worth}" for change in explanation.changes]
    for name in sorted(explanation.before.keys() | explanation.after.keys()):
        before, after = explanation.before.get(name), explanation.after.get(name)
        if before != after:
            found.append(f"  {name}: {before} before, {after} after")
    if explanation.interplay is not None:
        found.append(f"  {explanation.interplay}")
    if explanation.restriction is not None:
        found.append(f"  {restriction_line(explanation.restriction)}")
    shapes = line(explanation.single_winner)
    return [*found, f"  {shapes}"] if shapes is not None else found
