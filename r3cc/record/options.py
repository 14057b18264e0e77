"""What a recording keeps, and how the recorder is told (docs/recorder.md)."""

from __future__ import annotations

import ctypes
import enum
import re
import shutil
from pathlib import Path

import msgspec

from r3cc.errors import UsageError

REG_EXTENDED = 1
SPREAD = "spread"
REGEX_T_BYTES = 256
"""More than the size of any C library's regex_t."""


class Snapshot(enum.StrEnum):
    """Which memory a launch carries."""

    REACHABLE = "reachable"
    ALL = "all"


class RecordOptions(msgspec.Struct, frozen=True):
    """What is recorded of every process."""

    kernels: str = ""
    """POSIX extended regular expression; empty takes every kernel."""
    launches: int = 3
    """Launches kept per kernel and shape."""
    held_out: int = 1
    """Further ones that no search may see."""
    skip: int = 0
    """Launches of each kernel passed over first."""
    snapshot: Snapshot = Snapshot.REACHABLE
    quota: int | None = None
    """Bytes that the recording may take; None takes a quarter of the free disk."""
    every: int | None = None
    """Distance of recorded launches; None lets it grow, so that few are spread over a run of any length."""
    ranks: str = ""
    """Ranks that record, as in ``0,4-7``; the others only count. Empty takes all of them; ``spread`` gives each kernel
    and shape to one rank."""
    times_only: bool = False
    """Launches are counted and timed, and no memory is kept."""
    foreign: bool = False
    """Kernels without an R3 note are recorded, too, with their machine code or PTX."""


def recorder_environment(options: RecordOptions, recording: Path) -> dict[str, str]:
    """Variables that the recorder reads. Raises UsageError for what it would refuse."""
    check_expression(options.kernels)
    check_ranks(options.ranks)
    quota = options.quota if options.quota is not None else shutil.disk_usage(recording).free // 4
    return {
        "R3_RECORD_DIR": str(recording),
        "R3_RECORD_KERNELS": options.kernels,
        "R3_RECORD_LAUNCHES": str(options.launches),
        "R3_RECORD_HELD_OUT": str(options.held_out),
        "R3_RECORD_SKIP": str(options.skip),
        "R3_RECORD_SNAPSHOT": options.snapshot.value,
        "R3_RECORD_QUOTA_BYTES": str(quota),
        "R3_RECORD_EVERY": str(options.every or 0),
        "R3_RECORD_RANKS": options.ranks,
        "R3_RECORD_TIMES_ONLY": str(int(options.times_only)),
        "R3_RECORD_FOREIGN": str(int(options.foreign)),
    }


def check_ranks(text: str) -> None:
    """Raise UsageError unless ``text`` is empty, ``spread``, or a list of ranks and ranges of them."""
    if text == SPREAD:
        return
    ranges = [re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", part) for part in text.split(",")] if text else []
    if not all(found and int(found[1]) <= int(found[2] or found[1]) for found in ranges):
        raise UsageError(f"--ranks '{text}' is neither a list of ranks like 0,4-7 nor the word spread")


def check_expression(text: str) -> None:
    """Raise UsageError unless the C library, which the recorder uses, takes ``text``."""
    library = ctypes.CDLL(None)
    compiled = ctypes.create_string_buffer(REGEX_T_BYTES)
    code = library.regcomp(compiled, text.encode(), REG_EXTENDED)
    if code != 0:
        message = ctypes.create_string_buffer(200)
        library.regerror(code, compiled, message, len(message))
        raise UsageError(f"--kernels '{text}' is not a POSIX extended regular expression: {message.value.decode()}")
    library.regfree(compiled)
