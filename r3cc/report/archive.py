"""The archive and the lineage of a remix search, folded from its log (docs/search-log.md)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from r3cc.replay.model import Candidate, Interval

REMIX, SOURCE, VERDICT = "remix", "source", "verdict"
MEASURED = "time"
"""Stage of a verdict on what is right and was measured."""


class _Settings(msgspec.Struct, frozen=True):
    dimensions: tuple[str, ...]


class _Setup(msgspec.Struct, frozen=True):
    settings: _Settings
    proposers: tuple[str, ...] = ()


class _Region(msgspec.Struct, frozen=True):
    name: str
    text: str


class _SourceKernel(msgspec.Struct, frozen=True):
    regions: tuple[_Region, ...]


class _Source(msgspec.Struct, frozen=True):
    kernel: str
    source: _SourceKernel


class _Features(msgspec.Struct, frozen=True):
    bins: tuple[tuple[str, int], ...]


class _Verdict(msgspec.Struct, frozen=True):
    n: int
    kernel: str
    island: int
    parent: int | None
    operator: str
    proposer: str
    stage: str
    strategy: str = ""
    texts: dict[str, str] = {}
    variant: str | None = None
    candidate: Candidate = Candidate()
    features: _Features | None = None
    ratio: Interval | None = None


class Elite(msgspec.Struct, frozen=True):
    """The fastest rewrite of a cell."""

    n: int
    bins: dict[str, int]
    ratio: Interval
    strategy: str


class Archive(msgspec.Struct, frozen=True):
    """A kernel's cells that hold something. Bins are numbers from the compiled artefact."""

    dimensions: tuple[str, ...]
    elites: tuple[Elite, ...]
    """By ratio, the fastest first."""


class Step(msgspec.Struct, frozen=True):
    """One rewrite on the way from the original source."""

    n: int
    parent: int | None
    operator: str
    proposer: str
    strategy: str
    ratio: Interval
    diff: str
    """Unified, against the parent."""


class RemixReport(msgspec.Struct, frozen=True):
    """What a remix search has beyond every search, for one kernel."""

    archive: Archive
    lineage: tuple[Step, ...]
    """Of the fastest, the original's child first."""
    stages: dict[str, int]
    """Verdicts by the stage where they ended."""


def remix_report(kernel: str, lines: Sequence[dict[str, Any]]) -> RemixReport | None:
    """A kernel's part of a log's lines; None for a search that is no remix search, or has no verdict yet."""
    setup = next((msgspec.convert(line, _Setup) for line in lines if line.get("event") == REMIX), None)
    own = [line for line in lines if line.get("kernel") == kernel]
    verdicts = [msgspec.convert(line, _Verdict) for line in own if line.get("event") == VERDICT]
    sources = [msgspec.convert(line, _Source) for line in own if line.get("event") == SOURCE]
    if setup is None or not verdicts:
        return None
    measured = {each.n: each for each in verdicts if each.stage == MEASURED and each.ratio is not None}
    original = {region.name: region.text for each in sources for region in each.source.regions}
    stages: dict[str, int] = {}
    for each in verdicts:
        stages[each.stage] = stages.get(each.stage, 0) + 1
    return RemixReport(
        _archive(setup.settings.dimensions, measured.values()), tuple(_lineage(measured, original)), stages
    )


def strategies(kernel: str, lines: Sequence[dict[str, Any]]) -> dict[int, str]:
    """What each of a kernel's rewrites does, in one line, by the proposal's number."""
    own = [line for line in lines if line.get("kernel") == kernel and line.get("event") == VERDICT]
    return {line["n"]: line.get("strategy", "") for line in own}


def proposers_of(lines: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Who proposed in a remix search, as the user named them; empty for every other search."""
    setup = next((msgspec.convert(line, _Setup) for line in lines if line.get("event") == REMIX), None)
    return setup.proposers if setup is not None else ()


def _archive(dimensions: tuple[str, ...], measured: Iterable[_Verdict]) -> Archive:
    best: dict[tuple[tuple[str, int], ...], Elite] = {}
    for each in measured:
        if each.features is None or each.ratio is None:
            continue
        bins = tuple((name, number) for name, number in each.features.bins if name in dimensions)
        held = best.get(bins)
        if held is None or each.ratio.median < held.ratio.median:
            best[bins] = Elite(each.n, dict(bins), each.ratio, each.strategy)
    return Archive(dimensions, tuple(sorted(best.values(), key=lambda elite: elite.ratio.median)))


def _lineage(measured: dict[int, _Verdict], original: dict[str, str]) -> Iterator[Step]:
    """From the original to the fastest; a parent that is not in the log ends the way back."""
    chain: list[_Verdict] = []
    current = min(measured.values(), key=_median, default=None)
    while current is not None and current not in chain:
        chain.append(current)
        current = measured.get(current.parent) if current.parent is not None else None
    before = original
    for each in reversed(chain):
        assert each.ratio is not None
        after = original | each.texts
        yield Step(each.n, each.parent, each.operator, each.proposer, each.strategy, each.ratio, diff_of(before, after))
        before = after


def diff_of(before: dict[str, str], after: dict[str, str]) -> str:
    """Unified diff of regions by name."""
    parts: list[str] = []
    for name in after:
        old, new = before.get(name, "").splitlines(), after[name].splitlines()
        parts += difflib.unified_diff(old, new, name, name, lineterm="")
    return "\n".join(parts)


def _median(verdict: _Verdict) -> float:
    return verdict.ratio.median if verdict.ratio is not None else float("inf")
