"""What the parts of a kernel's search share: their tools, and a proposal on its way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from r3cc.remix.choosing import Policy
from r3cc.remix.loop.cascade import Judge, Judgement
from r3cc.remix.loop.nested import NestedTuner
from r3cc.remix.model import Built, Prompt, Proposer, Rejection, SourceKernel
from r3cc.remix.prompts.answers import Rewrite
from r3cc.remix.prompts.layout import Layout
from r3cc.remix.watching import Watcher


@dataclass(frozen=True)
class Parts:
    """What a kernel's search works with."""

    source: SourceKernel
    layout: Layout
    judge: Judge
    tuner: NestedTuner
    policy: Policy
    proposers: Mapping[str, Proposer]
    """By name."""
    watcher: Watcher


@dataclass(frozen=True)
class Work:
    """One proposal on its way."""

    n: int
    batch: int
    seen: int
    after: int
    """Latest proposal with a verdict when it was drawn: what repeats one up to that is not judged at all."""
    island: int
    parent: int | None
    parent_ratio: float
    operator: str
    proposer: str
    prompt: Prompt


@dataclass
class Outcome:
    """What a proposal came to, before it is compared with the ones before it."""

    work: Work
    rejection: Rejection | None = None
    rewrite: Rewrite | None = None
    texts: dict[str, str] = field(default_factory=dict)
    """Regions that differ from the original."""
    built: Built | None = None
    judgement: Judgement | None = None
