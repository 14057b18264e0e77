"""One proposal of a remix search: how it came about, what it changes, what it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from r3cc.errors import R3Error
from r3cc.replay.model import Candidate, Interval
from r3cc.report.archive import diff_of

SOURCE, BUILD, VERDICT = "source", "build", "verdict"


class Ancestor(msgspec.Struct, frozen=True):
    """A proposal on the way from the original."""

    n: int
    operator: str
    proposer: str
    strategy: str
    ratio: Interval | None


class ProposalReport(msgspec.Struct, frozen=True):
    """One proposal."""

    n: int
    kernel: str
    variant: str | None
    proposer: str
    operator: str
    strategy: str
    stage: str
    reason: str
    """Empty for what was measured."""
    message: str
    ratio: Interval | None
    """Time over the baseline's, with what the tuner added."""
    candidate: Candidate
    changes: tuple[str, ...]
    """What the tuner changed."""
    resources: dict[str, int]
    features: dict[str, int]
    lineage: tuple[Ancestor, ...]
    """The original's child first, the proposal itself last."""
    diff: str
    """Unified, against the original source."""


def proposal_report(name: str, lines: Sequence[dict[str, Any]]) -> ProposalReport:
    """The proposal of a number or a variant id in a log's lines. Raises R3Error when there is none."""
    verdicts = {line["n"]: line for line in lines if line.get("event") == VERDICT}
    found = _find(name, verdicts)
    n, kernel = found["n"], found["kernel"]
    original = {
        region["name"]: region["text"]
        for line in lines
        if line.get("event") == SOURCE and line["kernel"] == kernel
        for region in line["source"]["regions"]
    }
    builds = [line for line in lines if line.get("event") == BUILD and line["n"] == n and not line.get("values")]
    texts = found.get("texts") or (builds[-1].get("texts", {}) if builds else {})
    ratio = found.get("ratio")
    return ProposalReport(
        n=n,
        kernel=kernel,
        variant=found.get("variant"),
        proposer=found["proposer"],
        operator=found["operator"],
        strategy=found.get("strategy", ""),
        stage=found["stage"],
        reason=found.get("reason", ""),
        message=found.get("message", ""),
        ratio=msgspec.convert(ratio, Interval) if ratio else None,
        candidate=msgspec.convert(found.get("candidate", {}), Candidate),
        changes=tuple(found.get("changes", ())),
        resources=found.get("resources", {}),
        features=dict(found["features"]["bins"]) if found.get("features") else {},
        lineage=tuple(_lineage(found, verdicts)),
        diff=diff_of(original, {**original, **texts}),
    )


def _find(name: str, verdicts: dict[int, dict[str, Any]]) -> dict[str, Any]:
    if name.isdecimal() and int(name) in verdicts:
        return verdicts[int(name)]
    fitting = [line for line in verdicts.values() if len(name) >= 4 and str(line.get("variant") or "").startswith(name)]
    if not fitting:
        raise R3Error(
            f"the search has no proposal and no variant '{name}'; proposals are 0 to {max(verdicts, default=0)}"
        )
    return fitting[0]


def _lineage(found: dict[str, Any], verdicts: dict[int, dict[str, Any]]) -> list[Ancestor]:
    chain: list[Ancestor] = []
    current: dict[str, Any] | None = found
    while current is not None:
        ratio = current.get("ratio")
        chain.append(
            Ancestor(
                current["n"],
                current["operator"],
                current["proposer"],
                current.get("strategy", ""),
                msgspec.convert(ratio, Interval) if ratio else None,
            )
        )
        parent = current.get("parent")
        current = verdicts.get(parent) if parent is not None and parent < current["n"] else None
    return chain[::-1]
