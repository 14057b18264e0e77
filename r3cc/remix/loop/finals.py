"""The winner of a kernel's search, measured again in fresh processes as ``r3 tune`` does it (``r3cc.tune.finals``)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing

import msgspec

from r3cc.remix.archive.archive import Elite
from r3cc.remix.archive.state import SearchState
from r3cc.remix.loop.cascade import believed
from r3cc.remix.loop.memory import Memory
from r3cc.remix.model import SourceKernel
from r3cc.replay.events import Final, KernelPlan, RegionChange, Result
from r3cc.replay.model import Candidate, Evaluation, TimingPlan
from r3cc.tune.finals import (
    FINALISTS,
    PROCESSES,
    combined,
    in_fresh_processes,
    no_improvement,
    prepare,
    rounds_in,
    simplest_first,
    verdict,
)
from r3cc.tune.opened import FreshEvaluators, OpenEvaluator

Emit = Callable[[Final], object]


class Winner(msgspec.Struct, frozen=True):
    """A rewrite's source as it goes back to the user: parameters replaced by their values."""

    texts: Mapping[str, str]
    parameters: dict[str, str]


class Finals:
    """Measures finalists; what a transcript has measured is taken from there."""

    def __init__(
        self,
        plan: KernelPlan,
        open_: OpenEvaluator,
        emit: Emit,
        begin: Callable[[int], object],
        script: Memory | None,
        noise: float,
    ) -> None:
        """``begin`` hears how many finalists there are."""
        self._plan = plan
        self._open = open_
        self._emit = emit
        self._begin = begin
        self._script = script
        self._noise = noise

    async def decide(
        self, state: SearchState, baseline: Evaluation, source: SourceKernel, winner_of: Callable[[Elite], Winner]
    ) -> Result:
        """The verdict on the archive's best; ``winner_of`` gives an elite's source."""
        chosen = finalists(state)
        if not chosen:
            return no_improvement(self._plan, baseline, "no rewrite was faster in the search")
        self._begin(len(chosen))
        with FreshEvaluators(self._open) as fresh:  # closed from here when interrupted: threads end by that
            rounds = rounds_in(baseline.l2)
            _, measured = await self._measure(1, rounds, chosen, fresh)
            for elite in self._ranked(chosen, measured):
                against_itself, (second,) = await self._measure(2, rounds, [elite], fresh)
                if believed(second) is not None:
                    return self._verdict(elite, second, against_itself, source, winner_of(elite))
        return no_improvement(self._plan, baseline, "no finalist passed again in fresh processes")

    def _ranked(self, chosen: Sequence[Elite], measured: Sequence[Evaluation]) -> list[Elite]:
        """Valid finalists, the fastest first; but before all the one that changes least among those as fast."""
        valid = [
            (elite, ratio)
            for elite, evaluation in zip(chosen, measured, strict=True)
            if (ratio := believed(evaluation)) is not None
        ]
        valid.sort(key=lambda pair: (pair[1].median, pair[0].n))
        return simplest_first(valid, self._noise, _size)

    async def _measure(
        self, number: int, rounds: Sequence[TimingPlan], chosen: Sequence[Elite], fresh: FreshEvaluators
    ) -> tuple[Evaluation, list[Evaluation]]:
        known = self._recorded(number, chosen)
        numbers = (None, *(elite.n for elite in chosen))
        candidates = (Candidate(), *(elite.candidate for elite in chosen))
        processes: list[list[Evaluation]] = []
        async with aclosing(self._in_processes(number, rounds[number - 1], candidates, known, fresh)) as measured:
            async for evaluations in measured:
                for n, evaluation in zip(numbers, evaluations, strict=True):
                    self._emit(
                        Final(at=time.time(), kernel=self._plan.kernel, n=n, round=number, evaluation=evaluation)
                    )
                processes.append(evaluations)
        together = [combined(evaluations) for evaluations in zip(*processes, strict=True)]
        return together[0], together[1:]

    async def _in_processes(
        self,
        number: int,
        timing: TimingPlan,
        candidates: Sequence[Candidate],
        known: Sequence[list[Evaluation]],
        fresh: FreshEvaluators,
    ) -> AsyncGenerator[list[Evaluation], None]:
        """Evaluations of a round, process by process. Rewrites meet perturbed inputs in both rounds."""
        for evaluations in known:
            yield evaluations
        if known:
            return
        plan = msgspec.structs.replace(timing, perturbed=True)
        if number == 1:
            await asyncio.to_thread(prepare, fresh, len(candidates) - 1)
        measured = in_fresh_processes(number, plan, candidates, fresh)
        while evaluations := await asyncio.to_thread(next, measured, []):
            yield evaluations

    def _recorded(self, number: int, chosen: Sequence[Elite]) -> list[list[Evaluation]]:
        """A transcript's evaluations of these finalists, by process; empty when one is missing.

        The last ones: those before them are of finals that were interrupted.
        """
        if self._script is None:
            return []
        columns = []
        for n, candidate in ((None, Candidate()), *((elite.n, elite.candidate) for elite in chosen)):
            found = [
                final.evaluation
                for final in self._script.finals
                if final.round == number and final.n == n and final.evaluation.candidate == candidate
            ]
            columns.append(found[-PROCESSES[number - 1] :])
        if any(len(column) < PROCESSES[number - 1] for column in columns):
            return []
        return [list(row) for row in zip(*columns, strict=True)]

    def _verdict(
        self, elite: Elite, evaluation: Evaluation, against_itself: Evaluation, source: SourceKernel, winner: Winner
    ) -> Result:
        said = (elite.strategy or "a rewrite of the source", *elite.changes)
        result = verdict(self._plan, elite.n, elite.candidate, said, evaluation, against_itself)
        if result.n is None:
            return result
        regions = changes(source, winner.texts)
        return msgspec.structs.replace(result, strategy=elite.strategy, regions=regions, parameters=winner.parameters)


def finalists(state: SearchState) -> list[Elite]:
    """The fastest few elites, each code once, that seemed faster than the baseline."""
    distinct: dict[str, Elite] = {}
    for elite in sorted(state.archive, key=lambda elite: (elite.ratio.median, elite.n)):
        if elite.ratio.median < 1:
            distinct.setdefault(elite.candidate.id, elite)
    return [*distinct.values()][:FINALISTS]


def changes(source: SourceKernel, texts: Mapping[str, str]) -> tuple[RegionChange, ...]:
    """A winner's regions beside the original's."""
    return tuple(
        RegionChange(region.name, region.path, region.begin, region.end, region.text, texts[region.name])
        for region in source.regions
        if texts.get(region.name, region.text) != region.text
    )


def _size(elite: Elite) -> tuple[int, int, int]:
    return len(elite.changes), sum(map(len, elite.texts.values())), elite.n
