"""MAP-Elites with islands: in each cell of each island the fastest correct candidate of its kind.

The archive is never changed but by folding verdicts and migrations (``r3cc.remix.archive.state``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

import msgspec

from r3cc.remix.archive.features import Cell, cell_of
from r3cc.remix.model import Features
from r3cc.replay.model import Candidate, Interval


class Elite(msgspec.Struct, frozen=True):
    """A correct, measured rewrite."""

    n: int
    """Its proposal."""
    parent: int | None
    operator: str
    proposer: str
    strategy: str
    texts: Mapping[str, str]
    """Regions that differ from the original."""
    variant: str
    candidate: Candidate
    features: Features
    ratio: Interval
    """Time over the baseline's; smaller is better."""
    changes: tuple[str, ...] = ()
    """What the tuner changed."""
    resources: Mapping[str, int] = {}


class Added(Enum):
    """What became of a candidate that was offered to the archive."""

    REJECTED = "rejected"
    IMPROVED = "improved"
    NEW = "new"


class Archive:
    """Islands of cells. An elite is replaced only by a strictly faster one."""

    def __init__(self, dimensions: Sequence[str], islands: int) -> None:
        self.dimensions = tuple(dimensions)
        self._islands: list[dict[Cell, Elite]] = [{} for _ in range(islands)]

    @property
    def islands(self) -> int:
        """How many there are."""
        return len(self._islands)

    def add(self, island: int, elite: Elite) -> Added:
        """Offer an elite to its cell of an island. Raises R3Error for features without a bin."""
        if not (math.isfinite(elite.ratio.median) and elite.ratio.median > 0):
            return Added.REJECTED
        cell = cell_of(elite.features, self.dimensions)
        present = self._islands[island].get(cell)
        if present is not None and present.ratio.median <= elite.ratio.median:
            return Added.REJECTED
        self._islands[island][cell] = elite
        return Added.NEW if present is None else Added.IMPROVED

    def would_add(self, island: int, features: Features, ratio: Interval) -> bool:
        """Whether an elite with these features and this time would enter."""
        present = self._islands[island].get(cell_of(features, self.dimensions))
        return math.isfinite(ratio.median) and 0 < ratio.median < (present.ratio.median if present else math.inf)

    def migrate(self, n: int, origin: int, target: int) -> Added:
        """Copy the elite of proposal ``n`` to another island, if it is still there."""
        elite = next((each for each in self._islands[origin].values() if each.n == n), None)
        return Added.REJECTED if elite is None else self.add(target, elite)

    def cells(self, island: int) -> dict[Cell, Elite]:
        """An island's elites by cell, in the cells' order."""
        return dict(sorted(self._islands[island].items()))

    def elites(self, island: int) -> list[Elite]:
        """An island's elites, the fastest first."""
        return sorted(self._islands[island].values(), key=_rank)

    def best(self) -> Elite | None:
        """The fastest of all islands; None while there is none."""
        return min(self, key=_rank, default=None)

    def __iter__(self) -> Iterator[Elite]:
        for island in range(self.islands):
            yield from self.cells(island).values()


def _rank(elite: Elite) -> tuple[float, int]:
    return elite.ratio.median, elite.n
