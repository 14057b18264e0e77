"""Which passes are worth drawing: how often one, inserted or dropped, changed a kernel's PTX.

Most edits of ``default<O3>`` change nothing: of 409, each made alone (every pass inserted in three places, every pass
of the text dropped), one in 22 changed the PTX of one of the 26 kernels of four CUDA programs, LLVM 22 for sm_90. A
candidate with the code of an earlier one teaches nothing, so passes are drawn by what they did there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec


class Odds(msgspec.Struct, frozen=True):
    """How often edits with a pass changed a kernel's code, by its name; nothing known of the others."""

    inserted: Mapping[str, float]
    dropped: Mapping[str, float]
    others: float
    """Weight of a pass that never did, beside the square root of what the rest did: what nearly always changes the code
    in one way is soon known."""

    def shares(self, rates: Mapping[str, float], names: Sequence[str]) -> list[float]:
        """Probabilities of these names' passes to be drawn."""
        weights = [self.others + math.sqrt(rates.get(name, 0.0)) for name in names]
        total = sum(weights)
        return [weight / total for weight in weights]


EVEN = Odds({}, {}, 1.0)
MEASURED = Odds(
    inserted={
        "attributor": 0.89,
        "attributor-cgscc": 0.89,
        "break-crit-edges": 0.67,
        "reassociate": 0.43,
        "structurizecfg": 0.34,
        "infer-address-spaces": 0.32,
        "loop-reduce": 0.27,
        "module-inline": 0.13,
        "speculative-execution": 0.12,
        "licm": 0.09,
        "loop-unroll": 0.08,
        "loop-unroll-full": 0.08,
        "sink": 0.08,
        "inline": 0.07,
        "div-rem-pairs": 0.06,
        "indvars": 0.06,
        "lnicm": 0.06,
        "loop-rotate": 0.05,
        "gvn-hoist": 0.02,
        "slsr": 0.02,
    },
    dropped={  # not inline, 0.79: without it, kernels on an H200 took 1.27 times as long
        "reassociate": 0.57,
        "indvars": 0.29,
        "loop-unroll-full": 0.24,
        "gvn": 0.21,
        "loop-rotate": 0.21,
        "ipsccp": 0.11,
        "speculative-execution": 0.10,
        "loop-unroll": 0.09,
        "licm": 0.07,
        "simplifycfg": 0.07,
        "early-cse": 0.06,
        "sroa": 0.06,
        "instcombine": 0.04,
        "deadargelim": 0.03,
        "function-attrs": 0.02,
    },
    others=0.05,
)
