"""The host's memory."""

from __future__ import annotations

import os
import re
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")


def available_memory() -> int:
    """Bytes that can be had without swapping: what nobody uses, and what only caches files."""
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB$", _MEMINFO.read_text(), re.MULTILINE)
    except OSError:
        found = None
    return int(found[1]) * 1024 if found else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
