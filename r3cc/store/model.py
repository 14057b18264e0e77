"""The values that the capture store holds (docs/store-format.md)."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

Dim3 = tuple[int, int, int]


class Parameter(msgspec.Struct, frozen=True):
    """One kernel parameter: bytes ``offset`` to ``offset + size`` of the argument buffer."""

    offset: int
    size: int


class Region(msgspec.Struct, frozen=True):
    """A captured allocation; ``before`` and ``after`` are keys of memory images."""

    address: int
    size: int
    before: str
    after: str


class GlobalImage(msgspec.Struct, frozen=True):
    """A captured ``__device__`` or ``__constant__`` variable."""

    name: str
    address: int
    size: int
    before: str
    after: str


class Launch(msgspec.Struct, frozen=True):
    """One recorded execution of a kernel."""

    launch: str
    module: str
    name: str
    ordinal: int
    grid: Dim3
    block: Dim3
    shared: int
    held_out: bool
    identity: str
    device: str
    time_ns: int
    snapshot: str
    arguments: bytes
    parameters: tuple[Parameter, ...]
    regions: tuple[Region, ...]
    globals: tuple[GlobalImage, ...]


FOREIGN = "foreign:"
"""What the ids of modules without IR begin with."""


class Shape(msgspec.Struct, frozen=True):
    """Launches of one kernel with one geometry."""

    grid: Dim3
    block: Dim3
    shared: int
    launches: int
    total_ns: int
    median_ns: int = 0
    """Median of the first timed launches; 0 when none was timed."""


class NotRecordable(msgspec.Struct, frozen=True):
    """Why launches could not be recorded, and how many."""

    reason: str
    launches: int


class Kernel(msgspec.Struct, frozen=True):
    """A kernel in one recording, summed over its processes."""

    module: str
    name: str
    demangled: str
    device: str
    launches: int
    total_ns: int
    timed: int
    recorded: int
    share: float
    """Share of the recording's whole device time, 0 to 1."""
    shapes: tuple[Shape, ...]
    not_recordable: tuple[NotRecordable, ...]

    @property
    def has_ir(self) -> bool:
        """Whether its module carries IR: one recorded with ``--foreign`` doesn't, and has no pipeline."""
        return not self.module.startswith(FOREIGN)

    @property
    def id(self) -> str:
        """First 12 hex digits of the SHA-256 of ``module:name``."""
        return hashlib.sha256(f"{self.module}:{self.name}".encode()).hexdigest()[:12]


class Module(msgspec.Struct, frozen=True):
    """One device LLVM module; ``info`` is the JSON of docs/binary-format.md."""

    module: str
    bitcode: str | None
    info: dict[str, Any]
    binary: str
    image: str | None = None
    ptx: str | None = None
    """Chunk key of the PTX that lay beside a cubin without IR."""

    @property
    def code(self) -> tuple[str, ...]:
        """Chunk keys of all its code."""
        return tuple(key for key in (self.bitcode, self.image, self.ptx) if key is not None)


class Process(msgspec.Struct, frozen=True):
    """One process of a recording."""

    pack: str
    pid: int
    host: str
    executable: str
    arguments: tuple[str, ...]
    rank: int | None
    start: str
    device: str
    device_name: str
    architecture: str
    driver: str
    arena_base: int
    arena_size: int
    complete: bool
    """False when the process was killed: its pack has no ``end``."""


class Recording(msgspec.Struct, frozen=True):
    """One run of ``r3 record``."""

    id: str
    command: tuple[str, ...]
    start: str
    wall_ns: int
    host: str
    device: str
    exit_status: int | None
    """None when the recording is still running or was killed; 128 + signal when one ended the application."""
    pid: int = 0
    """Process of `r3 record` on ``host``."""
    redacted: bool = False
    """It was exported without memory contents."""
    times_only: bool = False
    """It holds counts and times, and no launches."""
