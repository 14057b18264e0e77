"""Edits that a search tries first: what the pass-ordering literature found to pay on GPUs, and O3 itself."""

from __future__ import annotations

from collections.abc import Iterator

from r3cc.tune.edits import Anchor, BasePipeline, Change, Drop, Edits, Insert
from r3cc.tune.genotype import Genotype
from r3cc.tune.passes import Level, Vocabulary

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


def seeds(base: BasePipeline, vocabulary: Vocabulary) -> tuple[Genotype, ...]:
    """The seeds that this base pipeline and this LLVM can take."""
    return tuple(Genotype(edits) for edits in SEEDS if all(_possible(edits, base, vocabulary)))


def _possible(edits: Edits, base: BasePipeline, vocabulary: Vocabulary) -> Iterator[bool]:
    for edit in edits:
        yield edit.anchor in base.places
        if isinstance(edit, Insert):
            yield edit.name in vocabulary
