"""What judges candidates: the contract between searches and the farm."""

from __future__ import annotations

from concurrent.futures import Future
from types import TracebackType
from typing import Protocol, Self

import msgspec

from r3cc.replay.model import Candidate, Evaluation, L2State, Numerics, TimingPlan


class EvaluatorSettings(msgspec.Struct, frozen=True):
    """How every candidate of one evaluator is compiled, validated and timed."""

    numerics: Numerics = Numerics.ROUNDING
    rtol: float | None = None
    """Relative tolerance for floating-point elements; None takes the one of ``numerics``."""
    atol: float | None = None
    """Absolute tolerance for floating-point elements; None scales with the buffer's largest magnitude."""
    l2: L2State | None = None
    """None takes the state whose baseline lies nearer to the kernel's time in the application."""
    probes: int = 3
    """Replays of the baseline that measure its own run-to-run spread."""
    compile_processes: int = 0
    """0 takes one a core, less one for the device worker; at least 1."""
    compile_deadline_s: float = 60.0
    """Longest time for compiling a candidate; never less than 10 times the baseline's."""
    launch_deadline_s: float = 10.0
    """Longest time for one launch; never less than 50 times the baseline's."""
    transfer_deadline_s: float = 600.0
    """Longest time for loading a launch's memory or checking it."""


class Evaluator(Protocol):
    """Evaluates candidates for one kernel of a recording on one device.

    ``submit`` never blocks and its future never raises for a bad candidate: the evaluation's status says what happened.
    Equal candidates are evaluated once, equal code objects with equal launch configurations are measured once.
    A new evaluator has new processes and no memory of another's measurements; a fresh one shares what was compiled.
    """

    @property
    def width(self) -> int:
        """Evaluations worth having in flight at a time."""
        ...

    def fresh(self) -> Self:
        """An evaluator of the same with device processes of its own, closed with this one at the latest."""
        ...

    def prepare(self, jobs: int = 1) -> Future[int]:
        """Bring to the device what so many evaluations at a time need, and launch nothing.

        Gives how many evaluators like it fit on the device beside it, 0 where that is not known.
        """
        ...

    def baseline(self) -> Evaluation:
        """The recorded build's own code on the recorded launches; measured at first use, then kept."""
        ...

    def submit(self, candidate: Candidate, plan: TimingPlan = TimingPlan()) -> Future[Evaluation]:  # noqa: B008
        """Queue a candidate; its evaluation comes through the future."""
        ...

    def close(self) -> None:
        """End all processes; evaluations under way are cancelled."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
