"""What a remix search tells the person who watches it."""

from __future__ import annotations

from typing import Protocol

from r3cc.remix.events import Verdict
from r3cc.replay.events import KernelPlan, Result
from r3cc.replay.model import Evaluation


class Watcher(Protocol):
    """Hears of a search's progress; the search does not depend on it."""

    def kernel_begins(self, plan: KernelPlan, done: int, proposals: int | None) -> None:
        """A kernel's search begins, or continues after ``done`` of ``proposals``."""
        ...

    def evaluated(self, plan: KernelPlan, evaluation: Evaluation, best_ratio: float) -> None:
        """An evaluation came back; ``best_ratio`` is the best elite's time over the baseline's."""
        ...

    def judged(self, plan: KernelPlan, verdict: Verdict, best_ratio: float) -> None:
        """A proposal is over."""
        ...

    def finals_begin(self, plan: KernelPlan, finalists: int) -> None:
        """The search over a kernel is over: finalists are measured again."""
        ...

    def kernel_ends(self, plan: KernelPlan, result: Result) -> None:
        """A kernel's verdict."""
        ...


class Silent:
    """A watcher that says nothing."""

    def kernel_begins(self, plan: KernelPlan, done: int, proposals: int | None) -> None:
        """Nothing."""

    def evaluated(self, plan: KernelPlan, evaluation: Evaluation, best_ratio: float) -> None:
        """Nothing."""

    def judged(self, plan: KernelPlan, verdict: Verdict, best_ratio: float) -> None:
        """Nothing."""

    def finals_begin(self, plan: KernelPlan, finalists: int) -> None:
        """Nothing."""

    def kernel_ends(self, plan: KernelPlan, result: Result) -> None:
        """Nothing."""
