"""All rules, in the order in which their names are listed."""

from __future__ import annotations

from r3cc.remix.proposers.rules.arithmetic import (
    HypotenuseByRoot,
    PowerByExponential,
    PowerByMultiplication,
    ReciprocalInLoop,
    ReciprocalRoot,
    SharedReciprocal,
)
from r3cc.remix.proposers.rules.branches import SelectReturn, SelectValue
from r3cc.remix.proposers.rules.launch import GridStride, LaunchBounds, NarrowCounters
from r3cc.remix.proposers.rules.loops import Fuse, HoistBound, HoistInvariant, Interchange, Peel, Unroll
from r3cc.remix.proposers.rules.memory import (
    AccumulateInRegister,
    KeepInRegister,
    ReadOnlyLoads,
    Restrict,
    WideLoads,
)
from r3cc.remix.proposers.rules.reductions import ReductionByShuffle, ReductionTail, SplitAccumulators
from r3cc.remix.proposers.rules.rule import Rule
from r3cc.remix.proposers.rules.sharing import ShareWithNeighbour, StageInShared

CATALOGUE: tuple[Rule, ...] = (
    ReductionTail(),
    ReductionByShuffle(),
    SplitAccumulators(),
    ShareWithNeighbour(),
    StageInShared(),
    PowerByMultiplication(),
    PowerByExponential(),
    HypotenuseByRoot(),
    ReciprocalRoot(),
    ReciprocalInLoop(),
    SharedReciprocal(),
    AccumulateInRegister(),
    KeepInRegister(),
    ReadOnlyLoads(),
    Restrict(),
    WideLoads(),
    Unroll(),
    Interchange(),
    Fuse(),
    Peel(),
    HoistBound(),
    HoistInvariant(),
    LaunchBounds(),
    GridStride(),
    NarrowCounters(),
    SelectReturn(),
    SelectValue(),
)
