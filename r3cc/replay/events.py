"""The events of a search's log (docs/search-log.md): the one format that searches write and reports read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, get_args

import msgspec

from r3cc.devices.base import runs_on_host
from r3cc.errors import R3Error
from r3cc.replay.model import Candidate, Evaluation, Interval
from r3cc.store.eventlog import read_events
from r3cc.store.model import Kernel

VERSION = 1
"""Raised when a log of an older version can no longer be continued."""


class Event(msgspec.Struct, frozen=True, tag_field="event", kw_only=True, omit_defaults=True):
    """What every line has."""

    at: float
    """Seconds since 1970 (UTC)."""


class KernelPlan(msgspec.Struct, frozen=True):
    """A kernel of the search and its part of the budget."""

    kernel: str
    """Kernel id."""
    module: str
    name: str
    demangled: str
    share: float
    """Share of the recording's device time, 0 to 1."""
    numerics: str
    rtol: float | None = None
    atol: float | None = None
    changes_module: bool = False
    """Module-scope knobs were searched for it."""
    specialise: bool = False
    """Specialisations were searched for it."""

    @classmethod
    def of(cls, kernel: Kernel, numerics: str, rtol: float | None, atol: float | None) -> Self:
        """A recorded kernel and how its results are judged."""
        return cls(
            kernel=kernel.id,
            module=kernel.module,
            name=kernel.name,
            demangled=kernel.demangled,
            share=kernel.share,
            numerics=numerics,
            rtol=rtol,
            atol=atol,
        )


class UnitPlan(msgspec.Struct, frozen=True):
    """A module whose module-scope values are searched for several kernels at once. Its events name the module's id."""

    module: str
    kernels: tuple[str, ...]
    """Ids of the kernels that are tuned under its values."""
    share: float
    """Of these kernels together."""


class Begin(Event, frozen=True, tag="begin"):
    """First line: what is searched, and everything that its course depends on."""

    version: int
    recording: str
    device: str
    device_name: str
    optimizer: str
    seed: int
    kernels: tuple[KernelPlan, ...]
    versions: dict[str, str]
    """Of R3, LLVM, nevergrad and numpy."""
    units: tuple[UnitPlan, ...] = ()
    """Modules of which several kernels ran, in the order in which they are searched."""

    @property
    def on_host(self) -> bool:
        """Whether its results are the host's, and predict no GPU's."""
        return runs_on_host(self.device, self.device_name)


class Session(Event, frozen=True, tag="session"):
    """A process begins or continues the search."""

    pid: int
    host: str
    budget: int | None
    """Evaluations over all kernels and sessions; None without a limit."""
    time_s: float | None
    """Wall time of this session; None without a limit."""
    max_cost_usd: float | None = None
    """What remix may spend over all sessions; None without a limit."""


class Baseline(Event, frozen=True, tag="baseline"):
    """The recorded build's own code, judged before a kernel's search."""

    kernel: str
    evaluation: Evaluation
    noise: float
    """Relative half-width of its interval."""
    width: int
    """Evaluations in flight that the optimizer was made for."""
    library: tuple[dict[str, Any], ...] = ()
    """Genotypes that earlier searches found on similar kernels: tried before the optimizer is asked."""


class Grant(Event, frozen=True, tag="grant"):
    """What a kernel may spend in all, once every kernel has had its first part."""

    kernel: str
    budget: int | None
    """The session's limit that it is a part of."""
    evaluations: int | None
    """None without a limit."""
    expected: float
    """Relative gain that was expected of as many evaluations again."""


class Proposal(Event, frozen=True, tag="proposal"):
    """A candidate that the optimizer asked for. ``n`` counts the proposals of the whole search."""

    n: int
    kernel: str
    source: str
    """Part of the optimizer that asked: pipeline, knobs, random, seed, o3, minimize."""
    genotype: dict[str, Any]
    candidate: Candidate
    changes: tuple[str, ...]
    """What differs from the baseline, as people read it."""
    repeats: int | None = None
    """Proposal with the same candidate, whose answer is told again; nothing is evaluated."""


class Lost(Event, frozen=True, tag="lost"):
    """An evaluation of proposal ``n`` was lost with its worker, through no fault of the candidate: it is done again."""

    n: int
    kernel: str
    message: str


class Answer(Event, frozen=True, tag="evaluation"):
    """What became of proposal ``n``, and the loss that the optimizer was told."""

    n: int
    kernel: str
    evaluation: Evaluation
    loss: float
    stage: str = ""
    """What a remix search measured it for: quick, full or tune; empty in a tune search."""


class Incumbent(Event, frozen=True, tag="incumbent"):
    """Proposal ``n`` is the kernel's best so far by its search-time ratio."""

    n: int
    kernel: str
    ratio: float


class Compared(Event, frozen=True, tag="compared"):
    """Proposal ``n``, which is ``against`` less some of its changes, was measured beside it."""

    kernel: str
    n: int
    against: int
    """The fastest of the search's best, measured again."""
    ratio: Interval | None
    """Time of ``n`` over that of ``against``, with 99.8 % confidence.

    None where ``n`` failed when measured again, and where both are the very same code.
    """
    slower: bool
    """By more than noise: what it lacks is needed."""


class Stop(Event, frozen=True, tag="stop"):
    """A kernel's search ends, and why: budget, time, plateau, floor or exhausted. An interrupted one has none."""

    kernel: str
    reason: str


class Final(Event, frozen=True, tag="final"):
    """A finalist measured again in fresh processes. Round 1 chooses, round 2 gives the number that is reported."""

    kernel: str
    n: int | None
    """Proposal; None for the baseline against itself."""
    round: int
    evaluation: Evaluation


class RegionChange(msgspec.Struct, frozen=True):
    """A piece of source that a winner rewrites."""

    name: str
    path: str
    """Source file, as the recorded compile command reaches it from its directory."""
    begin: int
    """Byte offset of ``before`` in the file."""
    end: int
    before: str
    after: str


class Part(Event, frozen=True, tag="part"):
    """The winner measured without one of its changes, or one of its levels: what that buys."""

    kernel: str
    change: str
    """As in the result's ``changes``; empty for a level."""
    evaluation: Evaluation
    level: str = ""
    """Pipeline, codegen, launch or specialisation; empty for a change."""
    ratio: Interval | None = None
    """Time without it over the winner's, measured beside each other; None where it is not valid without."""


class Spent(msgspec.Struct, frozen=True):
    """Seconds that a kernel took of one session."""

    opening_s: float
    """Starting processes, bringing recorded memory to the device, and measuring the baseline."""
    search_s: float
    finals_s: float
    """With the measuring of what each change of the winner buys."""


class Result(Event, frozen=True, tag="result"):
    """A kernel's verdict. ``n`` None: no improvement."""

    kernel: str
    n: int | None
    candidate: Candidate
    changes: tuple[str, ...]
    baseline_ns: Interval | None
    best_ns: Interval | None
    speedup: Interval | None
    """Baseline over best; of the best finalist even when it is no improvement."""
    note: str = ""
    strategy: str = ""
    """What the winning rewrite does, in one line; empty without one."""
    regions: tuple[RegionChange, ...] = ()
    """The winner's source; empty when it keeps the original's. Parameters have their values."""
    parameters: dict[str, str] = {}
    spent: Spent | None = None
    """By the session that ended it; None in logs of before, and of remix searches."""


class End(Event, frozen=True, tag="end"):
    """The search is complete."""


AnyEvent = (
    Begin
    | Session
    | Baseline
    | Grant
    | Proposal
    | Lost
    | Answer
    | Incumbent
    | Compared
    | Stop
    | Final
    | Part
    | Result
    | End
)


def parts_of(kernel: str, events: Sequence[AnyEvent]) -> list[Part]:
    """What a kernel's winner was taken apart into: what follows its last finals. Interrupted ones left others."""
    own = [event for event in events if isinstance(event, (Final, Part)) and event.kernel == kernel]
    last = max((at for at, event in enumerate(own) if isinstance(event, Final)), default=-1)
    return [event for event in own[last + 1 :] if isinstance(event, Part)]


def decode_event(event: dict[str, Any]) -> AnyEvent:
    """The value of one line; raises msgspec.ValidationError when it is not one of this version."""
    value: AnyEvent = msgspec.convert(event, AnyEvent)
    return value


_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in get_args(AnyEvent))


def read_log(path: Path) -> tuple[AnyEvent, ...]:
    """The events of a log that both kinds of search write, in order; a torn last line is left out.

    A remix search's further events are for ``r3cc.remix.events``.

    Raises R3Error for a damaged line and for a log of another version.
    """
    events = []
    for number, line in enumerate(read_events(path), start=1):
        if number == 1 and line.get("version") != VERSION:
            raise R3Error(f"the search in {path.parent} has version {line.get('version')}, this R3 reads {VERSION}")
        if line.get("event") not in _KINDS:
            continue
        try:
            events.append(decode_event(line))
        except msgspec.ValidationError as error:
            raise R3Error(f"line {number} of the event log {path} is damaged: {error}") from None
    return tuple(events)
