"""One ``r3 remix``: the search that it begins, goes on with or repeats, from the store to the results."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

import r3cc
from r3cc.errors import R3Error
from r3cc.farm.executors import Workers
from r3cc.remix.archive import features, sampling
from r3cc.remix.archive.state import SearchState
from r3cc.remix.choosing import Policy
from r3cc.remix.events import (
    OPTIMIZER,
    AnyEvent,
    LoopSettings,
    Setup,
    Source,
    read_transcript,
)
from r3cc.remix.loop.journal import Journal
from r3cc.remix.loop.memory import adopted
from r3cc.remix.model import Prompt, Proposer, Rejection
from r3cc.remix.planning import Planner, Unusable
from r3cc.remix.prompts.layout import Layout
from r3cc.remix.proposers.opening import used_prices
from r3cc.remix.search import Allowed, Company, Remixer, Target
from r3cc.remix.watching import Watcher
from r3cc.replay.events import VERSION, Begin, End
from r3cc.store import Store
from r3cc.store.model import Kernel
from r3cc.store.search import Search
from r3cc.store.whole_file import replace_whole
from r3cc.tune.llvm_facts import LLVMFacts
from r3cc.tune.plan import Choice

TRANSCRIPT = "transcript:"
ARCHIVE = "archive.json"
"""The archives of a search, beside its log; derived from it."""


@dataclass(frozen=True)
class Question:
    """What a search is asked, limits apart."""

    recording: str
    choices: tuple[Choice, ...]
    llms: tuple[str, ...]
    policy: str
    seed: int
    settings: LoopSettings | None = None
    """None: the defaults of the device."""


class Announcer(Watcher, Protocol):
    """What a session says besides its progress."""

    def prepares(self, kernels: Sequence[Kernel]) -> None:
        """Before sources are found and compiled as they were recorded, which takes seconds."""
        ...

    def unusable(self, kernel: Unusable) -> None:
        """A kernel is left out."""
        ...

    def sends(self, files: Sequence[str], destinations: Sequence[str]) -> None:
        """Before the first call: files whose text is sent, and to whom; nowhere when that is empty."""
        ...

    def begins(self, search: Search, continued: bool) -> None:
        """Which search it is."""
        ...


class RemixSession:
    """Runs a question's search in a store."""

    def __init__(
        self,
        store: Store,
        question: Question,
        proposers: Sequence[Proposer],
        policy: Policy,
        allowed: Allowed,
        workers: Workers | None = None,
    ) -> None:
        """``workers``: an executor that evaluates; proposers are asked, and sources compiled, on this machine."""
        self._workers = workers
        self._store = store
        self._question = question
        self._proposers = {proposer.name: proposer for proposer in proposers}
        self._policy = policy
        self._allowed = allowed

    def run(self, watcher: Announcer, fresh: bool) -> Search:
        """Begin a search, go on with the unfinished one of the same question unless ``fresh``, or repeat a transcript.

        Raises R3Error; KeyboardInterrupt passes through with the log complete.
        """
        question = self._question
        script = self._script()
        watcher.prepares([choice.kernel for choice in question.choices])
        with LLVMFacts() as facts, self._planner(facts) as planner:
            targets, unusable = planner.targets(question.choices)
            for each in unusable:
                watcher.unusable(each)
            if script:
                script = adopted(script, [target.builder.source for target in targets])
                held = {event.kernel for event in script if isinstance(event, Source)}
                targets = [target for target in targets if target.plan.kernel in held]
            seed = script[0].seed if script and isinstance(script[0], Begin) else question.seed
            settings = self._settings(script)
            begin, setup = self._begin(targets, script), self._setup(settings)
            found = None if fresh or script else self._unfinished(begin, setup)
            search = found or self._store.searches.create()
            with search.open_log() as log:
                earlier = read_transcript(search.events_path) if found else ()
                if not earlier:
                    log.append(begin)
                    log.append(setup)
                    earlier = (begin, setup)
                watcher.sends(files_of(targets), setup.sent_to)
                watcher.begins(search, found is not None)
                company = Company(self._proposers, self._policy, watcher)
                remixer = Remixer(Journal(log, earlier), targets, settings, company, seed, self._allowed, script)
                try:
                    _run(self._with_proposers(remixer))
                finally:
                    replace_whole(search.path / ARCHIVE, remixer.archives())
        return search

    def first_prompt(self) -> tuple[Prompt, tuple[str, ...]]:
        """The first prompt of the first kernel, and the files that it quotes. Nothing is sent, nothing is written."""
        question = self._question
        with LLVMFacts() as facts, self._planner(facts) as planner:
            targets, _ = planner.targets(question.choices[:1])
            return _first_prompt(targets[0], self._settings(()), question.seed), files_of(targets)

    def _planner(self, facts: LLVMFacts) -> Planner:
        return Planner(self._store, self._question.recording, facts, self._workers)

    async def _with_proposers(self, remixer: Remixer) -> None:
        try:
            await remixer.run()
        finally:
            for proposer in self._proposers.values():
                await proposer.close()

    def _script(self) -> tuple[AnyEvent, ...]:
        """The events of a transcript to repeat."""
        files = [llm.removeprefix(TRANSCRIPT) for llm in self._question.llms if llm.startswith(TRANSCRIPT)]
        if not files:
            return ()
        if len(self._question.llms) > 1:
            raise R3Error("--llm transcript: repeats a search by itself; take the other --llm away")
        return read_transcript(Path(files[0]))

    def _settings(self, script: Sequence[AnyEvent]) -> LoopSettings:
        recorded = next((event.settings for event in script if isinstance(event, Setup)), None)
        on_cpu = self._question.choices[0].device == "cpu"
        dimensions = features.ON_CPU if on_cpu else features.ON_GPU
        return recorded or self._question.settings or LoopSettings(dimensions=dimensions)

    def _begin(self, targets: Sequence[Target], script: Sequence[AnyEvent]) -> Begin:
        question = self._question
        device, device_name = self._measured_on(script)
        return Begin(
            at=time.time(),
            version=VERSION,
            recording=question.recording,
            device=device,
            device_name=device_name,
            optimizer=OPTIMIZER,
            seed=question.seed,
            kernels=tuple(target.plan for target in targets),
            versions={"r3": r3cc.__version__},
        )

    def _measured_on(self, script: Sequence[AnyEvent]) -> tuple[str, str]:
        """A device and its name: what a whole transcript was measured on, which leaves nothing to measure here."""
        if script and isinstance(script[0], Begin) and isinstance(script[-1], End):
            return script[0].device, script[0].device_name
        device = self._question.choices[0].device
        kind = device.split(":")[0]
        processes = self._store.processes(self._question.recording)
        return device, next((each.device_name for each in processes if each.device.split(":")[0] == kind), "")

    def _setup(self, settings: LoopSettings) -> Setup:
        destinations = [proposer.destination for proposer in self._proposers.values()]
        return Setup(
            at=time.time(),
            proposers=tuple(self._proposers),
            policy=self._question.policy,
            settings=settings,
            sent_to=tuple(dict.fromkeys(each for each in destinations if each is not None)),
            prices=used_prices(tuple(self._proposers.values())),
        )

    def _unfinished(self, begin: Begin, setup: Setup) -> Search | None:
        """The latest search of the same question, if it has no end."""
        for search in reversed(self._store.searches.all()):
            try:
                events = read_transcript(search.events_path)
            except R3Error:
                continue
            if len(events) > 1 and _same(events[0], begin) and _same(events[1], setup):
                return None if any(isinstance(event, End) for event in events) else search
        return None


def files_of(targets: Sequence[Target]) -> tuple[str, ...]:
    """Files whose text stands in prompts, as their paths are from here."""
    paths = [
        Path(os.path.normpath(target.directory / region.path))
        for target in targets
        for region in target.builder.source.regions
    ]
    here = Path.cwd()
    return tuple(dict.fromkeys(str(path.relative_to(here) if path.is_relative_to(here) else path) for path in paths))


def _first_prompt(target: Target, settings: LoopSettings, seed: int) -> Prompt:
    with target.open_evaluator() as evaluator:
        baseline = evaluator.baseline()
    built = target.builder.build({}, {})
    if isinstance(built, Rejection):
        raise R3Error(f"the original source cannot be rebuilt: {built.message}")
    state = SearchState(target.plan.kernel, settings)
    state.original = features.features(built.artefact, baseline.resources, target.dynamic_shared)
    sheet = target.sheet_of(baseline, built.artefact)
    layout = Layout(sheet, target.builder.source, settings.max_output_tokens, baseline.resources)
    drawn = sampling.draw(state, seed, 0, settings.siblings)
    return layout.prompt(state, drawn, drawn.siblings[0], 0)


def _same(one: object, other: Begin | Setup) -> bool:
    """Whether two lines are equal but for time and versions."""
    if type(one) is not type(other):
        return False
    bare: Mapping[str, object] = {"at": 0.0, "versions": {}} if isinstance(other, Begin) else {"at": 0.0}
    return bool(msgspec.structs.replace(one, **bare) == msgspec.structs.replace(other, **bare))


def _run(work: Coroutine[object, object, None]) -> None:
    """Run to the end; SIGTERM ends it in order, as an interrupt does."""

    async def main() -> None:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        await work

    try:
        asyncio.run(main())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
