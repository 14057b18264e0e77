"""One proposal on its way: asked, read, built, judged, and sent back where it can be mended."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from functools import partial

from r3cc.remix.archive.sampling import REPAIR
from r3cc.remix.archive.state import SearchState
from r3cc.remix.choosing import Experience
from r3cc.remix.events import Build, Failed, Learnt, LoopSettings, Reply, Request
from r3cc.remix.loop.asking import Asker
from r3cc.remix.loop.cascade import duplicate
from r3cc.remix.loop.journal import Journal
from r3cc.remix.loop.memory import Memory
from r3cc.remix.loop.work import Outcome, Parts, Work
from r3cc.remix.model import Prompt, Rejection, Stage
from r3cc.remix.prompts.answers import Rewrite, parse_answer
from r3cc.remix.prompts.layout import shared_prefix
from r3cc.replay.events import Answer as Judged
from r3cc.replay.events import KernelPlan
from r3cc.replay.model import Evaluation

MENDABLE = (Stage.PARSE, Stage.REGIONS, Stage.COMPILE, Stage.ABI, Stage.RESOURCES, Stage.CORRECT)
WITHOUT_MODEL = "rules"
"""The proposer that does not read what went wrong."""


class Attempts:
    """Carries proposals of one kernel's search from a request to their outcome."""

    def __init__(
        self,
        plan: KernelPlan,
        settings: LoopSettings,
        noise: float,
        journal: Journal,
        own: Memory,
        state: SearchState,
        asker: Asker,
        parts: Parts,
        *,
        repeats: bool,
    ) -> None:
        """``repeats``: a transcript answers, so what it affords is not asked."""
        self._plan = plan
        self._settings = settings
        self._noise = noise
        self._journal = journal
        self._own = own
        self._state = state
        self._asker = asker
        self._source = parts.source
        self._layout = parts.layout
        self._judge = parts.judge
        self._policy = parts.policy
        self._watcher = parts.watcher
        self._repeats = repeats
        self._last_prompt: dict[str, str] = {}

    async def outcome(self, work: Work, leads: asyncio.Event | None) -> Outcome:
        """What a proposal comes to, repairs included; ``leads`` is set once the first answer is there."""
        prompt = work.prompt
        begun = time.monotonic()
        replies: list[Reply] = []
        outcome: Outcome | None = None
        lost_usd = 0.0
        for round_ in range(self._settings.repairs + 1):
            said = await self._asker.ask(work.n, round_, work.proposer, prompt)
            if leads is not None:
                leads.set()
            if isinstance(said, Failed):
                lost_usd += said.cost_usd
                outcome = outcome or Outcome(work, Rejection(Stage.PARSE, str(said.kind), said.message))
                break
            replies.append(said)
            outcome = await self._attempt(work, said, round_)
            if not self._can_mend(work, outcome, said, prompt, round_):
                break
            assert outcome.rejection is not None
            last = round_ + 1 == self._settings.repairs
            prompt = self._layout.repair(prompt, said.answer.text, outcome.rejection, last)
            self.write_request(work, prompt, round_ + 1)
        assert outcome is not None
        self._learn(outcome, replies, begun, lost_usd)
        return outcome

    def _can_mend(self, work: Work, outcome: Outcome, said: Reply, prompt: Prompt, round_: int) -> bool:
        rejection = outcome.rejection
        if rejection is None or rejection.stage not in MENDABLE or round_ >= self._settings.repairs:
            return False
        if work.proposer == WITHOUT_MODEL or said.answer.stop == "refusal":
            return False
        return self._repeats or (self._asker.fits(work.proposer, prompt) and not self._asker.time_is_over)

    async def _attempt(self, work: Work, said: Reply, round_: int) -> Outcome:
        """What one answer comes to."""
        rewrite = _read(said, work.prompt.parent)
        common = {"n": work.n, "kernel": self._plan.kernel, "round": round_}
        if isinstance(rewrite, Rejection):
            if not self._own.wrote(Build, work.n, round_):
                self._journal.add(Build, **common, rejection=rewrite)
            return Outcome(work, rewrite)
        original = {region.name: region.text for region in self._source.regions}
        texts = {name: text for name, text in rewrite.texts.items() if text != original[name]}
        built = await self._judge.build(texts, {})
        found = (
            {"rejection": built}
            if isinstance(built, Rejection)
            else {"variant": built.variant, "artefact": built.artefact}
        )
        if not self._own.wrote(Build, work.n, round_):
            self._journal.add(Build, **common, strategy=rewrite.strategy, texts=texts, **found)
        if isinstance(built, Rejection):
            return Outcome(work, built, rewrite, texts)
        if (known := duplicate(built.variant, self._state, work.after)) is not None:
            return Outcome(work, known, rewrite, texts, built)
        judgement = await self._judge.judge(built, partial(self.write_evaluation, work.n))
        return Outcome(work, judgement.rejection, rewrite, texts, built, judgement)

    def write_evaluation(self, n: int, stage: str, evaluation: Evaluation) -> None:
        """An evaluation came back, or was known."""
        if self._own.evaluation(stage, evaluation.candidate) is None:
            ratio = evaluation.ratio
            loss = math.log(ratio.median) if ratio is not None and ratio.median > 0 else 0.0
            self._journal.add(Judged, n=n, kernel=self._plan.kernel, evaluation=evaluation, loss=loss, stage=stage)
        self._watcher.evaluated(self._plan, evaluation, self._state.best_ratio)

    def _learn(self, outcome: Outcome, replies: Sequence[Reply], begun: float, lost_usd: float) -> None:
        """Tell the policy what asking came to."""
        work, gain = outcome.work, 0.0
        if self._own.wrote(Learnt, work.n):
            return
        if outcome.judgement is not None and outcome.judgement.ratio is not None:
            gain = max(0.0, math.log(work.parent_ratio / outcome.judgement.ratio.median) - self._noise)
        answers = [reply.answer for reply in replies]
        usage = [answer.usage for answer in answers]
        total = sum(each.uncached + each.cache_read + each.cache_write for each in usage)
        experience = Experience(
            proposer=work.proposer,
            operator=work.operator,
            gain=gain,
            seconds=sum(answer.total_s for answer in answers) or time.monotonic() - begun,
            first_token_s=answers[0].first_token_s if answers else 0.0,
            output_tokens=sum(each.output for each in usage),
            cached=sum(each.cache_read for each in usage) / total if total else 0.0,
            cost_usd=lost_usd + sum(answer.cost_usd for answer in answers),
            applied=outcome.built is not None,
        )
        self._journal.add(Learnt, n=work.n, kernel=self._plan.kernel, experience=experience)
        self._policy.learn(experience)

    def write_request(self, work: Work, prompt: Prompt, round_: int) -> None:
        """A prompt goes out."""
        if self._own.wrote(Request, work.n, round_):
            return
        previous = self._last_prompt.get(work.proposer, "")
        self._last_prompt[work.proposer] = prompt.text
        self._asker.prepare(prompt)
        self._journal.add(
            Request,
            n=work.n,
            kernel=self._plan.kernel,
            round=round_,
            batch=work.batch,
            seen=work.seen,
            island=work.island,
            parent=work.parent,
            operator=work.operator if round_ == 0 else REPAIR,
            proposer=work.proposer,
            prompt=prompt.id,
            blocks=self._journal.blocks(prompt),
            breakpoints=tuple(at for at, block in enumerate(prompt.blocks) if block.cached),
            shared=round(shared_prefix(previous, prompt.text), 4),
        )


def _read(said: Reply, parent: Mapping[str, str]) -> Rewrite | Rejection:
    """The rewrite in an answer."""
    if said.answer.stop == "refusal":
        return Rejection(Stage.PARSE, "refused", "The model refused.")
    rewrite = parse_answer(said.answer.text, parent)
    if isinstance(rewrite, Rejection) and said.answer.stop == "length":
        return Rejection(
            Stage.PARSE, "cut_off", "The answer was cut off at its longest. Answer more briefly, or with patches."
        )
    return rewrite
