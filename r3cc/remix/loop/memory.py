"""What a log already knows, so that nothing is asked, built or measured twice.

The same thing continues a search that was interrupted (from its own log) and repeats one without a model (from a
transcript): requests are issued in the recorded order, each from the state that it was drawn from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from r3cc.errors import R3Error
from r3cc.remix.events import AnyEvent, Build, Failed, Learnt, Reply, Request, Source, Tuned, Verdict
from r3cc.remix.loop.cascade import LiveWorkshop, build_key
from r3cc.remix.model import Built, Rejection, SourceKernel, Variant
from r3cc.replay.events import Answer as Judged
from r3cc.replay.events import Final
from r3cc.replay.model import Candidate, Evaluation, TimingPlan

TUNE = "tune"
"""Stage of the tuner's evaluations."""


class Batch(msgspec.Struct, frozen=True):
    """Siblings as they were issued."""

    first: int
    seen: int
    proposer: str
    size: int


class Memory:
    """One kernel's part of a log."""

    def __init__(self, kernel: str, events: Iterable[AnyEvent]) -> None:
        self._builds: dict[bytes, Built | Rejection] = {}
        self._evaluations: dict[tuple[str, str], Evaluation] = {}
        self._said: dict[tuple[int, int, str], Reply | Failed] = {}
        self._answers: dict[tuple[int, int], Reply | Failed] = {}
        self._requests: dict[int, Request] = {}
        self._written: set[tuple[type, int, int]] = set()
        self.verdicts: set[int] = set()
        self.tuned: dict[int, Tuned] = {}
        self.trials: dict[int, list[Build | Judged]] = {}
        """What the tuner built and measured, by proposal."""
        self.finals: list[Final] = []
        for event in events:
            if getattr(event, "kernel", None) == kernel:
                self._take(event)

    def wrote(self, kind: type, n: int, round_: int = 0) -> bool:
        """Whether the log has an event of this kind for a proposal's round."""
        return (kind, n, round_) in self._written

    def _take(self, event: AnyEvent) -> None:
        if isinstance(event, Build | Judged) and _is_trial(event):
            self.trials.setdefault(event.n, []).append(event)
        if isinstance(event, Request | Build | Learnt):
            self._written.add((type(event), event.n, getattr(event, "round", 0)))
        match event:
            case Build(variant=variant, artefact=artefact, rejection=rejection):
                built = Built(variant, artefact) if variant is not None and artefact is not None else rejection
                if built is not None and (event.texts or variant is not None):
                    self._builds[build_key(event.texts, event.values)] = built
            case Judged(evaluation=evaluation):
                self._evaluations[event.stage, evaluation.candidate.id] = evaluation
            case Reply() | Failed():
                self._said[event.n, event.round, event.prompt] = event
                self._answers[event.n, event.round] = event
            case Request(round=0):
                self._requests[event.n] = event
            case Verdict():
                self.verdicts.add(event.n)
            case Tuned():
                self.tuned[event.n] = event
            case Final():
                self.finals.append(event)

    def batches(self, numbers: Iterable[int] | None = None) -> list[Batch]:
        """Batches in their order; those that hold one of ``numbers`` where these are given."""
        wanted = set(self._requests if numbers is None else numbers)
        by_batch: dict[int, list[Request]] = {}
        for _, request in sorted(self._requests.items()):
            by_batch.setdefault(request.batch, []).append(request)
        return [
            Batch(first, requests[0].seen, requests[0].proposer, len(requests))
            for first, requests in by_batch.items()
            if wanted & {request.n for request in requests}
        ]

    def open_requests(self) -> list[int]:
        """Requests that went out and have no verdict."""
        return [n for n in sorted(self._requests) if n not in self.verdicts]

    def said(self, n: int, round_: int, prompt: str) -> Reply | Failed | None:
        """What was said to this very prompt."""
        return self._said.get((n, round_, prompt))

    def answer(self, n: int, round_: int) -> Reply | Failed | None:
        """What was said in a proposal's round, whatever words asked for it: prompts change from version to version."""
        return self._answers.get((n, round_))

    def built(self, texts: Mapping[str, str], values: Mapping[str, str]) -> Built | Rejection | None:
        """What became of a rewrite."""
        return self._builds.get(build_key(texts, values))

    def evaluation(self, stage: str, candidate: Candidate) -> Evaluation | None:
        """What was measured of a candidate for a stage."""
        return self._evaluations.get((stage, candidate.id))


def _is_trial(event: Build | Judged) -> bool:
    return bool(event.values) if isinstance(event, Build) else event.stage == TUNE


def adopted(script: Sequence[AnyEvent], sources: Sequence[SourceKernel]) -> tuple[AnyEvent, ...]:
    """A transcript's events under the ids that its kernels have here: the same source may have been built elsewhere.

    Raises R3Error where none of ``sources`` is in the transcript, or one has another text there.
    """
    recorded = {event.source.name: event for event in script if isinstance(event, Source)}
    ids: dict[str, str] = {}
    for source in sources:
        if (known := recorded.get(source.name)) is None:
            continue
        if [(each.name, each.text) for each in known.source.regions] != [(r.name, r.text) for r in source.regions]:
            raise R3Error(f"the transcript is of another source of {source.name}: its search cannot be repeated here")
        ids[known.kernel] = source.kernel
    if not ids:
        raise R3Error("the transcript holds none of these kernels; name one of its kernels on the command line")
    found = []
    for event in script:
        kernel = getattr(event, "kernel", None)
        if kernel is None:
            found.append(event)
        elif kernel in ids:
            found.append(msgspec.structs.replace(event, kernel=ids[kernel]))
    return tuple(found)


class RememberingWorkshop:
    """Answers from memories, and asks the live workshop for the rest."""

    def __init__(self, memories: Sequence[Memory], live: LiveWorkshop) -> None:
        self._memories = memories
        self._live = live
        self._remembered: dict[str, tuple[Variant, Mapping[str, str]]] = {}
        """Rewrites that were not built here, by the id of their variant."""

    async def build(self, texts: Mapping[str, str], values: Mapping[str, str]) -> Built | Rejection:
        """What is known of a rewrite, else a new build."""
        for memory in self._memories:
            if (known := memory.built(texts, values)) is not None:
                if isinstance(known, Built):
                    self._remembered[known.variant.id] = known.variant, texts
                return known
        return await self._live.build(texts, values)

    async def evaluate(self, stage: str, candidate: Candidate, plan: TimingPlan) -> Evaluation:
        """What was measured, else a new measurement, of a variant that this store may not hold yet."""
        for memory in self._memories:
            if (known := memory.evaluation(stage, candidate)) is not None:
                return known
        if (rewrite := self._remembered.pop(candidate.variant or "", None)) is not None:
            await self._live.rebuild(*rewrite)
        return await self._live.evaluate(stage, candidate, plan)
