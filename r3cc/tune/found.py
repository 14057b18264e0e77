"""What earlier searches found, by kernel features: it seeds the next search, on this application or another.

Two files of JSON lines, which may be merged, edited and deleted: one in the store, one in the user's data folder
(``R3_LIBRARY``; empty for none). A line that cannot be read is left out.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from r3cc.llvm import KernelDescription
from r3cc.replay.events import AnyEvent, Begin, Proposal, Result
from r3cc.tune.blocks import Shape, volume
from r3cc.tune.genotype import Genotype
from r3cc.tune.space import Space

VERSION = 1
SIMILAR = 2.5
"""Largest distance between the features of kernels that may learn from one another."""
MOST_SEEDS = 4
FILE = "library.jsonl"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A winner of an earlier search."""

    version: int
    search: str
    kernel: str
    """Kernel id; with the search it names the finding."""
    name: str
    device: str
    """Kind of device: ``cpu``, ``cuda``, ``hip``."""
    device_name: str
    features: dict[str, float]
    genotype: dict[str, Any]
    changes: tuple[str, ...]
    speedup: float


def features(facts: KernelDescription, shapes: Sequence[Shape]) -> dict[str, float]:
    """What makes kernels alike, as numbers of about equal weight: counts as logarithms, facts as 0 or 1."""
    elements = [*facts.element_types.values(), *facts.global_element_types.values()]
    threads = max((volume(shape.block) for shape in shapes), default=1)
    blocks = max((volume(shape.grid) for shape in shapes), default=1)
    return {
        "parameters": math.log2(1 + len(facts.parameters)),
        "pointers": math.log2(1 + sum(parameter.type.startswith("ptr") for parameter in facts.parameters)),
        "double": float("double" in elements),
        "float": float("float" in elements),
        "barriers": math.log2(1 + facts.barriers),
        "warp_operations": math.log2(1 + facts.warp_operations),
        "atomics": math.log2(1 + facts.atomics),
        "shared": float(facts.static_shared > 0 or facts.dynamic_shared),
        "reads_grid_size": float(facts.reads_grid_size),
        "threads": math.log2(threads) / 2,
        "blocks": math.log2(blocks) / 4,
    }


def distance(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Euclidean, over all features that either has."""
    return math.sqrt(sum((one.get(key, 0.0) - other.get(key, 0.0)) ** 2 for key in one.keys() | other.keys()))


class Library:
    """Findings in a few files; the first one's come first where they are equally near."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(paths)

    @classmethod
    def of(cls, store: Path) -> Library:
        """The store's own and the user's."""
        return cls([store / FILE, *user_library()])

    def seeds(self, space: Space, device: str) -> tuple[Genotype, ...]:
        """Genotypes of the most similar kernels that this space can take, the nearest first."""
        own = features(space.facts, space.shapes)
        kind = device.split(":")[0]
        near = [(distance(own, found.features), found) for found in self.findings() if found.device == kind]
        near = sorted((pair for pair in near if pair[0] <= SIMILAR), key=lambda pair: (pair[0], -pair[1].speedup))
        usable = dict.fromkeys(genotype for _, found in near if (genotype := usable_in(space, found.genotype)))
        return tuple(usable)[:MOST_SEEDS]

    def findings(self) -> list[Finding]:
        """Every finding that can be read, each once."""
        found: dict[tuple[str, str], Finding] = {}
        for path in self._paths:
            for finding in _read(path):
                found.setdefault((finding.search, finding.kernel), finding)
        return list(found.values())

    def add(self, findings: Iterable[Finding]) -> None:
        """Append findings to each file that has not got them; a file that cannot be written stays as it is."""
        new = list(findings)
        for path in self._paths:
            known = {(finding.search, finding.kernel) for finding in _read(path)}
            lines = [msgspec.json.encode(each) + b"\n" for each in new if (each.search, each.kernel) not in known]
            if lines:
                _append(path, b"".join(lines))


def usable_in(space: Space, document: dict[str, Any]) -> Genotype | None:
    """The part of a genotype that a space can take: all its edits, and the knobs that it has; None for nothing."""
    try:
        genotype = Genotype.of(document)
    except msgspec.ValidationError:
        return None
    if any(not space.takes(edit) for edit in genotype.edits):
        return None
    values = {knob.key: knob.values for knob in space.knobs}
    knobs = tuple(pair for pair in genotype.knobs if pair[1] in values.get(pair[0], ()))
    return Genotype(genotype.edits, knobs) if genotype.edits or knobs else None


def findings_of(search: str, events: Sequence[AnyEvent], spaces: Mapping[str, Space]) -> list[Finding]:
    """The winners of a search, kernel by kernel."""
    begin = events[0] if events else None
    if not isinstance(begin, Begin):
        return []
    genotypes = {event.n: event.genotype for event in events if isinstance(event, Proposal)}
    named = {plan.kernel: plan.demangled for plan in begin.kernels}
    return [
        Finding(
            version=VERSION,
            search=search,
            kernel=result.kernel,
            name=named[result.kernel],
            device=begin.device.split(":")[0],
            device_name=begin.device_name,
            features=features(spaces[result.kernel].facts, spaces[result.kernel].shapes),
            genotype=genotypes[result.n],
            changes=result.changes,
            speedup=result.speedup.median,
        )
        for result in events
        if isinstance(result, Result) and result.n is not None and result.speedup and result.kernel in spaces
    ]


def user_library() -> list[Path]:
    """The user's own file; none where ``R3_LIBRARY`` is empty."""
    given = os.environ.get("R3_LIBRARY")
    if given is not None:
        return [Path(given)] if given else []
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return [Path(data) / "r3" / FILE]


def _read(path: Path) -> list[Finding]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            finding = msgspec.json.decode(line, type=Finding)
        except msgspec.DecodeError:
            continue
        if finding.version == VERSION:
            found.append(finding)
    return found


def _append(path: Path, lines: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(lines)  # one write: other searches append to the same file
    except OSError:
        return
