"""What one process of a test run makes, the others use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from filelock import FileLock


def once(path: Path, make: Callable[[Path], object]) -> Path:
    """``path``, made by the first that asks; the others wait for it. What fails is tried again by the next one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done = path.with_name(path.name + ".done")
    with FileLock(path.with_name(path.name + ".lock")):
        if not done.exists():
            make(path)
            done.touch()
    return path
