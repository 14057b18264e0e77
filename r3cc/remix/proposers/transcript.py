"""A recorded search as a proposer: the same prompts get the same answers, without a model."""

from __future__ import annotations

from collections import defaultdict, deque
from pathlib import Path

from r3cc.remix.events import Failed, Reply, read_transcript
from r3cc.remix.model import Answer, FailureKind, Prompt, ProposerError


class TranscriptProposer:
    """Answers by prompt id, which covers the prompt's text and its sample number; failures are repeated as well.

    A prompt that was asked several times (after an interruption, say) gets its answers in the recorded order, and
    the last one from then on.
    """

    destination = None

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name = f"transcript:{path}"
        self._recorded: dict[str, deque[Reply | Failed]] = defaultdict(deque)
        for event in read_transcript(path):
            if isinstance(event, Reply | Failed):
                self._recorded[event.prompt].append(event)

    def worst_cost_usd(self, prompt: Prompt) -> float:
        """Nothing is asked, nothing is paid."""
        return 0.0

    def worst_tokens(self, prompt: Prompt) -> int:
        """None: they were taken when the transcript was recorded."""
        return 0

    async def propose(self, prompt: Prompt, deadline_s: float) -> Answer:
        """The recorded answer, at once."""
        recorded = self._recorded.get(prompt.id)
        if not recorded:
            raise ProposerError(FailureKind.EXHAUSTED, f"the transcript {self._path} has no prompt {prompt.id}")
        event = recorded.popleft() if len(recorded) > 1 else recorded[0]
        if isinstance(event, Failed):
            raise ProposerError(event.kind, event.message)
        return event.answer

    async def close(self) -> None:
        """The file was read at the beginning."""
