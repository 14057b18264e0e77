"""Edits that a search tries first: what the pass-ordering literature found to pay on GPUs, and O3 itself."""

from __future__ import annotations

from r3cc.tune.edits import PRESETS, Anchor, Change, Drop, Edits, Insert, Preset
from r3cc.tune.genotype import Genotype
from r3cc.tune.passes import Level
from r3cc.tune.space import Space

UNROLL = Anchor("loop-unroll", 1)
LATE = Anchor("alignment-from-assumptions", 1)
EARLY = Anchor("speculative-execution", 1)

SEEDS: tuple[Edits, ...] = (
    (),
    (Change(UNROLL, "O3;partial;runtime;upperbound"),),
    (Change(UNROLL, "O3;no-partial;no-runtime"),),
    (Insert(LATE, "loop-unroll", Level.FUNCTION, "O3;partial;runtime"), Insert(LATE, "gvn", Level.FUNCTION)),
    (
        Insert(LATE, "separate-const-offset-from-gep", Level.FUNCTION, "lower-gep"),
        Insert(LATE, "slsr", Level.FUNCTION),
        Insert(LATE, "nary-reassociate", Level.FUNCTION),
        Insert(LATE, "early-cse", Level.FUNCTION, "memssa"),
    ),
    (
        Insert(EARLY, "infer-address-spaces", Level.FUNCTION),
        Insert(LATE, "load-store-vectorizer", Level.FUNCTION),
    ),
    (Drop(Anchor("loop-vectorize", 1)), Drop(Anchor("slp-vectorizer", 1))),
    (Drop(Anchor("simple-loop-unswitch", 1)), Drop(Anchor("jump-threading", 1)), Drop(Anchor("jump-threading", 2))),
)
"""In the order in which they are tried. The first is ``default<O3>``, so no search ends below it."""


PRESET_SEEDS = tuple((Preset(name),) for name in PRESETS)


def seeds(space: Space) -> tuple[Genotype, ...]:
    """The seeds that a space can take, LLVM's own pipelines after ``default<O3>`` first."""
    ordered: tuple[Edits, ...] = (SEEDS[0], *PRESET_SEEDS, *SEEDS[1:])
    return tuple(Genotype(edits) for edits in ordered if all(map(space.takes, edits)))
