"""Who is asked next: the contract between the controller and the policies of model choice."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec


class Situation(msgspec.Struct, frozen=True):
    """What a policy may look at."""

    n: int
    """First request of the batch."""
    proposers: tuple[str, ...]
    """Who can be asked."""
    operators: tuple[str, ...]
    """What the siblings ask for."""
    in_flight: dict[str, int]
    """Requests under way, by proposer."""
    evaluations: int
    """Proposals that are being built or evaluated."""
    width: int
    """How many of them keep builders and device busy."""
    stagnation: int
    """Verdicts since the best improved."""


class Choice(msgspec.Struct, frozen=True):
    """Whom to ask, and what led to it, for the log."""

    proposer: str
    inputs: dict[str, Any]


class Experience(msgspec.Struct, frozen=True):
    """What asking a proposer once came to."""

    proposer: str
    operator: str
    gain: float
    """Log-speedup over the parent beyond noise; 0 for everything else."""
    seconds: float
    """From the request to its verdict's last answer."""
    first_token_s: float
    output_tokens: int
    cached: float
    """Part of the input that came from a cache."""
    cost_usd: float
    applied: bool
    """It could be built."""


class Policy(Protocol):
    """Chooses proposers. Its state is what it was told: telling a log again restores it."""

    @property
    def name(self) -> str:
        """clock, fixed or uniform."""
        ...

    def choose(self, situation: Situation) -> Choice:
        """Whom to ask for the next batch."""
        ...

    def learn(self, experience: Experience) -> None:
        """What came of a request."""
        ...
