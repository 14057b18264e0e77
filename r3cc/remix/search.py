"""A whole remix search: kernels one after another, each with a loop of its own, every step in the event log first."""

from __future__ import annotations

import asyncio
import math
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from r3cc.farm.evaluator import Evaluator
from r3cc.remix.archive.archive import Elite
from r3cc.remix.archive.features import features
from r3cc.remix.archive.state import SearchState, document, document_bytes, fold
from r3cc.remix.artefact import Artefact
from r3cc.remix.choosing import Policy
from r3cc.remix.events import AnyEvent, Build, Learnt, LoopSettings, Source
from r3cc.remix.loop.asking import Limits
from r3cc.remix.loop.budget import Caps
from r3cc.remix.loop.cascade import Judge, LiveWorkshop
from r3cc.remix.loop.controller import KernelRun
from r3cc.remix.loop.finals import Finals, Winner
from r3cc.remix.loop.journal import Journal
from r3cc.remix.loop.memory import Memory, RememberingWorkshop
from r3cc.remix.loop.nested import NestedTuner
from r3cc.remix.loop.work import Parts
from r3cc.remix.model import Proposer, Rejection, SourceBuilder, Variant
from r3cc.remix.prompts.layout import Layout
from r3cc.remix.sheet import Sheet
from r3cc.remix.watching import Watcher
from r3cc.replay.events import Baseline, End, KernelPlan, Result, Session, Stop
from r3cc.replay.model import Evaluation, Status
from r3cc.tune.baseline import noise_of
from r3cc.tune.budget import share_of
from r3cc.tune.finals import baseline_seconds, no_improvement, seconds
from r3cc.tune.space import Space

ROOM = 3
"""Evaluators for finals that a device is taken to have room for, before the first of them says it."""

SheetOf = Callable[[Evaluation, Artefact | None], Sheet]


@dataclass(frozen=True)
class Target:
    """A kernel to remix."""

    plan: KernelPlan
    builder: SourceBuilder
    open_evaluator: Callable[[], Evaluator]
    space_of: Callable[[Variant], Space]
    sheet_of: SheetOf
    """What prompts say about the kernel, given the baseline's evaluation and what its IR says."""
    resolve: Callable[[Mapping[str, str], Mapping[str, str]], Mapping[str, str]]
    """Texts with parameters replaced by their values."""
    dynamic_shared: int = 0
    directory: Path = Path()
    """Where the recorded compile command ran: files of regions are relative to it."""


@dataclass(frozen=True)
class Allowed:
    """Where a session stops; None for no limit."""

    proposals: int | None = None
    """Over all kernels and sessions."""
    time_s: float | None = None
    """Wall time of this session, finals included."""
    max_cost_usd: float | None = None
    """Over all sessions."""
    concurrency: int = 4
    max_tokens: int | None = None
    """Of all answers, input included, over all sessions."""


@dataclass(frozen=True)
class Company:
    """Who takes part in a search besides kernels."""

    proposers: Mapping[str, Proposer]
    policy: Policy
    watcher: Watcher


def before_finals(part_s: float, finals_s: float) -> float:
    """Seconds of a kernel's part that its search has: what finals leave, but at least half."""
    return max(part_s - finals_s, part_s / 2)


def _finals_s(took_s: float, baseline: Evaluation) -> float:
    """About how long finals take, by how long opening and the baseline took; at least what its phases say."""
    baseline_s, launches_s = baseline_seconds(baseline)
    return seconds(max(0.0, took_s - baseline_s), baseline_s, launches_s, ROOM)


class Remixer:
    """Runs a search from where its journal stands.

    An interrupt (KeyboardInterrupt) ends it in order: processes closed, the log complete up to the last answer.
    """

    def __init__(
        self,
        journal: Journal,
        targets: Sequence[Target],
        settings: LoopSettings,
        company: Company,
        seed: int,
        allowed: Allowed,
        script: Sequence[AnyEvent] = (),
    ) -> None:
        """``script``: events of a transcript to repeat."""
        self._journal = journal
        self._targets = targets
        self._settings = settings
        self._company = company
        self._seed = seed
        self._allowed = allowed
        self._script = script
        self._start = time.monotonic()
        self.states: dict[str, SearchState] = {}
        """By kernel, once its search is over."""

    async def run(self) -> list[Result]:
        """Remix every kernel that has no result yet; results in the order of the kernels."""
        allowed = self._allowed
        self._journal.add(
            Session,
            pid=os.getpid(),
            host=socket.gethostname(),
            budget=allowed.proposals,
            time_s=allowed.time_s,
            max_cost_usd=allowed.max_cost_usd,
        )
        for event in self._journal.earlier:
            if isinstance(event, Learnt):
                self._company.policy.learn(event.experience)
        results = []
        for index, target in enumerate(self._targets):
            known = self._journal.result(target.plan.kernel)
            results.append(known or await self._remix(index, target))
            self.states.setdefault(target.plan.kernel, self._folded(target))
        self._journal.add(End)
        return results

    def archives(self) -> bytes:
        """The document of all archives so far."""
        return document_bytes(map(document, self.states.values()))

    async def _remix(self, index: int, target: Target) -> Result:
        plan, watcher = target.plan, self._company.watcher
        live = LiveWorkshop(target.builder, target.open_evaluator)
        try:
            result = await self._kernel(index, target, live)
        finally:
            live.close()
        self._journal.append(result)
        watcher.kernel_ends(plan, result)
        return result

    async def _kernel(self, index: int, target: Target, live: LiveWorkshop) -> Result:
        plan = target.plan
        memories = [Memory(plan.kernel, self._journal.earlier), Memory(plan.kernel, self._script)]
        workshop = RememberingWorkshop(memories, live)
        began = time.monotonic()
        baseline = await self._baseline(plan, live)
        judged = baseline.evaluation
        live.l2 = judged.l2
        finals_s = _finals_s(time.monotonic() - began, judged)
        if judged.status is not Status.OK:
            why = f"the baseline could not be replayed: {judged.status}: {judged.message}"
            return no_improvement(plan, judged, why)
        judge = Judge(workshop, target.dynamic_shared)
        original = await self._original(target, judge, judged)
        if isinstance(original, Rejection):
            return no_improvement(plan, judged, f"the original source cannot be rebuilt: {original.message}")
        limits = self._limits(index, finals_s)
        run = self._kernel_run(limits, target, workshop, judge, baseline, original)
        self.states[plan.kernel] = run.state
        if not any(isinstance(event, Stop) and event.kernel == plan.kernel for event in self._journal.earlier):
            self._company.watcher.kernel_begins(plan, run.state.verdicts, run.limits.proposals)
            self._journal.add(Stop, kernel=plan.kernel, reason=await run.until_stopped())
        live.close()
        return await self._finals(target, run.state, baseline)

    async def _finals(self, target: Target, state: SearchState, baseline: Baseline) -> Result:
        def winner_of(elite: Elite) -> Winner:
            variant = self._variants.get(elite.candidate.variant or "")
            values = dict(variant.parameters) if variant is not None else {}
            if self._script and variant is not None:  # its builds were not repeated, but the next build needs this one
                target.builder.rebuild(variant, elite.texts)
            return Winner(target.resolve(elite.texts, values), values)

        script = Memory(target.plan.kernel, self._script) if self._script else None
        begin = partial(self._company.watcher.finals_begin, target.plan)
        finals = Finals(target.plan, target.open_evaluator, self._journal.append, begin, script, baseline.noise)
        return await finals.decide(state, baseline.evaluation, target.builder.source, winner_of)

    @property
    def _variants(self) -> dict[str, Variant]:
        """What was built, by id."""
        builds = [event for event in self._journal.events if isinstance(event, Build)]
        return {build.variant.id: build.variant for build in builds if build.variant is not None}

    def _kernel_run(
        self,
        limits: Limits,
        target: Target,
        workshop: RememberingWorkshop,
        judge: Judge,
        baseline: Baseline,
        original: Source,
    ) -> KernelRun:
        plan, builder = target.plan, target.builder
        tuner = NestedTuner(
            plan.kernel,
            self._settings.tune_evaluations,
            builder,
            workshop,
            judge,
            target.space_of,
            baseline.noise,
            self._seed,
            lambda: limits.time_is_over,
        )
        sheet = original.sheet or target.sheet_of(baseline.evaluation, original.artefact)
        layout = Layout(sheet, builder.source, self._settings.max_output_tokens, original.resources)
        company = self._company
        parts = Parts(builder.source, layout, judge, tuner, company.policy, company.proposers, company.watcher)
        script = Memory(plan.kernel, self._script) if self._script else None
        return KernelRun(plan, self._settings, self._seed, baseline.noise, self._journal, parts, limits, script)

    async def _baseline(self, plan: KernelPlan, live: LiveWorkshop) -> Baseline:
        for event in (*self._journal.earlier, *self._script):
            if isinstance(event, Baseline) and event.kernel == plan.kernel and event.evaluation.status is Status.OK:
                return event if event in self._journal.earlier else self._journal.append(event)
        judged = await asyncio.to_thread(live.baseline)
        noise, width = noise_of(judged), live.width
        return self._journal.add(Baseline, kernel=plan.kernel, evaluation=judged, noise=noise, width=width)

    async def _original(self, target: Target, judge: Judge, baseline: Evaluation) -> Source | Rejection:
        """The original's line in the log: built as every rewrite is, so that doing nothing is known as such."""
        plan = target.plan
        for event in (*self._journal.earlier, *self._script):
            if isinstance(event, Source) and event.kernel == plan.kernel:
                return event if event in self._journal.earlier else self._journal.append(event)
        built = await judge.build({}, {})
        if isinstance(built, Rejection):
            return built
        found = features(built.artefact, baseline.resources, target.dynamic_shared)
        return self._journal.add(
            Source,
            kernel=plan.kernel,
            source=target.builder.source,
            variant=built.variant,
            sheet=target.sheet_of(baseline, built.artefact),
            artefact=built.artefact,
            features=found,
            resources=baseline.resources,
        )

    def _limits(self, index: int, finals_s: float) -> Limits:
        """What a kernel's search may spend of what the ones before it left; its finals take ``finals_s``."""
        part = share_of([t.plan.share for t in self._targets[index:] if not self._journal.result(t.plan.kernel)])
        allowed, now = self._allowed, time.monotonic()
        before = sum(self._journal.proposals(target.plan.kernel) for target in self._targets[:index])
        proposals = None if allowed.proposals is None else math.ceil((allowed.proposals - before) * part)
        left = None if allowed.time_s is None else max(0.0, self._start + allowed.time_s - now)
        return Limits(
            proposals=proposals,
            deadline=None if left is None else now + before_finals(left * part, finals_s),
            caps=Caps(allowed.max_cost_usd, allowed.max_tokens),
            concurrency=allowed.concurrency,
        )

    def _folded(self, target: Target) -> SearchState:
        return fold(target.plan.kernel, self._settings, self._journal.events)
