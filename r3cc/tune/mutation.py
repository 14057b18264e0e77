"""Random edits: how a search moves among pipelines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from r3cc.tune.activity import EVEN, Odds
from r3cc.tune.edits import Anchor, BasePipeline, Change, Drop, Edit, Edits, Insert, Swap, fits
from r3cc.tune.passes import Pass, Vocabulary

EditMaker = Callable[[np.random.RandomState], Edit]
MAX_EDITS = 16
"""Longest genotype: beyond it an edit must go before another comes."""
EDIT_WEIGHTS = (0.45, 0.15, 0.3, 0.1)
"""How often a new edit inserts, drops, changes and swaps."""
KEPT = ("require", "invalidate", "verify", "nvvm-reflect", "nvvm-intr-range", "always-inline", "annotation-remarks")
"""Passes of the base that are never dropped or moved: analyses that others need, and the target's own lowering."""


class EditSampler:
    """Draws edits and mutates lists of them, over one base pipeline and one vocabulary."""

    def __init__(self, base: BasePipeline, vocabulary: Vocabulary, odds: Odds = EVEN) -> None:
        """``odds``: which passes are drawn how often, to be inserted or dropped."""
        self.base = base
        self.anchors = list(base.places)
        self.movable = [anchor for anchor in self.anchors if anchor.name not in KEPT]
        self.inserts = [vocabulary[name] for name in sorted(vocabulary)]
        self.changeable = {a: p for a in self.movable if (p := vocabulary.get(a.name)) is not None and p.options}
        self._places = {spec.level: self._places_for(spec) for spec in self.inserts}
        self._inserted = odds.shares(odds.inserted, [spec.name for spec in self.inserts])
        self._dropped = odds.shares(odds.dropped, [anchor.name for anchor in self.movable])

    def _places_for(self, spec: Pass) -> list[Anchor]:
        return [anchor for anchor in self.anchors if fits(spec.level, self.base.places[anchor])]

    def edit(self, rng: np.random.RandomState) -> Edit:
        """One random edit that this base can take."""
        makers: tuple[Callable[[np.random.RandomState], Edit], ...] = (
            self._insert,
            self._drop,
            self._change,
            self._swap,
        )
        return makers[int(rng.choice(len(makers), p=EDIT_WEIGHTS))](rng)

    def sample(self, rng: np.random.RandomState) -> Edits:
        """A short random genotype of at least one edit."""
        return tuple(self.edit(rng) for _ in range(min(int(rng.geometric(0.5)), MAX_EDITS)))

    def mutate(self, edits: Edits, rng: np.random.RandomState) -> Edits:
        """``edits`` with one or a few steps: an edit more, one less, another one, another order or place."""
        for _ in range(min(int(rng.geometric(0.6)), 4)):
            edits = self._step(edits, rng)
        return edits

    def recombine(self, edits: Edits, other: Edits, rng: np.random.RandomState) -> Edits:
        """The head of one list and the tail of the other."""
        head, tail = int(rng.randint(len(edits) + 1)), int(rng.randint(len(other) + 1))
        return (*edits[:head], *other[tail:])[:MAX_EDITS]

    def _step(self, edits: Edits, rng: np.random.RandomState) -> Edits:
        draw = rng.rand()
        at = int(rng.randint(len(edits))) if edits else 0
        if not edits or (draw < 0.45 and len(edits) < MAX_EDITS):
            at = int(rng.randint(len(edits) + 1))
            return (*edits[:at], self.edit(rng), *edits[at:])
        if draw < 0.65:
            return (*edits[:at], *edits[at + 1 :])
        if draw < 0.9:
            return (*edits[:at], self._vary(edits[at], rng), *edits[at + 1 :])
        to = int(rng.randint(len(edits)))
        rest = (*edits[:at], *edits[at + 1 :])
        return (*rest[:to], edits[at], *rest[to:])

    def _vary(self, edit: Edit, rng: np.random.RandomState) -> Edit:
        """The same edit in another place or with other parameters; another edit where that has no meaning."""
        spec = next((spec for spec in self.inserts if isinstance(edit, Insert) and spec.name == edit.name), None)
        if not isinstance(edit, Insert) or spec is None:
            return self.edit(rng)
        if rng.rand() < 0.5:
            return Insert(self._pick(self._places[edit.level], rng), edit.name, edit.level, edit.parameters)
        return Insert(edit.anchor, edit.name, edit.level, self._parameters(spec, rng))

    def _insert(self, rng: np.random.RandomState) -> Edit:
        spec = self.inserts[int(rng.choice(len(self.inserts), p=self._inserted))]
        return Insert(self._pick(self._places[spec.level], rng), spec.name, spec.level, self._parameters(spec, rng))

    def _drop(self, rng: np.random.RandomState) -> Edit:
        return Drop(self.movable[int(rng.choice(len(self.movable), p=self._dropped))])

    def _change(self, rng: np.random.RandomState) -> Edit:
        if not self.changeable:
            return self._drop(rng)
        anchor = self._pick(list(self.changeable), rng)
        return Change(anchor, _changed(self.base.passes[anchor].parameters, self.changeable[anchor], rng))

    def _swap(self, rng: np.random.RandomState) -> Edit:
        anchor = self._pick(self.movable, rng)
        level = self.base.places[anchor]
        others = [other for other in self.movable if other != anchor and self.base.places[other] is level]
        return Swap(anchor, self._pick(others, rng)) if others else Drop(anchor)

    def _parameters(self, spec: Pass, rng: np.random.RandomState) -> str | None:
        """Mostly LLVM's own defaults, else one or two options."""
        chosen: list[str] = []
        for option in spec.options:
            if rng.rand() < 1 / (1 + len(spec.options)):
                chosen.append(option.values[int(rng.randint(len(option.values)))])
        return spec.parameters(chosen)

    @staticmethod
    def _pick(anchors: list[Anchor], rng: np.random.RandomState) -> Anchor:
        return anchors[int(rng.randint(len(anchors)))]


def _changed(text: str | None, spec: Pass, rng: np.random.RandomState) -> str | None:
    """The parameter text with one option given another value."""
    option = spec.options[int(rng.randint(len(spec.options)))]
    words = [word for word in (text or "").split(";") if word]
    values = [value for value in option.values if value not in words] or list(option.values)
    value = values[int(rng.randint(len(values)))]
    kept = [word for word in words if not option.holds(word) and word.split("=")[0] != value.split("=")[0]]
    return spec.parameters([*kept, value])
