"""What a replaying process is doing: its supervisor derives a status from the stage, never from a message."""

from __future__ import annotations

import enum
from contextlib import AbstractContextManager
from typing import Protocol


class Stage(enum.StrEnum):
    """Stages of the device worker."""

    PREPARE = "prepare"
    """Opening the device, reading the recording."""
    TURN = "turn"
    """Another process of R3 measures on the device."""
    RESTORE = "restore"
    LOAD = "load"
    LAUNCH = "launch"
    """A kernel under test runs: a death here is its fault, a missed deadline its hang."""
    REFERENCE = "reference"
    """The original kernel runs on inputs that R3 made up: a death here is nobody's fault."""
    NUDGE = "nudge"
    """The original kernel runs on inputs that are a little off, for its sensitivity: likewise."""
    CHECK = "check"


class Watch(Protocol):
    """Told about each stage, so that somebody outside can enforce its deadline."""

    def stage(self, stage: Stage, seconds: float) -> AbstractContextManager[None]:
        """The stage for as long as the context lasts; it must not last longer than ``seconds``."""
        ...
