"""The progress of a search on standard error."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import rich.progress
from rich.console import Console
from rich.text import Text

from r3cc.cli.output import say
from r3cc.replay.events import KernelPlan, Result
from r3cc.replay.model import Evaluation, Status
from r3cc.report.table import seconds_text
from r3cc.store.demangle import label
from r3cc.tune.budget import Allowance, Cost

_FELT_S = 10.0
"""Seconds from which on it is worth a line."""


class Progress:
    """A watcher that shows a bar with the incumbent on a terminal, and one line a kernel anywhere."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._bar = rich.progress.Progress(
            rich.progress.TextColumn("r3:"),
            rich.progress.TextColumn("{task.description}", markup=False),
            rich.progress.BarColumn(bar_width=20),
            rich.progress.MofNCompleteColumn(),
            rich.progress.TimeElapsedColumn(),
            rich.progress.TextColumn("{task.fields[state]}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task: rich.progress.TaskID | None = None
        self._failed = 0
        self._late = False
        """It was said that the time cannot be kept."""

    def kernel_begins(self, plan: KernelPlan, done: int, allowance: Allowance) -> None:
        """A new bar."""
        self._remove()
        self._failed = 0
        self._task = self._bar.add_task(
            str(Text(name_of(plan)[:40])), total=allowance.evaluations, completed=done, state=""
        )

    def evaluated(self, plan: KernelPlan, evaluation: Evaluation, best_ratio: float) -> None:
        """One step of the bar."""
        self.step(best_ratio, evaluation.status is not Status.OK)

    def step(self, best_ratio: float, failed: bool) -> None:
        """One step of the bar, and whether it is one of those that came to nothing."""
        self._failed += failed
        if self._task is not None:
            self._bar.update(self._task, advance=1, state=f"best {1 / best_ratio:.3f}x, {self._failed} failed")

    def opened(self, plan: KernelPlan, cost: Cost, late_s: float) -> None:
        """What the kernel costs beside its search, where that is felt; once, that ``--time`` cannot be kept."""
        if cost.opening_s + cost.finals_s >= _FELT_S:
            took, finals = seconds_text(cost.opening_s), seconds_text(cost.finals_s)
            say(f"{name_of(plan)}: opened in {took}; if it gets faster, finals will take about {finals}")
        if late_s >= _FELT_S and not self._late:
            self._late = True
            say(
                f"--time leaves too little for finals: this will end up to {seconds_text(late_s)} later; "
                "give it more time, or name fewer kernels"
            )

    def finals_begin(self, plan: KernelPlan, finalists: int, seconds: float = 0.0) -> None:
        """The bar says what is going on."""
        if self._task is not None:
            about = f", about {seconds_text(seconds)}" if seconds >= _FELT_S else ""
            self._bar.update(self._task, state=f"measuring {finalists} finalists again{about}")

    def kernel_ends(self, plan: KernelPlan, result: Result) -> None:
        """One line with the verdict."""
        self._remove()
        if result.n is None or result.speedup is None:
            say(f"{name_of(plan)}: {result.note or 'no improvement'}")
            return
        gain = result.speedup
        interval = f"[{gain.low:.3f}, {gain.high:.3f}], n={gain.samples}"
        say(f"{name_of(plan)}: {gain.median:.3f}x faster {interval}")

    def stop(self) -> None:
        """Take the bar away."""
        self._bar.stop()

    def _remove(self) -> None:
        if self._task is not None:
            self._bar.remove_task(self._task)
            self._task = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def name_of(plan: KernelPlan) -> str:
    """A kernel's short name; of a unit, which has none, what is searched."""
    return label(plan.demangled) if plan.name else plan.demangled
