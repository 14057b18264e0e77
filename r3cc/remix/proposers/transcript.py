"""Who stands for the proposers of a recorded search, whose answers come from its log (``r3cc.remix.loop.asking``)."""

from __future__ import annotations

from pathlib import Path

from r3cc.errors import R3Error
from r3cc.remix.model import Answer, FailureKind, Prompt, ProposerError


class TranscriptProposer:
    """Has nothing to add to what was recorded."""

    destination = None

    def __init__(self, path: Path) -> None:
        """Raises R3Error where there is no such file."""
        if not path.is_file():
            raise R3Error(f"there is no transcript {path}")
        self.name = f"transcript:{path}"

    def worst_cost_usd(self, prompt: Prompt) -> float:
        """Nothing is asked, nothing is paid."""
        return 0.0

    def worst_tokens(self, prompt: Prompt) -> int:
        """None: they were taken when the transcript was recorded."""
        return 0

    async def propose(self, prompt: Prompt, deadline_s: float) -> Answer:
        """Raises ProposerError."""
        raise ProposerError(FailureKind.EXHAUSTED, f"the {self.name} has no answer to this request")

    async def close(self) -> None:
        """Nothing is open."""
