"""This machine's processor, as Linux describes it."""

from __future__ import annotations

import platform
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_MODEL = "model name"


def processor_name() -> str:
    """What its maker calls it; the kind of machine where that is not told."""
    lines = (line for line in _lines() if line.startswith(_MODEL))
    return next((line.split(":", 1)[1].strip() for line in lines), platform.machine())


def processor_description() -> str:
    """All that decides the code that LLVM makes for it; empty where nothing is told."""
    return "\n".join(sorted({line for line in _lines() if line.startswith((_MODEL, "flags", "Features"))}))


def _lines() -> list[str]:
    try:
        return _CPUINFO.read_text(errors="replace").splitlines()
    except OSError:
        return []
