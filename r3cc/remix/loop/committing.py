"""Verdicts, in the order of the proposals: the only place where the archive changes."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

from r3cc.remix.archive.state import SearchState
from r3cc.remix.events import Tuned, Verdict
from r3cc.remix.loop.asking import Limits
from r3cc.remix.loop.attempts import Attempts
from r3cc.remix.loop.cascade import Judgement, duplicate
from r3cc.remix.loop.journal import Journal
from r3cc.remix.loop.memory import Memory
from r3cc.remix.loop.nested import Best
from r3cc.remix.loop.work import Outcome, Parts, Work
from r3cc.remix.model import Built, Rejection, Stage
from r3cc.replay.events import Incumbent, KernelPlan
from r3cc.replay.model import Candidate

WORTH_TUNING = 1.25
"""Times the best elite's time above which the tuner leaves a new elite alone."""


class Committer:
    """Compares what a proposal came to with those before it, and writes the verdict."""

    def __init__(
        self,
        plan: KernelPlan,
        journal: Journal,
        own: Memory,
        script: Memory | None,
        state: SearchState,
        parts: Parts,
        attempts: Attempts,
        limits: Limits,
    ) -> None:
        self._plan = plan
        self._journal = journal
        self._own = own
        self._script = script
        self._state = state
        self._parts = parts
        self._attempts = attempts
        self._limits = limits

    async def commit(self, outcome: Outcome) -> None:
        """Compare with the proposals before it, tune what enters the archive, and write the verdict."""
        work, judgement, built = outcome.work, outcome.judgement, outcome.built
        rejection = outcome.rejection
        if built is not None:
            rejection = duplicate(built.variant, self._state, self._state.latest) or rejection
        tuned: Tuned | None = None
        if rejection is None and built is not None and judgement is not None and self._would_enter(work, judgement):
            note = partial(self._attempts.write_evaluation, work.n)
            judgement = await self._parts.judge.confirm(built, judgement, note)
            outcome, rejection = replace(outcome, judgement=judgement), judgement.rejection
            if rejection is None and self._would_enter(work, judgement):
                tuned = await self._tuned(outcome, built, judgement)
        verdict = self._verdict(outcome, rejection, tuned)
        best = self._state.best_ratio
        self._journal.append(verdict)
        self._state.apply(verdict)
        while (migration := self._state.due_migration(time.time())) is not None:
            self._journal.append(migration)
            self._state.apply(migration)
        if self._state.best_ratio < best:
            self._journal.add(Incumbent, n=work.n, kernel=self._plan.kernel, ratio=self._state.best_ratio)
        self._parts.watcher.judged(self._plan, verdict, self._state.best_ratio)

    def _would_enter(self, work: Work, judgement: Judgement) -> bool:
        if judgement.features is None or judgement.ratio is None:
            return False
        return self._state.archive.would_add(work.island, judgement.features, judgement.ratio)

    async def _tuned(self, outcome: Outcome, built: Built, judgement: Judgement) -> Tuned | None:
        """What the tuner makes of a rewrite that is not far behind the best."""
        n, ratio = outcome.work.n, judgement.ratio
        for memory in filter(None, (self._own, self._script)):
            if n in memory.tuned:
                return self._repeated(memory, n)
        if self._script is not None or self._limits.time_is_over:
            return None
        if ratio is None or ratio.median > WORTH_TUNING * self._state.best_ratio:
            return None
        itself = Best(Candidate(variant=built.variant.id), ratio, judgement.resources)
        return await self._parts.tuner.tune(
            n, outcome.texts, built.variant, itself, self._journal, self._attempts.write_evaluation
        )

    def _repeated(self, memory: Memory, n: int) -> Tuned:
        """What a log says that the tuner did; a transcript's trials go into this log, which is a transcript as well."""
        if memory is self._own:
            return memory.tuned[n]
        for trial in memory.trials.get(n, []):
            self._journal.append(trial)
        return self._journal.append(memory.tuned[n])

    def _verdict(self, outcome: Outcome, rejection: Rejection | None, tuned: Tuned | None) -> Verdict:
        work, judgement, built, rewrite = outcome.work, outcome.judgement, outcome.built, outcome.rewrite
        measured = rejection is None and judgement is not None
        candidate = Candidate(variant=built.variant.id) if built is not None and measured else Candidate()
        return Verdict(
            at=time.time(),
            n=work.n,
            kernel=self._plan.kernel,
            island=work.island,
            parent=work.parent,
            operator=work.operator,
            proposer=work.proposer,
            stage=rejection.stage if rejection is not None else Stage.TIME,
            reason=rejection.reason if rejection is not None else "",
            message=rejection.message if rejection is not None else "",
            strategy=rewrite.strategy if rewrite is not None else "",
            texts=outcome.texts if measured else {},
            variant=built.variant.id if built is not None else None,
            source_hash=built.variant.source_hash if built is not None else "",
            ir_hash=built.variant.ir_hash if built is not None else "",
            candidate=tuned.candidate if tuned is not None else candidate,
            features=judgement.features if measured and judgement is not None else None,
            ratio=tuned.ratio if tuned is not None else judgement.ratio if judgement is not None else None,
            changes=tuned.changes if tuned is not None else (),
            resources=dict(judgement.resources) if judgement is not None else {},
        )
