"""The search over one kernel: many proposals under way, verdicts in the order of the proposals.

What a request asks depends on the verdicts before it, the seed and its number; what a rewrite is worth depends on its
text. So nothing depends on which answer comes first, and a log can be gone through again to the same end.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from r3cc.remix import sampling
from r3cc.remix.answers import Rewrite, parse_answer
from r3cc.remix.budget import UNCAPPED, Budget, Caps, worst_of
from r3cc.remix.cascade import Built, Judge, Judgement, duplicate
from r3cc.remix.choosing import Experience, Policy, Situation
from r3cc.remix.events import (
    AnyEvent,
    Build,
    Decision,
    Failed,
    Learnt,
    LoopSettings,
    Reply,
    Request,
    Tuned,
    Verdict,
)
from r3cc.remix.journal import Journal
from r3cc.remix.layout import Layout, shared_prefix
from r3cc.remix.memory import Batch, Memory
from r3cc.remix.model import (
    FailureKind,
    Prompt,
    Proposer,
    ProposerError,
    Rejection,
    SourceKernel,
    Stage,
)
from r3cc.remix.nested import NestedTuner
from r3cc.remix.state import SearchState, fold
from r3cc.remix.waiting import Signal
from r3cc.remix.watching import Watcher
from r3cc.replay.events import Answer as Judged
from r3cc.replay.events import Incumbent, KernelPlan
from r3cc.replay.model import Candidate, Evaluation

HOPELESS_PROPOSERS = (FailureKind.BAD_REQUEST, FailureKind.EXHAUSTED)
"""Failures after which a proposer is not asked again in this session."""
FAILURES_IN_A_ROW = 20
"""Requests without an answer, one after another, that end a search."""
PATIENCE = 80
"""Verdicts without an improvement that make a plateau."""
MENDABLE = (Stage.PARSE, Stage.REGIONS, Stage.COMPILE, Stage.ABI, Stage.RESOURCES, Stage.CORRECT)
WORTH_TUNING = 1.25
"""Times the best elite's time above which the tuner leaves a new elite alone."""
GRACE_S = 30.0
"""How long after the end of the search's time an answer is still waited for."""
LEAD_S = 3.0
"""How long siblings wait for the first one of a batch, whose prompt fills the provider's cache."""
WITHOUT_MODEL = "rules"
"""The proposer that does not read what went wrong."""
OPERATOR_OF_REPAIRS = sampling.REPAIR


@dataclass(frozen=True)
class Limits:
    """Where a kernel's search stops asking; None for no limit."""

    proposals: int | None = None
    """Of this kernel, over all sessions."""
    deadline: float | None = None
    """time.monotonic()."""
    caps: Caps = UNCAPPED
    """Of the whole search."""
    concurrency: int = 4
    """Requests under way at a time."""
    answer_deadline_s: float = 600.0


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


class KernelRun:
    """Asks, judges and commits until a limit is reached."""

    def __init__(
        self,
        plan: KernelPlan,
        settings: LoopSettings,
        seed: int,
        noise: float,
        journal: Journal,
        parts: Parts,
        limits: Limits,
        script: Memory | None = None,
    ) -> None:
        """``script`` is a transcript to go through instead of asking anew."""
        self._plan = plan
        self._settings = settings
        self._seed = seed
        self._noise = noise
        self._journal = journal
        self._parts = parts
        self.limits = limits
        self._script = script
        self._own = Memory(plan.kernel, journal.earlier)
        self._earlier: Sequence[AnyEvent] = journal.earlier
        self.state = fold(plan.kernel, settings, journal.events)
        self._signal = Signal()
        self._issued = len(self._own.verdicts)
        self._order: deque[int] = deque()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._finished: dict[int, Outcome] = {}
        self._error: BaseException | None = None
        self._ceiling: int | None = None
        """Verdicts that may be committed before the next scripted batch is drawn; None without a script."""
        self._asking: Counter[str] = Counter()
        self._budget = Budget(limits.caps, lambda: self._journal.spent)
        self._gone: set[str] = set()
        self._failures_in_a_row = 0
        self._last_prompt: dict[str, str] = {}
        self._latest: Prompt | None = None

    async def until_stopped(self) -> str:
        """Run to a limit; which one it was."""
        committer = asyncio.create_task(self._commit_in_order())
        try:
            await self._go_on()
            reason = await (self._follow(self._script) if self._script is not None else self._ask_until_stopped())
            await self._until(lambda: not self._order)
            return reason
        finally:
            committer.cancel()
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(committer, *self._tasks.values(), return_exceptions=True)

    # -- asking ----------------------------------------------------------------------------------------------------

    async def _go_on(self) -> None:
        """Take up what an interrupted session left under way, from the states that it was drawn from."""
        for batch in self._own.batches(self._own.open_requests()):
            self._start(batch, self._state_at(batch.seen))

    def _state_at(self, seen: int) -> SearchState:
        events: list[AnyEvent] = []
        verdicts = 0
        for event in self._earlier:
            mine = isinstance(event, Verdict) and event.kernel == self._plan.kernel
            if mine and verdicts == seen:
                break
            verdicts += mine
            events.append(event)
        return fold(self._plan.kernel, self._settings, events)

    async def _follow(self, script: Memory) -> str:
        """Issue a transcript's batches, each when as many verdicts are there as it was drawn from."""
        batches = script.batches()
        self._ceiling = batches[0].seen if batches else None
        for position, batch in enumerate(batches):
            await self._until(lambda seen=batch.seen: self.state.verdicts >= seen)  # type: ignore[misc]
            self._start(batch, self.state)
            self._ceiling = batches[position + 1].seen if position + 1 < len(batches) else None
            self._signal.fire()
        return "exhausted"

    async def _ask_until_stopped(self) -> str:
        while True:
            await self._until(lambda: self._stop_reason() is not None or self._has_room())
            if (reason := self._stop_reason()) is not None:
                return reason
            self._ask_a_batch()

    def _stop_reason(self) -> str | None:
        if self.limits.proposals is not None and self._issued >= self.limits.proposals:
            return "budget"
        if self.limits.deadline is not None and time.monotonic() >= self.limits.deadline:
            return "time"
        if self._budget.spent_up():
            return "cost"
        if not self._able():
            return "exhausted"
        if not self._tasks and not self._affordable_names():
            return "cost"
        if self._failures_in_a_row >= FAILURES_IN_A_ROW:
            return "failures"
        return "plateau" if self.state.verdicts - self.state.last_gain >= PATIENCE else None

    def _able(self) -> tuple[str, ...]:
        return tuple(name for name in self._parts.proposers if name not in self._gone)

    def _affordable_names(self) -> tuple[str, ...]:
        """Who could answer a batch within what is left, at worst; the last prompt stands for the next."""
        prompt = self._latest
        if prompt is None:
            return self._able()
        worst = {name: worst_of(self._parts.proposers[name], prompt) for name in self._able()}
        return tuple(name for name, each in worst.items() if self._budget.fits(each * self._batch_size()))

    def _has_room(self) -> bool:
        """Requests and answers that wait are bounded: nobody proposes from a state that is long out of date."""
        if not self._affordable_names():
            return False
        waiting = len(self._order)
        size = self._batch_size()
        return len(self._tasks) + size <= max(self.limits.concurrency, size) and waiting + size <= max(
            3 * self.limits.concurrency, size
        )

    def _batch_size(self) -> int:
        if self.limits.proposals is None:
            return self._settings.siblings
        return max(1, min(self._settings.siblings, self.limits.proposals - self._issued))

    def _ask_a_batch(self) -> None:
        n, size = self._journal.next, self._batch_size()
        drawn = sampling.draw(self.state, self._seed, n, size)
        prompt = self._parts.layout.prompt(self.state, drawn, drawn.siblings[0], n)
        operators = tuple(sibling.operator for sibling in drawn.siblings)
        situation = Situation(
            n=n,
            proposers=self._affordable_names(),
            operators=operators,
            in_flight=dict(self._asking),
            evaluations=len(self._tasks) - self._asking.total(),
            width=self.limits.concurrency,
            stagnation=self.state.verdicts - self.state.last_gain,
            prompt_characters=len(prompt.text),
        )
        choice = self._parts.policy.choose(situation)
        self._journal.add(
            Decision,
            n=n,
            kernel=self._plan.kernel,
            policy=self._parts.policy.name,
            proposer=choice.proposer,
            operator=operators[0],
            inputs=choice.inputs,
        )
        self._start(Batch(n, self.state.verdicts, choice.proposer, size), self.state)

    def _start(self, batch: Batch, state: SearchState) -> None:
        """Write a batch's requests down and set them going; those that have a verdict already stay as they are."""
        drawn = sampling.draw(state, self._seed, batch.first, batch.size)
        lead: asyncio.Event | None = None
        for position, sibling in enumerate(drawn.siblings):
            n = batch.first + position
            work = Work(
                n=n,
                batch=batch.first,
                seen=batch.seen,
                island=drawn.island,
                parent=drawn.parent.n if drawn.parent is not None else None,
                parent_ratio=drawn.parent.ratio.median if drawn.parent is not None else 1.0,
                operator=sibling.operator,
                proposer=batch.proposer,
                prompt=self._parts.layout.prompt(state, drawn, sibling, n),
            )
            if n in self._own.verdicts:
                continue
            self._write_request(work, work.prompt, 0)
            self._order.append(n)
            self._issued += 1
            led, lead = lead, lead or asyncio.Event()
            self._tasks[n] = asyncio.create_task(self._carry(work, led, lead if led is None else None))

    def _write_request(self, work: Work, prompt: Prompt, round_: int) -> None:
        if self._own.wrote(Request, work.n, round_):
            return
        previous = self._last_prompt.get(work.proposer, "")
        self._last_prompt[work.proposer], self._latest = prompt.text, prompt
        self._journal.add(
            Request,
            n=work.n,
            kernel=self._plan.kernel,
            round=round_,
            batch=work.batch,
            seen=work.seen,
            island=work.island,
            parent=work.parent,
            operator=work.operator if round_ == 0 else OPERATOR_OF_REPAIRS,
            proposer=work.proposer,
            prompt=prompt.id,
            blocks=self._journal.blocks(prompt),
            breakpoints=tuple(at for at, block in enumerate(prompt.blocks) if block.cached),
            shared=round(shared_prefix(previous, prompt.text), 4),
        )

    # -- one proposal ----------------------------------------------------------------------------------------------

    async def _carry(self, work: Work, led: asyncio.Event | None, leads: asyncio.Event | None) -> None:
        """From a request to its outcome. The first of a batch lets the others go once it was answered."""
        try:
            if led is not None and self._proposer(work).destination is not None:
                await _at_most(led.wait(), LEAD_S)
            self._finished[work.n] = await self._outcome(work, leads)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._error = self._error or error
        finally:
            if leads is not None:
                leads.set()
            self._tasks.pop(work.n, None)
            self._signal.fire()

    def _proposer(self, work: Work) -> Proposer:
        """Who is asked; a transcript answers for everyone."""
        return self._parts.proposers.get(work.proposer) or next(iter(self._parts.proposers.values()))

    async def _outcome(self, work: Work, leads: asyncio.Event | None) -> Outcome:
        prompt = work.prompt
        begun = time.monotonic()
        replies: list[Reply] = []
        outcome: Outcome | None = None
        lost_usd = 0.0
        for round_ in range(self._settings.repairs + 1):
            said = await self._ask(work, prompt, round_)
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
            prompt = self._parts.layout.repair(prompt, said.answer.text, outcome.rejection, last)
            self._write_request(work, prompt, round_ + 1)
        assert outcome is not None
        self._learn(outcome, replies, begun, lost_usd)
        return outcome

    def _can_mend(self, work: Work, outcome: Outcome, said: Reply, prompt: Prompt, round_: int) -> bool:
        rejection = outcome.rejection
        if rejection is None or rejection.stage not in MENDABLE or round_ >= self._settings.repairs:
            return False
        if work.proposer == WITHOUT_MODEL or said.answer.stop == "refusal":
            return False
        return self._script is not None or self._affordable(work, prompt)

    def _affordable(self, work: Work, prompt: Prompt) -> bool:
        return self._budget.fits(worst_of(self._proposer(work), prompt))

    async def _ask(self, work: Work, prompt: Prompt, round_: int) -> Reply | Failed:
        """The answer to a prompt: what the log has, or what the proposer says. It never raises."""
        known = self._own.said(work.n, round_, prompt.id)
        if known is not None:
            return known
        common = {
            "n": work.n,
            "kernel": self._plan.kernel,
            "round": round_,
            "proposer": work.proposer,
            "prompt": prompt.id,
        }
        if not self._affordable(work, prompt):
            message = "what it could cost is more than is left of --max-cost or --max-tokens"
            return self._journal.add(Failed, **common, kind=FailureKind.EXHAUSTED, message=message)
        proposer = self._proposer(work)
        self._asking[work.proposer] += 1
        try:
            with self._budget.reserved(worst_of(proposer, prompt)):
                answer = await proposer.propose(prompt, self._answer_deadline_s())
        except ProposerError as error:
            self._failed(work, error.kind)
            return self._journal.add(Failed, **common, kind=error.kind, message=str(error), cost_usd=error.cost_usd)
        except Exception as error:
            self._failed(work, FailureKind.INVALID)
            message = f"the proposer broke: {type(error).__name__}"
            return self._journal.add(Failed, **common, kind=FailureKind.INVALID, message=message)
        finally:
            self._asking[work.proposer] -= 1
        self._failures_in_a_row = 0
        return self._journal.add(Reply, **common, answer=answer)

    def _answer_deadline_s(self) -> float:
        """An answer may come a little after the search's time is over."""
        if self.limits.deadline is None:
            return self.limits.answer_deadline_s
        left = max(0.0, self.limits.deadline - time.monotonic())
        return min(self.limits.answer_deadline_s, left + GRACE_S)

    def _failed(self, work: Work, kind: FailureKind) -> None:
        self._failures_in_a_row += 1
        if kind in HOPELESS_PROPOSERS:
            self._gone.add(work.proposer)

    async def _attempt(self, work: Work, said: Reply, round_: int) -> Outcome:
        """What one answer comes to."""
        rewrite = _read(said, work.prompt.parent)
        common = {"n": work.n, "kernel": self._plan.kernel, "round": round_}
        if isinstance(rewrite, Rejection):
            if not self._own.wrote(Build, work.n, round_):
                self._journal.add(Build, **common, rejection=rewrite)
            return Outcome(work, rewrite)
        original = {region.name: region.text for region in self._parts.source.regions}
        texts = {name: text for name, text in rewrite.texts.items() if text != original[name]}
        built = await self._parts.judge.build(texts, {})
        found = (
            {"rejection": built}
            if isinstance(built, Rejection)
            else {"variant": built.variant, "artefact": built.artefact}
        )
        if not self._own.wrote(Build, work.n, round_):
            self._journal.add(Build, **common, strategy=rewrite.strategy, texts=texts, **found)
        if isinstance(built, Rejection):
            return Outcome(work, built, rewrite, texts)
        if (known := duplicate(built.variant, self.state.by_source, self.state.by_ir)) is not None:
            return Outcome(work, known, rewrite, texts, built)

        judgement = await self._parts.judge.judge(built, partial(self._write_evaluation, work.n))
        return Outcome(work, judgement.rejection, rewrite, texts, built, judgement)

    def _write_evaluation(self, n: int, stage: str, evaluation: Evaluation) -> None:
        ratio = evaluation.ratio
        loss = math.log(ratio.median) if ratio is not None and ratio.median > 0 else 0.0
        self._journal.add(Judged, n=n, kernel=self._plan.kernel, evaluation=evaluation, loss=loss, stage=stage)
        self._parts.watcher.evaluated(self._plan, evaluation, self.state.best_ratio)

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
        self._parts.policy.learn(experience)

    # -- verdicts --------------------------------------------------------------------------------------------------

    async def _commit_in_order(self) -> None:
        try:
            while True:
                await self._signal.until(self._can_commit)
                await self._commit(self._finished.pop(self._order[0]))
                self._order.popleft()
                self._signal.fire()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._error = self._error or error
            self._signal.fire()

    def _can_commit(self) -> bool:
        if not self._order or self._order[0] not in self._finished:
            return False
        return self._ceiling is None or self.state.verdicts < self._ceiling

    async def _commit(self, outcome: Outcome) -> None:
        """Compare with the proposals before it, tune what enters the archive, and write the verdict."""
        work, judgement, built = outcome.work, outcome.judgement, outcome.built
        rejection = outcome.rejection
        if built is not None:
            rejection = duplicate(built.variant, self.state.by_source, self.state.by_ir) or rejection
        tuned: Tuned | None = None
        if rejection is None and built is not None and judgement is not None and self._would_enter(work, judgement):
            judgement = await self._parts.judge.confirm(built, judgement, partial(self._write_evaluation, work.n))
            outcome, rejection = replace(outcome, judgement=judgement), judgement.rejection
            if rejection is None and self._would_enter(work, judgement):
                tuned = await self._tuned(outcome, built, judgement)
        verdict = self._verdict(outcome, rejection, tuned)
        best = self.state.best_ratio
        self._journal.append(verdict)
        self.state.apply(verdict)
        while (migration := self.state.due_migration(time.time())) is not None:
            self._journal.append(migration)
            self.state.apply(migration)
        if self.state.best_ratio < best:
            self._journal.add(Incumbent, n=work.n, kernel=self._plan.kernel, ratio=self.state.best_ratio)
        self._parts.watcher.judged(self._plan, verdict, self.state.best_ratio)

    def _would_enter(self, work: Work, judgement: Judgement) -> bool:
        if judgement.features is None or judgement.ratio is None:
            return False
        return self.state.archive.would_add(work.island, judgement.features, judgement.ratio)

    async def _tuned(self, outcome: Outcome, built: Built, judgement: Judgement) -> Tuned | None:
        """What the tuner makes of a rewrite that is not far behind the best."""
        n, ratio = outcome.work.n, judgement.ratio
        for memory in filter(None, (self._own, self._script)):
            if n in memory.tuned:
                return self._journal.append(memory.tuned[n])
        if self._script is not None or ratio is None or ratio.median > WORTH_TUNING * self.state.best_ratio:
            return None
        return await self._parts.tuner.tune(n, outcome.texts, built, ratio, self._journal, self._write_evaluation)

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

    async def _until(self, condition: Callable[[], bool]) -> None:
        """Wait, and raise what went wrong meanwhile; wakes by itself at the deadline."""

        def holds() -> bool:
            return self._error is not None or condition()

        while not holds():
            deadline = self.limits.deadline
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if left is None or left == 0.0:
                await self._signal.until(holds)
            else:
                await _at_most(self._signal.until(holds), left)
        if self._error is not None:
            raise self._error


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


async def _at_most(waited: Coroutine[object, object, object], seconds: float) -> None:
    """Wait for something, but not longer than this."""
    try:
        async with asyncio.timeout(seconds):
            await waited
    except TimeoutError:
        return
