"""The search over one kernel: many proposals under way, verdicts in the order of the proposals.

What a request asks depends on the verdicts before it, the seed and its number; what a rewrite is worth depends on its
text. So nothing depends on which answer comes first, and a log can be gone through again to the same end.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Sequence

from r3cc.remix.archive import sampling
from r3cc.remix.archive.state import SearchState, fold
from r3cc.remix.choosing import Situation
from r3cc.remix.events import (
    AnyEvent,
    Decision,
    LoopSettings,
    Verdict,
)
from r3cc.remix.loop.asking import Asker, Limits
from r3cc.remix.loop.attempts import Attempts
from r3cc.remix.loop.committing import Committer
from r3cc.remix.loop.journal import Journal
from r3cc.remix.loop.memory import Batch, Memory
from r3cc.remix.loop.waiting import Signal
from r3cc.remix.loop.work import Outcome, Parts, Work
from r3cc.replay.events import KernelPlan

WAITING = 3
"""Proposals that may wait for their verdict, in multiples of the requests under way."""
PATIENCE = 80
"""Verdicts without an improvement that make a plateau."""
LEAD_S = 3.0
"""How long siblings wait for the first one of a batch, whose prompt fills the provider's cache."""


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
        self._asker = Asker(plan.kernel, journal, self._own, script, parts.proposers, limits)
        repeats = script is not None
        self._attempts = Attempts(
            plan, settings, noise, journal, self._own, self.state, self._asker, parts, repeats=repeats
        )
        self._committer = Committer(plan, journal, self._own, script, self.state, parts, self._attempts, limits)

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
        if self.limits.time_is_over:
            return "time"
        if (reason := self._asker.stop_reason()) is not None:
            return reason
        if not self._tasks and not self._asker.affordable(self._batch_size()):
            return "cost"
        return "plateau" if self.state.verdicts - self.state.last_gain >= PATIENCE else None

    def _has_room(self) -> bool:
        """Requests and answers that wait are bounded: nobody proposes from a state that is long out of date."""
        size, most = self._batch_size(), self.limits.concurrency
        busy = len(self._tasks) + size > max(most, size) or len(self._order) + size > max(WAITING * most, size)
        return not busy and bool(self._asker.affordable(size))

    def _batch_size(self) -> int:
        if self.limits.proposals is None:
            return self._settings.siblings
        return max(1, min(self._settings.siblings, self.limits.proposals - self._issued))

    def _ask_a_batch(self) -> None:
        n, size = self._journal.next, self._batch_size()
        drawn = sampling.draw(self.state, self._seed, n, size)
        operators = tuple(sibling.operator for sibling in drawn.siblings)
        under_way = self._asker.under_way
        situation = Situation(
            n=n,
            proposers=self._asker.affordable(size),
            operators=operators,
            in_flight=under_way,
            evaluations=len(self._tasks) - sum(under_way.values()),
            width=self.limits.concurrency,
            stagnation=self.state.verdicts - self.state.last_gain,
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
                after=state.latest,
                island=drawn.island,
                parent=drawn.parent.n if drawn.parent is not None else None,
                parent_ratio=drawn.parent.ratio.median if drawn.parent is not None else 1.0,
                operator=sibling.operator,
                proposer=batch.proposer,
                prompt=self._parts.layout.prompt(state, drawn, sibling, n),
            )
            if n in self._own.verdicts:
                continue
            self._attempts.write_request(work, work.prompt, 0)
            self._order.append(n)
            self._issued += 1
            led, lead = lead, lead or asyncio.Event()
            self._tasks[n] = asyncio.create_task(self._carry(work, led, lead if led is None else None))

    # -- one proposal ----------------------------------------------------------------------------------------------

    async def _carry(self, work: Work, led: asyncio.Event | None, leads: asyncio.Event | None) -> None:
        """From a request to its outcome. The first of a batch lets the others go once it was answered."""
        try:
            if led is not None and self._asker.proposer(work.proposer).destination is not None:
                await _at_most(led.wait(), LEAD_S)
            self._finished[work.n] = await self._attempts.outcome(work, leads)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._error = self._error or error
        finally:
            if leads is not None:
                leads.set()
            self._tasks.pop(work.n, None)
            self._signal.fire()

    # -- verdicts --------------------------------------------------------------------------------------------------

    async def _commit_in_order(self) -> None:
        try:
            while True:
                await self._signal.until(self._can_commit)
                await self._committer.commit(self._finished.pop(self._order[0]))
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


async def _at_most(waited: Coroutine[object, object, object], seconds: float) -> None:
    """Wait for something, but not longer than this."""
    try:
        async with asyncio.timeout(seconds):
            await waited
    except TimeoutError:
        return
