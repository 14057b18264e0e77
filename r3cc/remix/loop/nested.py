"""The tuner under the archive: structure comes from the proposers, numbers come from here.

First the parameters that a rewrite leaves open, one after another; then, with what is left of the elite's budget,
passes, code generation and block shapes, as ``r3 tune`` searches them.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from r3cc.errors import R3Error
from r3cc.remix.events import Build, Tuned
from r3cc.remix.loop.cascade import FULL, Judge, Note, Workshop, believed
from r3cc.remix.loop.journal import Journal
from r3cc.remix.loop.memory import TUNE
from r3cc.remix.model import Built, Rejection, SourceBuilder, Variant
from r3cc.replay.model import Candidate, Evaluation, Interval, Status, TimingPlan
from r3cc.tune.genotype import Genotype
from r3cc.tune.kernel_search import Asked, KernelSearch
from r3cc.tune.proposers import r3_proposer
from r3cc.tune.search import registers_of
from r3cc.tune.space import Space

WAVE = 3
"""Candidates under way together: fixed, so that a log gone through again asks for the same ones."""
Write = Callable[[int, str, Evaluation], None]


@dataclass
class Best:
    """The best so far."""

    candidate: Candidate
    ratio: Interval
    resources: Mapping[str, int]
    """Of the rewrite itself, with the values of its parameters."""
    changes: tuple[str, ...] = ()


class NestedTuner:
    """Tunes elites of one kernel."""

    def __init__(
        self,
        kernel: str,
        evaluations: int,
        builder: SourceBuilder,
        workshop: Workshop,
        judge: Judge,
        space_of: Callable[[Variant], Space],
        noise: float,
        seed: int,
        is_over: Callable[[], bool],
    ) -> None:
        """``evaluations`` is what one elite may cost; ``space_of`` raises R3Error where a variant has no space.

        Once ``is_over`` nothing more is tried: what was found so far counts.
        """
        self._kernel = kernel
        self._evaluations = evaluations
        self._builder = builder
        self._workshop = workshop
        self._judge = judge
        self._space_of = space_of
        self._noise = noise
        self._seed = seed
        self._is_over = is_over
        self._numbers = itertools.count()

    async def tune(
        self, n: int, texts: Mapping[str, str], variant: Variant, best: Best, journal: Journal, write: Write
    ) -> Tuned | None:
        """The best candidate on a rewrite, which is the best so far, with its event; None when the budget is 0."""
        if self._evaluations <= 0:
            return None

        def note(stage: str, evaluation: Evaluation) -> None:
            write(n, stage, evaluation)

        spent, variant = await self._tune_parameters(n, texts, variant, best, journal, note)
        spent += await self._tune_build(n, variant, best, self._evaluations - spent, note)
        return journal.add(
            Tuned,
            n=n,
            kernel=self._kernel,
            evaluations=spent,
            candidate=best.candidate,
            ratio=best.ratio,
            changes=best.changes,
        )

    async def _tune_parameters(
        self, n: int, texts: Mapping[str, str], variant: Variant, best: Best, journal: Journal, note: Note
    ) -> tuple[int, Variant]:
        """One parameter after another, the others at their best; evaluations spent, and the best variant.

        A value that does not compile counts, too: an answer may name hundreds.
        """
        values: dict[str, str] = {}
        spent = 0
        for parameter in await asyncio.to_thread(self._builder.parameters, texts):
            for value in parameter.values[1:]:
                if spent >= self._evaluations or self._is_over():
                    return spent, variant
                spent += 1
                tried = {**values, parameter.name: value}
                built = await self._judge.build(texts, tried)
                _write_build(journal, n, self._kernel, texts, tried, built)
                if isinstance(built, Rejection):
                    continue
                judgement = await self._judge.judge(built, note)
                if judgement.ratio is not None and self._is_better(judgement.ratio, best):
                    values, variant = tried, built.variant
                    best.candidate, best.ratio = Candidate(variant=variant.id), judgement.ratio
                    best.resources = judgement.resources
                    best.changes = tuple(f"{name}={chosen}" for name, chosen in sorted(values.items()))
        return spent, variant

    async def _tune_build(self, n: int, variant: Variant, best: Best, evaluations: int, note: Note) -> int:
        """Passes, code generation and block shapes; evaluations spent."""
        if evaluations <= 0:
            return 0
        try:
            space = await asyncio.to_thread(self._space_of, variant)
        except R3Error:
            return 0
        search = self._kernel_search(space, n, best)
        while search.evaluations < evaluations and not self._is_over() and await self._wave(search, variant, note):
            pass
        found = search.incumbents[-1] if search.incumbents else None
        if found is not None and found.evaluation.ratio is not None and self._is_better(found.evaluation.ratio, best):
            await self._accept(search, found.genotype, variant, best, note)
        return search.evaluations

    def _kernel_search(self, space: Space, n: int, best: Best) -> KernelSearch:
        itself = Evaluation(Candidate(), Status.OK, ratio=best.ratio, resources=dict(best.resources))
        proposer = r3_proposer(space, self._seed + n, WAVE, registers_of(itself))
        return KernelSearch(space, proposer, itself, self._noise)

    async def _wave(self, search: KernelSearch, variant: Variant, note: Note) -> bool:
        """Ask a few, evaluate them together, tell in their order; False when there is nothing left to ask."""
        asked: list[Asked] = []
        while len(asked) < WAVE:
            proposal = search.ask(next(self._numbers))
            if proposal is None:
                break
            if proposal.repeats is None:
                asked.append(proposal)
        candidates = [msgspec.structs.replace(each.candidate, variant=variant.id) for each in asked]
        evaluations = await asyncio.gather(
            *(self._workshop.evaluate(TUNE, candidate, TimingPlan()) for candidate in candidates)
        )
        for each, evaluation in zip(asked, evaluations, strict=True):
            note(TUNE, evaluation)
            search.tell(each.n, evaluation)
        return bool(asked)

    async def _accept(self, search: KernelSearch, genotype: Genotype, variant: Variant, best: Best, note: Note) -> None:
        """Measure the search's best as well as the rewrite itself was, and take it if it is still better."""
        candidate = msgspec.structs.replace(search.space.candidate(genotype), variant=variant.id)
        evaluation = await self._workshop.evaluate("full", candidate, FULL)
        note("full", evaluation)
        ratio = believed(evaluation)
        if ratio is not None and self._is_better(ratio, best):
            best.candidate, best.ratio = candidate, ratio
            best.changes = (*best.changes, *search.space.changes(genotype))

    def _is_better(self, ratio: Interval, best: Best) -> bool:
        return ratio.median < best.ratio.median * (1 - self._noise)


def _write_build(
    journal: Journal,
    n: int,
    kernel: str,
    texts: Mapping[str, str],
    values: Mapping[str, str],
    built: Built | Rejection,
) -> None:
    found = (
        {"rejection": built} if isinstance(built, Rejection) else {"variant": built.variant, "artefact": built.artefact}
    )
    journal.add(Build, n=n, kernel=kernel, round=0, texts=dict(texts), values=dict(values), **found)
