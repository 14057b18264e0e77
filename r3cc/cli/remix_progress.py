"""The progress of a remix search on standard error."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from r3cc.cli.output import say
from r3cc.cli.progress import Progress
from r3cc.remix.events import Verdict
from r3cc.remix.planning import Unusable
from r3cc.replay.events import KernelPlan, Result
from r3cc.replay.model import Evaluation
from r3cc.store.demangle import label
from r3cc.store.model import Kernel
from r3cc.store.search import Search
from r3cc.tune.budget import Allowance


class RemixProgress:
    """A bar with a step a proposal on a terminal, and one line a kernel anywhere."""

    def __init__(self) -> None:
        self._progress = Progress()

    def prepares(self, kernels: Sequence[Kernel]) -> None:
        """One line: the next one may take a while."""
        say(f"compiling the source of {', '.join(label(kernel.demangled) for kernel in kernels)} as it was recorded")

    def unusable(self, kernel: Unusable) -> None:
        """One line."""
        say(f"{kernel.kernel.demangled} is left out: {kernel.reason}")

    def sends(self, files: Sequence[str], destinations: Sequence[str]) -> None:
        """Which files' text goes where, before the first call."""
        names = ", ".join(files)
        if destinations:
            say(f"sends text of {names} to {', '.join(destinations)}")
        else:
            say(f"rewrites {names}; no text leaves this machine")

    def begins(self, search: Search, continued: bool) -> None:
        """Which search it is."""
        say(f"{'going on with' if continued else 'beginning'} search {search.id}")

    def kernel_begins(self, plan: KernelPlan, done: int, proposals: int | None) -> None:
        """A new bar."""
        self._progress.kernel_begins(plan, done, Allowance(proposals, None))

    def evaluated(self, plan: KernelPlan, evaluation: Evaluation, best_ratio: float) -> None:
        """The bar counts proposals."""

    def judged(self, plan: KernelPlan, verdict: Verdict, best_ratio: float) -> None:
        """One step of the bar."""
        self._progress.step(best_ratio, bool(verdict.reason))

    def finals_begin(self, plan: KernelPlan, finalists: int) -> None:
        """The bar says what is going on."""
        self._progress.finals_begin(plan, finalists)

    def kernel_ends(self, plan: KernelPlan, result: Result) -> None:
        """One line with the verdict."""
        self._progress.kernel_ends(plan, result)

    def stop(self) -> None:
        """Take the bar away."""
        self._progress.stop()

    def __enter__(self) -> Self:
        self._progress.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
