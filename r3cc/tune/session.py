"""One ``r3 tune``: the search that it begins or goes on with, from the store to the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from importlib.metadata import version

import msgspec
import numpy as np

import r3cc
from r3cc.farm.executors import Workers
from r3cc.replay.events import VERSION, Begin, UnitPlan, read_log
from r3cc.store import Store
from r3cc.store.eventlog import EventLog
from r3cc.store.search import Search
from r3cc.tune.budget import Limits
from r3cc.tune.continuing import unfinished
from r3cc.tune.found import Library, findings_of
from r3cc.tune.import_ahead import imported_ahead
from r3cc.tune.journal import Journal
from r3cc.tune.llvm_facts import LLVMFacts
from r3cc.tune.plan import Choice, target, units_of
from r3cc.tune.search import Target, Tuner
from r3cc.tune.space import Space
from r3cc.tune.unit import Unit
from r3cc.tune.watcher import Watcher

OPTIMIZERS_OF_R3 = "r3cc.tune.nevergrad_optimizers"
"""Not needed until the launch's first settings were tried."""


class Question(msgspec.Struct, frozen=True):
    """What a search is asked, limits apart: equal questions belong to one search until it is over."""

    recording: str
    choices: tuple[Choice, ...]
    optimizer: str
    seed: int


class TuneSession:
    """Runs a question's search in a store."""

    def __init__(self, store: Store, question: Question, limits: Limits, workers: Workers | None = None) -> None:
        """``workers``: an executor that evaluates; None for this machine."""
        self._workers = workers
        self._store = store
        self._question = question
        self._limits = limits

    def run(self, watcher: Watcher, fresh: bool, began: Callable[[Search, bool], None]) -> Search:
        """Begin a search, or go on with the unfinished one of the same question unless ``fresh``.

        ``began`` hears which search it is and whether it is continued. Raises R3Error; KeyboardInterrupt passes through
        with the log complete.
        """
        with LLVMFacts() as facts:
            question = self._question
            targets = [
                target(self._store, question.recording, choice, facts, self._workers) for choice in question.choices
            ]
            llvm = facts.version
        units = units_of(self._store, question.recording, question.choices, self._workers)
        begin = self._begin(targets, units, llvm)
        resumed = None if fresh else unfinished(self._store.searches, begin)
        search = resumed.search if resumed is not None else self._store.searches.create()
        with search.open_log() as log:
            journal = self._journal(log, search, begin if resumed is None else None)
            began(search, resumed is not None)
            tuner = Tuner(journal, targets, watcher, question.optimizer, question.seed, self._limits, units)
            with imported_ahead(OPTIMIZERS_OF_R3) if question.optimizer == "r3" else nullcontext():
                tuner.run()
        spaces = {target.plan.kernel: target.space for target in targets if isinstance(target.space, Space)}
        Library.of(self._store.path).add(findings_of(search.id, read_log(search.events_path), spaces))
        return search

    def _journal(self, log: EventLog, search: Search, begin: Begin | None) -> Journal:
        """What the log holds now that nobody else writes it."""
        if begin is not None:
            log.append(begin)
            return Journal(log, (begin,))
        return Journal(log, read_log(search.events_path))

    def _begin(self, targets: Sequence[Target], units: Sequence[Unit], llvm: str) -> Begin:
        question = self._question
        device = question.choices[0].device
        return Begin(
            at=time.time(),
            version=VERSION,
            recording=question.recording,
            device=device,
            device_name=self._device_name(device),
            optimizer=question.optimizer,
            seed=question.seed,
            kernels=tuple(target.plan for target in targets),
            units=tuple(UnitPlan(unit.plan.module, unit.kernels, unit.plan.share) for unit in units),
            versions={
                "r3": r3cc.__version__,
                "llvm": llvm,
                "nevergrad": version("nevergrad"),
                "numpy": np.__version__,
            },
        )

    def _device_name(self, device: str) -> str:
        """As the recording's processes named the kind of device."""
        kind = device.split(":")[0]
        processes = self._store.processes(self._question.recording)
        return next((process.device_name for process in processes if process.device.split(":")[0] == kind), "")
