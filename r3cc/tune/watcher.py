"""What a search tells the person who watches it."""

from __future__ import annotations

from typing import Protocol

from r3cc.replay.events import KernelPlan, Result
from r3cc.replay.model import Evaluation
from r3cc.tune.budget import Allowance, Cost


class Watcher(Protocol):
    """Hears of a search's progress; the search does not depend on it."""

    def kernel_begins(self, plan: KernelPlan, done: int, allowance: Allowance) -> None:
        """A kernel's search begins, or continues after ``done`` evaluations."""
        ...

    def evaluated(self, plan: KernelPlan, evaluation: Evaluation, best_ratio: float) -> None:
        """An evaluation came back; ``best_ratio`` is the incumbent's time over the baseline's."""
        ...

    def opened(self, plan: KernelPlan, cost: Cost, late_s: float) -> None:
        """A kernel was opened; by all that is known, the session ends ``late_s`` seconds after its time."""
        ...

    def finals_begin(self, plan: KernelPlan, finalists: int, seconds: float) -> None:
        """The search over a kernel is over: finalists are measured again, for about so many seconds."""
        ...

    def kernel_ends(self, plan: KernelPlan, result: Result) -> None:
        """A kernel's verdict."""
        ...


class Silent:
    """A watcher that says nothing."""

    def kernel_begins(self, plan: KernelPlan, done: int, allowance: Allowance) -> None:
        """Nothing."""

    def evaluated(self, plan: KernelPlan, evaluation: Evaluation, best_ratio: float) -> None:
        """Nothing."""

    def opened(self, plan: KernelPlan, cost: Cost, late_s: float) -> None:
        """Nothing."""

    def finals_begin(self, plan: KernelPlan, finalists: int, seconds: float) -> None:
        """Nothing."""

    def kernel_ends(self, plan: KernelPlan, result: Result) -> None:
        """Nothing."""
