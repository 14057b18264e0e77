"""What is asked next: parent, operator and hint of a batch of siblings.

A draw is a pure function of the state, the seed and the number of the batch's first request.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from r3cc.remix.archive.archive import Elite
from r3cc.remix.archive.features import Cell, cell_of, describe, neighbours
from r3cc.remix.archive.state import SearchState

IMPROVE, EXPLORE, COMBINE, PARAMETERS = "improve", "explore", "combine", "parameters"
OPERATORS = (IMPROVE, EXPLORE, COMBINE, PARAMETERS)
"""What a request asks for; ``REPAIR`` rounds follow from failures and are not drawn."""
REPAIR = "repair"
ORIGINAL_AGAIN = 0.15
"""Part of the draws that go back to the original source, so that no lineage owns the search."""
TAKE_BEST = 0.5
"""Part of the others that take the island's fastest elite."""
WEIGHTS = {IMPROVE: 4, EXPLORE: 3, COMBINE: 2, PARAMETERS: 1}


class Sibling(msgspec.Struct, frozen=True):
    """What one request of a batch asks for."""

    operator: str
    hint: str = ""
    """Strategy of an empty neighbouring cell, in words."""
    other: Elite | None = None
    """Another elite, whose idea the operator ``combine`` takes."""


class Draw(msgspec.Struct, frozen=True):
    """One batch."""

    island: int
    parent: Elite | None
    """None: the original source."""
    siblings: tuple[Sibling, ...]


def draw(state: SearchState, seed: int, n: int, count: int) -> Draw:
    """The batch whose first request is ``n``."""
    rng = random.Random(f"{seed} {n}")
    island = rng.randrange(state.archive.islands)
    elites = state.archive.elites(island)
    parent = _parent(rng, state, elites)
    hints = _empty_neighbours(state, island, parent)
    rng.shuffle(hints)
    siblings = []
    for _ in range(count):
        siblings.append(_sibling(rng, state, parent, elites, hints))
    return Draw(island, parent, tuple(siblings))


def _parent(rng: random.Random, state: SearchState, elites: Sequence[Elite]) -> Elite | None:
    if not elites or rng.random() < ORIGINAL_AGAIN:
        return None
    if rng.random() < TAKE_BEST:
        return elites[0]
    weights = [1 / (1 + state.children[elite.n]) for elite in elites]
    return rng.choices(elites, weights)[0]


def _sibling(
    rng: random.Random, state: SearchState, parent: Elite | None, elites: Sequence[Elite], hints: list[str]
) -> Sibling:
    others = [elite for elite in elites if parent is None or elite.n != parent.n]
    possible = [name for name in OPERATORS if (name != COMBINE or others) and (name != EXPLORE or hints)]
    operator = rng.choices(possible, [WEIGHTS[name] for name in possible])[0]
    if operator == COMBINE:
        return Sibling(operator, other=rng.choice(others))
    return Sibling(operator, hint=hints.pop() if operator == EXPLORE else "")


def _empty_neighbours(state: SearchState, island: int, parent: Elite | None) -> list[str]:
    """Strategies beside the parent's that nobody on its island has."""
    dimensions = state.archive.dimensions
    taken = state.archive.cells(island)
    features = parent.features if parent is not None else state.original
    if features is None:
        return []
    origin: Cell = cell_of(features, dimensions)
    return [describe(cell, dimensions) for cell in neighbours(origin, dimensions) if cell not in taken]
