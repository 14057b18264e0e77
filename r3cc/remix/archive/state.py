"""The state of one kernel's search: what folding its log gives, and nothing else.

A live search applies each event as it is written, a continued one the whole log, and both are in the same state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from r3cc.remix.archive.archive import Added, Archive, Elite
from r3cc.remix.archive.features import describe
from r3cc.remix.events import LoopSettings, Migration, Source, Verdict
from r3cc.remix.model import Features, Stage

FAILURES_KEPT = 12
"""Latest rejections that prompts may speak of."""
ORIGINAL = -1
"""The original source, where proposals are numbered."""
NOBODY = -1
"""Number in a migration from an island that is still empty."""


class SearchState:
    """Verdicts of a kernel, folded."""

    def __init__(self, kernel: str, settings: LoopSettings) -> None:
        self.kernel = kernel
        self.settings = settings
        self.original: Features | None = None
        self.archive = Archive(settings.dimensions, settings.islands)
        self.verdicts = 0
        self.latest = ORIGINAL
        """Proposal of the latest verdict."""
        self.stages: Counter[str] = Counter()
        self.by_source: dict[str, int] = {}
        """Proposal by the hash of its source; so is ``by_ir``."""
        self.by_ir: dict[str, int] = {}
        self.joined: list[Elite] = []
        """Elites in the order in which they entered the archive, replaced ones too."""
        self.measured: dict[int, Elite] = {}
        self.children: Counter[int | None] = Counter()
        self.failures: list[Verdict] = []
        self.migrations = 0
        self.last_gain = 0
        """Verdicts when the best last improved."""

    def apply(self, event: Verdict | Migration | Source) -> Added:
        """Take one event in."""
        if isinstance(event, Source):
            self.original = event.features
            if event.variant is not None:
                self.by_source[event.variant.source_hash] = self.by_ir[event.variant.ir_hash] = ORIGINAL
            return Added.REJECTED
        if isinstance(event, Migration):
            self.migrations += 1
            return self.archive.migrate(event.n, event.origin, event.target)
        return self._apply_verdict(event)

    def _apply_verdict(self, verdict: Verdict) -> Added:
        self.verdicts += 1
        self.latest = verdict.n
        self.stages[verdict.reason or verdict.stage] += 1
        self.children[verdict.parent] += 1
        if verdict.source_hash:
            self.by_source.setdefault(verdict.source_hash, verdict.n)
        if verdict.ir_hash:
            self.by_ir.setdefault(verdict.ir_hash, verdict.n)
        elite = elite_of(verdict)
        if elite is None:
            self.failures = [*self.failures, verdict][-FAILURES_KEPT:]
            return Added.REJECTED
        before = self.archive.best()
        added = self.archive.add(verdict.island, elite)
        if added is not Added.REJECTED:
            self.measured[elite.n] = elite
            self.joined.append(elite)
            if before is None or elite.ratio.median < before.ratio.median:
                self.last_gain = self.verdicts
        return added

    @property
    def epoch(self) -> int:
        """How many elites the prompts may show: whole epochs of them, so that the list seldom grows."""
        return len(self.joined) // self.settings.epoch * self.settings.epoch

    @property
    def best_ratio(self) -> float:
        """The fastest elite's time over the baseline's, 1 while nothing is faster."""
        best = self.archive.best()
        return min(1.0, best.ratio.median) if best is not None else 1.0

    def due_migration(self, at: float) -> Migration | None:
        """What migrates next, if anything: every so many verdicts the best of each island to the one after it."""
        islands = self.archive.islands
        if islands < 2 or self.verdicts // self.settings.migrate_every <= self.migrations // islands:
            return None
        origin = self.migrations % islands
        elites = self.archive.elites(origin)
        n = elites[0].n if elites else NOBODY
        return Migration(at=at, kernel=self.kernel, n=n, origin=origin, target=(origin + 1) % islands)


def elite_of(verdict: Verdict) -> Elite | None:
    """What a verdict offers to the archive: only what is right, measured and has features."""
    if verdict.stage is not Stage.TIME or verdict.reason or verdict.ratio is None or verdict.features is None:
        return None
    if verdict.variant is None:
        return None
    return Elite(
        n=verdict.n,
        parent=verdict.parent,
        operator=verdict.operator,
        proposer=verdict.proposer,
        strategy=verdict.strategy,
        texts=verdict.texts,
        variant=verdict.variant,
        candidate=verdict.candidate,
        features=verdict.features,
        ratio=verdict.ratio,
        changes=verdict.changes,
        resources=verdict.resources,
    )


def fold(kernel: str, settings: LoopSettings, events: Iterable[object]) -> SearchState:
    """The state after a log's events."""
    state = SearchState(kernel, settings)
    for event in events:
        if isinstance(event, Verdict | Migration | Source) and event.kernel == kernel:
            state.apply(event)
    return state


class ArchiveDocument(msgspec.Struct, frozen=True):
    """An archive as a document: equal searches give equal bytes. It holds no time of day, host or search id."""

    kernel: str
    dimensions: tuple[str, ...]
    proposals: int
    ended: dict[str, int]
    """Proposals by where they ended: a reason, or ``time`` for what was measured."""
    islands: tuple[tuple[ArchivedElite, ...], ...]


class ArchivedElite(msgspec.Struct, frozen=True):
    """One cell."""

    cell: tuple[int, ...]
    what: str
    """The cell in words."""
    elite: Elite


def document(state: SearchState) -> ArchiveDocument:
    """A kernel's archive."""
    archive = state.archive
    return ArchiveDocument(
        kernel=state.kernel,
        dimensions=archive.dimensions,
        proposals=state.verdicts,
        ended=dict(sorted(state.stages.items())),
        islands=tuple(
            tuple(
                ArchivedElite(cell, describe(cell, archive.dimensions), elite)
                for cell, elite in archive.cells(island).items()
            )
            for island in range(archive.islands)
        ),
    )


def document_bytes(documents: Iterable[ArchiveDocument]) -> bytes:
    """The file ``archive.json``: one document a kernel, deterministic."""
    encoded = msgspec.json.encode(list(documents), order="deterministic")
    return msgspec.json.format(encoded, indent=1) + b"\n"
