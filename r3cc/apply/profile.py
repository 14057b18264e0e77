"""The profile as a value (docs/profile-format.md), its file, and the choice of an entry for a device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from r3cc.errors import UsageError
from r3cc.replay.codegen import bad_codegen
from r3cc.replay.model import Interval, Numerics
from r3cc.store.whole_file import replace_whole

FORMAT = "r3-profile"
VERSION = 3
"""Raised when an older reader could misread the file; 2 brought ``specialised``, 3 its ``tables``."""

Extent = Annotated[int, msgspec.Meta(ge=1)]
Extents = tuple[Extent, Extent, Extent]
"""Threads or blocks on x, y and z."""


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Launch dimensions that the application asked for; ``shared`` is dynamic shared memory in bytes."""

    grid: Extents
    block: Extents
    shared: int


class Scalar(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scalar argument and the values, as bytes in hex, for which a rule holds."""

    index: int
    offset: int
    size: int
    values: tuple[str, ...]


class Guard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Launches that a rule was validated for."""

    shapes: tuple[Shape, ...]
    scalars: tuple[Scalar, ...] = ()


class ShapeBlock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A block for the launches of one shape."""

    shape: Shape
    block: Extents


class LaunchRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Launch dimensions instead of the application's; a derived grid covers the threads asked for on each axis."""

    block: Extents
    grid: Literal["derived"] | Extents
    guard: Guard
    by_shape: tuple[ShapeBlock, ...] = ()
    """Shapes of the guard that get a block of their own instead of ``block``."""

    def block_for(self, shape: Shape) -> Extents:
        """The block that a launch of one of the guard's shapes gets."""
        return next((each.block for each in self.by_shape if each.shape == shape), self.block)


class Constant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scalar argument, or a struct passed by value, and its one value, as bytes in hex, lowest first."""

    index: int
    offset: int
    size: int
    value: str


class FixedTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Memory that the kernel only reads: a variable, or ``size`` bytes at ``offset`` behind an argument's pointer."""

    size: int
    value: str
    """Content in hex."""
    variable: str | None = None
    """Mangled name."""
    argument: int | None = None
    offset: int | None = None


class Specialised(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A second version of the kernel has the entry's pipeline, attributes and rule, and is launched where these hold.

    Its code takes them for constants. ``block`` and ``grid`` are what is launched, under the launch rule. An
    ``attributes["maxntid"]`` guards it, too. ``tables`` guard no launch: the version itself looks whether they hold.
    """

    arguments: tuple[Constant, ...] = ()
    block: Extents | None = None
    grid: Extents | None = None
    tables: tuple[FixedTable, ...] = ()


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why the entry is there: the finals' number and what was validated."""

    ratio: Interval
    """Candidate's time over the baseline's."""
    launches: int
    """Recorded launches validated, held-out ones among them."""
    numerics: str
    search: str
    recording: str
    rtol: float | None = None
    atol: float | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for what no finals say."""
        if self.numerics not in list(Numerics):
            raise ValueError(f"numerics '{self.numerics}' is unknown; it is {', '.join(Numerics)}")
        if min(self.ratio.median, self.ratio.low, self.ratio.high) <= 0:
            raise ValueError("a ratio of times is not positive")


SOURCE = "source: "
"""How the change of an entry for a new source begins."""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tuned kernel on one device."""

    name: str
    demangled: str
    digest: str
    device: str
    architecture: str
    pipeline: str | None
    attributes: dict[str, str]
    codegen_level: int
    module: dict[str, str]
    launch: LaunchRule | None
    changes: tuple[str, ...]
    left_out: tuple[str, ...]
    evidence: Evidence
    specialised: Specialised | None = None
    """None: the kernel itself is changed."""

    def __post_init__(self) -> None:
        """Raises ValueError for options that no code generation has."""
        problem = bad_codegen((*self.attributes.items(), *self.module.items()), "cuda")
        if problem is not None:
            raise ValueError(problem)

    @property
    def rewrites(self) -> bool:
        """Whether it is for a new source, which the patch beside the profile brings."""
        return any(change.startswith(SOURCE) for change in self.changes)

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Entries of one identity replace one another."""
        return self.name, self.digest, self.device, self.architecture


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tuned kernels of any number of programs and devices."""

    format: str
    version: int
    made_by: dict[str, str]
    kernels: tuple[Entry, ...]

    def merged(self, newer: Profile) -> Profile:
        """Both; where two entries have one identity, the newer one."""
        entries = {entry.identity: entry for entry in (*self.kernels, *newer.kernels)}
        return msgspec.structs.replace(newer, kernels=tuple(entries.values()))


class _Head(msgspec.Struct, frozen=True):
    format: str
    version: int


def read_profile(path: Path) -> Profile:
    """The profile in a file. Raises UsageError for what is none, for a newer one, and for one that is damaged."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the profile {path}: {error.strerror}") from None
    try:
        head = msgspec.json.decode(content, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise UsageError(f"{path} is not a profile of R3; `r3 apply -o {path.name}` writes one") from None
    if head.format != FORMAT:
        raise UsageError(f"{path} is not a profile of R3: its format is '{head.format}'")
    if head.version < 1:
        raise UsageError(f"{path} is not a profile of R3: its version is {head.version}")
    if head.version > VERSION:
        raise UsageError(
            f"the profile {path} has version {head.version}, this R3 reads up to {VERSION}; use the R3 that wrote it"
        )
    try:
        return msgspec.json.decode(content, type=Profile)
    except msgspec.DecodeError as error:
        raise UsageError(f"the profile {path} is damaged: {error}") from None


def write_profile(path: Path, profile: Profile) -> None:
    """Write a profile; the file appears whole or not at all."""
    replace_whole(path, msgspec.json.format(msgspec.json.encode(profile), indent=1) + b"\n")


def choose(entries: Iterable[Entry], device: str, architecture: str) -> Entry | None:
    """The entry for this architecture measured on this very device, else on another; None without any, as in a build.

    cpu entries serve the cpu device alone, and it no others.
    """
    alike = [entry for entry in entries if entry.architecture == architecture]
    fitting: Sequence[Entry] = [entry for entry in alike if (entry.device == "cpu") == (device == "cpu")]
    return next(iter([entry for entry in fitting if entry.device == device] or fitting), None)
