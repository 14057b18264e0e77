"""Edits that a search tries first: what was measured, or the pass-ordering literature found, to pay on GPUs."""

from __future__ import annotations

from r3cc.tune.edits import Anchor, Change, Drop, Edits, Insert, Preset
from r3cc.tune.passes import Level
from r3cc.tune.space import Space

UNROLL = Anchor("loop-unroll", 1)
LATE = Anchor("alignment-from-assumptions", 1)
EARLY = Anchor("speculative-execution", 1)

MEASURED: tuple[Edits, ...] = (
    (Insert(Anchor("early-cse", 2), "structurizecfg", Level.FUNCTION, "skip-uniform-regions"),),
    (Insert(Anchor("inline", 1), "attributor-cgscc", Level.CGSCC),),
    (
        Insert(Anchor("libcalls-shrinkwrap", 1), "loop-unroll", Level.FUNCTION),
        Insert(Anchor("loop-sink", 1), "lnicm", Level.LOOP_MSSA),
    ),
    (Insert(Anchor("rpo-function-attrs", 1), "attributor", Level.MODULE),),
    (Preset("O1"),),
)
"""What gained on an H200: a stencil's branches and inlining, a loop nest of a hydrodynamics code, less being done."""
LITERATURE: tuple[Edits, ...] = (
    (
        Insert(LATE, "separate-const-offset-from-gep", Level.FUNCTION, "lower-gep"),
        Insert(LATE, "slsr", Level.FUNCTION),
        Insert(LATE, "nary-reassociate", Level.FUNCTION),
        Insert(LATE, "early-cse", Level.FUNCTION, "memssa"),
    ),
    (
        Change(UNROLL, "O3;partial;runtime;upperbound"),
        Insert(LATE, "loop-unroll", Level.FUNCTION, "O3;partial;runtime"),
        Insert(LATE, "gvn", Level.FUNCTION),
        Insert(EARLY, "infer-address-spaces", Level.FUNCTION),
        Insert(LATE, "load-store-vectorizer", Level.FUNCTION),
    ),
    (
        Change(UNROLL, "O3;no-partial;no-runtime"),
        Drop(Anchor("loop-vectorize", 1)),
        Drop(Anchor("slp-vectorizer", 1)),
        Drop(Anchor("simple-loop-unswitch", 1)),
        Drop(Anchor("jump-threading", 1)),
        Drop(Anchor("jump-threading", 2)),
    ),
    (Preset("Oz"),),
)
"""Several at once, for more unrolling and wider accesses and for less of everything: on an H200 each alone left the
code of at least 10 of 13 kernels as it was. A winner loses what it does not need."""
FIRST: tuple[Edits, ...] = (*MEASURED, *LITERATURE)
"""In the order in which they are tried."""


def first_edits(space: Space) -> tuple[Edits, ...]:
    """Edits to try before any are made up, of those that a space can take."""
    return tuple(edits for edits in FIRST if all(map(space.takes, edits)))
