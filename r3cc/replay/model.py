"""The values of replay: candidate, evaluation, status (architecture section 1)."""

from __future__ import annotations

import enum
import hashlib

import msgspec

Dim3 = tuple[int, int, int]


LaunchShape = tuple[Dim3, Dim3, int]
"""Grid, block and dynamic shared bytes that the application asked for."""


class Status(enum.StrEnum):
    """How an evaluation ended: exactly one, set by the stage that failed, never read from a message."""

    OK = "ok"
    REJECTED = "rejected"
    COMPILE_ERROR = "compile_error"
    COMPILE_TIMEOUT = "compile_timeout"
    LAUNCH_ERROR = "launch_error"
    DEVICE_FAULT = "device_fault"
    TIMEOUT = "timeout"
    MISMATCH = "mismatch"
    OUT_OF_MEMORY = "out_of_memory"
    WORKER_LOST = "worker_lost"


class Numerics(enum.StrEnum):
    """How far a candidate's output may be from the recorded one."""

    BITWISE = "bitwise"
    ROUNDING = "rounding"
    APPROX = "approx"


class L2State(enum.StrEnum):
    """What the device's L2 cache holds when a timed launch begins."""

    COLD = "cold"
    WARM = "warm"


class LaunchConfiguration(msgspec.Struct, frozen=True, omit_defaults=True):
    """Launch dimensions of a candidate; None keeps the recorded value.

    ``block`` alone derives the grid per axis so that the recorded number of threads is covered.
    """

    grid: Dim3 | None = None
    block: Dim3 | None = None
    shared: int | None = None
    shapes: tuple[LaunchShape, ...] = ()
    """The recorded shapes that it is for; launches of others stay as recorded. Empty: for all."""
    by_shape: tuple[tuple[LaunchShape, Dim3], ...] = ()
    """Recorded shapes, of those that it is for, with a block of their own instead of ``block``."""


class Table(msgspec.Struct, frozen=True, omit_defaults=True):
    """Memory that a kernel only reads, with the content that its code has for constants where it finds it."""

    content: str
    """Bytes in hex."""
    variable: str = ""
    """Its mangled name; empty: bytes behind an argument."""
    argument: int = 0
    """Index of the pointer."""
    offset: int = 0
    """Bytes behind where it points to."""

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.content) // 2

    def __str__(self) -> str:
        place = f"@{self.variable}" if self.variable else f"{self.argument}+{self.offset}"
        return f"{place}={self.content}"


class Specialisation(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a kernel's code takes for granted: right only for launches that have it.

    Tables are the exception: the code looks itself whether they hold, and is right for all launches.
    """

    arguments: tuple[tuple[int, str], ...] = ()
    """Scalar parameters and structs by value, by index, sorted, with their bytes in hex, lowest first."""
    block: Dim3 | None = None
    """Block that is launched."""
    grid: Dim3 | None = None
    """Grid that is launched."""
    tables: tuple[Table, ...] = ()


class Candidate(msgspec.Struct, frozen=True, omit_defaults=True):
    """Pipeline + code-generation options + launch configuration + specialisation (+ variant, from remix).

    ``pipeline`` None and an empty ``codegen`` mean the recorded build's own. ``codegen`` holds sorted (key, value)
    pairs, the keys those of ``r3cc.tune.space``'s knobs: ``opt-level``, ``fp-contract``, ``maxntid``, ``minctasm``,
    ``maxnreg``, ``ptxas-opt``, ``maxrregcount``, and ``mllvm:<option>``.
    """

    pipeline: str | None = None
    codegen: tuple[tuple[str, str], ...] = ()
    launch: LaunchConfiguration = LaunchConfiguration()
    variant: str | None = None
    specialisation: Specialisation = Specialisation()

    def canonical(self) -> bytes:
        """The one JSON form: equal candidates have equal bytes."""
        fields = msgspec.to_builtins(self)  # what is equal to a default but not the default itself is an empty object
        return msgspec.json.encode({name: value for name, value in fields.items() if value != {}})

    @property
    def id(self) -> str:
        """First 16 hex digits of the SHA-256 of the canonical form."""
        return hashlib.sha256(self.canonical()).hexdigest()[:16]


class Interval(msgspec.Struct, frozen=True):
    """A median with the bounds of its 95 % confidence interval; unit given by the field that holds it."""

    median: float
    low: float
    high: float
    samples: int


BYTES = "bytes"
"""Element of memory whose type is not known: compared exactly."""


class Mismatch(msgspec.Struct, frozen=True):
    """Where and how far an output differs from the reference."""

    where: str
    """Region address or global name, with the byte offset of the first difference."""
    element: str
    """Element type used for the comparison."""
    count: int
    """Differing elements beyond tolerance."""
    max_abs: float | None
    """None where a difference is not a finite number, which JSON could not hold."""
    max_rel: float | None
    """None likewise."""

    @property
    def furthest(self) -> tuple[str, str]:
        """Both distances as text; bytes of unknown type have none."""
        if self.element == BYTES:
            return "-", "-"
        absolute, relative = ("inf" if each is None else f"{each:.3g}" for each in (self.max_abs, self.max_rel))
        return absolute, relative


class Allowance(msgspec.Struct, frozen=True):
    """Where an output is further from the reference than its type's tolerance, but no further than rounding takes it.

    How far that is the original kernel showed on inputs that were off by a few units in the last place.
    """

    where: str
    """Region address or global name."""
    element: str
    count: int
    """Elements beyond the type's tolerance; 0: only all of them together were."""
    times: float
    """How many times the type's tolerance the furthest of them was off."""

    def together(self, other: Allowance | None) -> Allowance:
        """With what was found there in another launch."""
        if other is None:
            return self
        return Allowance(self.where, self.element, max(self.count, other.count), max(self.times, other.times))

    def __str__(self) -> str:
        if not self.count:
            return f"{self.where}: all {self.element} elements together"
        return f"{self.where}: {self.count} {self.element} element(s), up to {self.times:.3g} times the tolerance"


class ShapeTime(msgspec.Struct, frozen=True):
    """Times of the recorded launches of one shape."""

    grid: Dim3
    block: Dim3
    shared: int
    weight: float
    """Launches of the application that they stand for."""
    baseline_ns: float
    """Mean of the launches' medians."""
    ratio: float
    """Candidate's time over the baseline's."""


class Evaluation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One candidate compiled, validated and timed on recorded launches of one kernel."""

    candidate: Candidate
    status: Status
    message: str = ""
    ir_hash: str | None = None
    object_hash: str | None = None
    time_ns: Interval | None = None
    """Candidate's time per launch, nanoseconds, weighted over the recorded launches."""
    baseline_ns: Interval | None = None
    """Baseline's time, interleaved with the candidate's samples."""
    ratio: Interval | None = None
    """Candidate over baseline, block by block; below 1 is faster."""
    mismatches: tuple[Mismatch, ...] = ()
    allowances: tuple[Allowance, ...] = ()
    launches: int = 0
    """Recorded launches validated."""
    l2: L2State | None = None
    """Cache state of the timed launches; None on a device without the choice."""
    app_ns: float = 0.0
    """The kernel's time per launch in the application, weighted likewise; 0 when it was not taken."""
    mark_overhead_ns: float = 0.0
    """What was subtracted from each marked time: the cost of the marks themselves, calibrated on the device."""
    by_shape: tuple[ShapeTime, ...] = ()
    """Where the launches that were timed have several shapes."""
    floor_ns: float = 0.0
    """Time a launch that writing what it changes takes on the device; 0 when it was not asked for."""
    resources: dict[str, int] = {}
    """Registers, spills, shared bytes, … as the device's tool reports them."""
    phases_ns: dict[str, int] = {}
    """Time spent: compile_ir, codegen, assemble, restore, run, check."""


class Race(msgspec.Struct, frozen=True):
    """A candidate's race against the best one so far."""

    best: float
    """The best one's ratio to the baseline."""
    noise: float
    """Relative; what differs from ``best`` by less counts as equal."""
    most: int = 8
    """Blocks that a candidate gets which seems to be the best."""


class TimingPlan(msgspec.Struct, frozen=True):
    """How much measuring one evaluation is worth."""

    warmups: int = 2
    samples: int = 4
    """Balanced blocks of launches (candidate baseline baseline candidate, and the reverse), each one ratio."""
    race: Race | None = None
    """Whom a candidate has to beat: ``samples`` is then what is taken at first."""
    held_out: bool = False
    """Validate on the held-out launches as well."""
    perturbed: bool = False
    """Validate every launch on perturbed inputs as well, with the original kernel as the reference."""
    repetition: int = 0
    """Tells measurements of one candidate apart: what was measured under another number is measured again."""
    l2: L2State | None = None
    """Cache state to time in; None: the one that the worker itself finds nearer to the application.

    Two workers may find different ones: what is compared names that of its baseline.
    """
