"""From an answer to numbers, in stages ordered by price; equal sources and equal code are judged once.

What a text is worth is a pure function of the text: neither the time at which it arrives nor what else is under way
plays a part. Whether it repeats an earlier proposal is decided where verdicts are committed, in their order.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from r3cc.farm.evaluator import Evaluator
from r3cc.remix.archive.features import features
from r3cc.remix.archive.state import SearchState
from r3cc.remix.artefact import Artefact
from r3cc.remix.model import Built, Features, Rejection, SourceBuilder, Stage, Variant
from r3cc.remix.prompts import feedback
from r3cc.replay.model import Candidate, Evaluation, Interval, L2State, Status, TimingPlan
from r3cc.tune.baseline import RETRIES, judge_baseline

QUICK = TimingPlan(warmups=1, samples=2)
"""Right on the recorded launches, and a first impression of the time."""
FULL = TimingPlan(warmups=2, samples=6, held_out=True, perturbed=True)
"""Right on held-out launches and perturbed inputs as well, and the time that the archive compares."""
CONFIRM = TimingPlan(warmups=2, samples=9, held_out=True, perturbed=True)
"""What would enter the archive is measured once more: the first number may be good by luck."""
HOPELESS = 4.0
"""Times the baseline's time above which nothing is measured well."""
Note = Callable[[str, Evaluation], object]
"""Hears of each evaluation, with the stage that it was made for."""


class Judgement(msgspec.Struct, frozen=True):
    """What a variant is worth by itself."""

    rejection: Rejection | None = None
    ratio: Interval | None = None
    features: Features | None = None
    resources: Mapping[str, int] = {}


class Workshop(Protocol):
    """Builds and measures for one kernel: live, or from a log (``r3cc.remix.loop.memory``)."""

    async def build(self, texts: Mapping[str, str], values: Mapping[str, str]) -> Built | Rejection:
        """The variant of a rewrite: regions that differ from the original, values for its parameters."""
        ...

    async def evaluate(self, stage: str, candidate: Candidate, plan: TimingPlan) -> Evaluation:
        """A candidate's evaluation for a stage."""
        ...


class LiveWorkshop:
    """Builds in threads and measures on the device; the evaluator starts with the first candidate."""

    def __init__(self, builder: SourceBuilder, open_evaluator: Callable[[], Evaluator]) -> None:
        self._builder = builder
        self._open = open_evaluator
        self._evaluator: Evaluator | None = None
        self.l2: L2State | None = None
        """Cache state to time in: the baseline's."""

    @property
    def evaluator(self) -> Evaluator:
        """The evaluator, started."""
        if self._evaluator is None:
            self._evaluator = self._open()
        return self._evaluator

    @property
    def width(self) -> int:
        """Evaluations worth having in flight at a time."""
        return self.evaluator.width

    def baseline(self) -> Evaluation:
        """The recorded build's own code; blocks."""
        return judge_baseline(self.evaluator)

    async def build(self, texts: Mapping[str, str], values: Mapping[str, str]) -> Built | Rejection:
        """In a thread: the builder blocks while it compiles."""
        return await asyncio.to_thread(self._builder.build, texts, values)

    async def rebuild(self, variant: Variant, texts: Mapping[str, str]) -> None:
        """What a log tells of, under its name; in a thread."""
        await asyncio.to_thread(self._builder.rebuild, variant, texts)

    async def evaluate(self, stage: str, candidate: Candidate, plan: TimingPlan) -> Evaluation:
        """Queue it and wait."""
        return await settled(self.evaluator, candidate, msgspec.structs.replace(plan, l2=self.l2))

    def close(self) -> None:
        """End the evaluator's processes."""
        if self._evaluator is not None:
            self._evaluator.close()
            self._evaluator = None


class Judge:
    """Judges rewrites of one kernel; equal ones once."""

    def __init__(self, workshop: Workshop, dynamic_shared: int) -> None:
        """``dynamic_shared``: bytes of the launches."""
        self._workshop = workshop
        self._dynamic_shared = dynamic_shared
        self._built: dict[bytes, asyncio.Task[Built | Rejection]] = {}
        self._judged: dict[str, asyncio.Task[Judgement]] = {}

    async def build(self, texts: Mapping[str, str], values: Mapping[str, str]) -> Built | Rejection:
        """The variant of a rewrite."""
        key = build_key(texts, values)
        if key not in self._built:
            self._built[key] = asyncio.create_task(self._workshop.build(texts, values))
        return await asyncio.shield(self._built[key])

    async def judge(self, built: Built, note: Note) -> Judgement:
        """What a variant is worth."""
        variant = built.variant.id
        if variant not in self._judged:
            self._judged[variant] = asyncio.create_task(self._judge(built, note))
        return await asyncio.shield(self._judged[variant])

    async def confirm(self, built: Built, judgement: Judgement, note: Note) -> Judgement:
        """The judgement after another measurement: of two times the worse one counts."""
        again = await self._evaluate("confirm", Candidate(variant=built.variant.id), CONFIRM, note)
        if (wrong := feedback.judged(again, held_out=True)) is not None:
            unsteady = msgspec.structs.replace(wrong, stage=Stage.CONFIRM)
            return msgspec.structs.replace(judgement, rejection=unsteady, ratio=None)
        ratios = [ratio for ratio in (judgement.ratio, again.ratio) if ratio is not None]
        return msgspec.structs.replace(judgement, ratio=max(ratios, key=_median))

    async def _judge(self, built: Built, note: Note) -> Judgement:
        candidate = Candidate(variant=built.variant.id)
        quick = await self._evaluate("quick", candidate, QUICK, note)
        if (wrong := feedback.judged(quick, held_out=False)) is not None:
            return Judgement(wrong, resources=quick.resources)
        if quick.ratio is not None and quick.ratio.low > HOPELESS:
            return Judgement(feedback.slow(quick.ratio.median, HOPELESS), resources=quick.resources)
        full = await self._evaluate("full", candidate, FULL, note)
        return self._measured(built.artefact, full)

    def _measured(self, artefact: Artefact, full: Evaluation) -> Judgement:
        if (wrong := feedback.judged(full, held_out=True)) is not None:
            return Judgement(wrong, resources=full.resources)
        ratio = full.ratio
        if ratio is None or not math.isfinite(ratio.median) or ratio.median <= 0:
            missing = Rejection(Stage.TIME, "not_measured", "It is right, but could not be timed.")
            return Judgement(missing, resources=full.resources)
        found = features(artefact, full.resources, self._dynamic_shared)
        return Judgement(None, ratio, found, full.resources)

    async def _evaluate(self, stage: str, candidate: Candidate, plan: TimingPlan, note: Note) -> Evaluation:
        evaluation = await self._workshop.evaluate(stage, candidate, plan)
        note(stage, evaluation)
        return evaluation


def _median(ratio: Interval) -> float:
    return ratio.median


def build_key(texts: Mapping[str, str], values: Mapping[str, str]) -> bytes:
    """Equal for equal rewrites with equal values."""
    return msgspec.json.encode([sorted(texts.items()), sorted(values.items())])


def duplicate(variant: Variant, state: SearchState, up_to: int) -> Rejection | None:
    """Whether a variant repeats a proposal, up to a number, in its text or in its code."""
    if state.by_source.get(variant.source_hash, up_to + 1) <= up_to:
        return Rejection(Stage.DUPLICATE_SOURCE, "duplicate_source", "The same source was proposed before.")
    if state.by_ir.get(variant.ir_hash, up_to + 1) <= up_to:
        message = (
            "Compiled, it is the same code as an earlier rewrite or the reference: nothing that counts was changed."
        )
        return Rejection(Stage.DUPLICATE_IR, "duplicate_ir", message)
    return None


async def settled(evaluator: Evaluator, candidate: Candidate, plan: TimingPlan) -> Evaluation:
    """What an evaluator says of a candidate; asked again where its worker was lost."""
    for _ in range(RETRIES):
        evaluation = await asyncio.wrap_future(evaluator.submit(candidate, plan))
        if evaluation.status is not Status.WORKER_LOST:
            return evaluation
    return await asyncio.wrap_future(evaluator.submit(candidate, plan))


def believed(evaluation: Evaluation) -> Interval | None:
    """The time over the baseline's of what is right on everything, where it can be true."""
    return evaluation.ratio if feedback.judged(evaluation, held_out=True) is None else None
