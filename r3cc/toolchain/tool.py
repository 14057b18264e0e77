"""A program, library or folder that R3 uses and does not bring along."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec

VERSION_TIMEOUT_S = 20


class Tool(msgspec.Struct, frozen=True):
    """What was found."""

    name: str
    path: Path
    version: str
    """As the tool gives it, ``22.1.8``; empty when it gives none."""
    origin: str
    """Where it was found: ``variable R3_CLANG``, ``PATH``, ``/usr/lib/llvm-22``, ``wheel``, ``system``."""

    @property
    def major(self) -> int | None:
        """First number of the version."""
        match = re.match(r"\d+", self.version)
        return int(match[0]) if match else None


def run_version(program: Path, pattern: str, arguments: Sequence[str] = ("--version",)) -> str:
    """First group of ``pattern`` in what ``program --version`` prints; empty when the program does not answer."""
    try:
        answer = subprocess.run(
            [program, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.search(pattern, answer.stdout + answer.stderr)
    return match[1] if match else ""
