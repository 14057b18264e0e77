"""The events of a remix search: those of every search (``r3cc.replay.events``), and what only remix has.

The log is the transcript: it holds every prompt, answer, decision, build and evaluation, and no secret. The archive is
what folding it gives (``r3cc.remix.archive.state``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import msgspec

from r3cc.errors import R3Error
from r3cc.remix.artefact import Artefact
from r3cc.remix.choosing import Experience
from r3cc.remix.model import Answer, FailureKind, Features, Rejection, SourceKernel, Stage, Variant
from r3cc.remix.prices import Price
from r3cc.remix.sheet import Sheet
from r3cc.replay import events as shared
from r3cc.replay.events import VERSION, Event
from r3cc.replay.model import Candidate, Interval
from r3cc.store.eventlog import read_events

OPTIMIZER = "remix"
"""``optimizer`` of a remix search's ``begin``."""


class LoopSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a search's course depends on besides its question."""

    dimensions: tuple[str, ...]
    """Of the archive; features of other dimensions are kept in the log all the same."""
    islands: int = 2
    siblings: int = 2
    """Requests of one parent that are issued together."""
    epoch: int = 6
    """Elites that join the archive before the prompt's list of elites grows."""
    migrate_every: int = 12
    """Verdicts between two migrations."""
    repairs: int = 2
    """Further rounds for an answer that cannot be built or is wrong; the last asks for whole regions."""
    tune_evaluations: int = 24
    """What the tuner may spend on one elite."""
    max_output_tokens: int = 16_000


class Setup(Event, frozen=True, tag="remix"):
    """Second line: who proposes, and by which rules."""

    proposers: tuple[str, ...]
    policy: str
    settings: LoopSettings
    sent_to: tuple[str, ...] = ()
    """Where source text goes; empty when it stays on this machine."""
    prices: tuple[Price, ...] = ()
    """Of the hosted models: what the answers' costs were computed by."""


class Source(Event, frozen=True, tag="source"):
    """A kernel's editable source, before its search."""

    kernel: str
    source: SourceKernel
    variant: Variant | None = None
    """The original, built as every rewrite is; None where it could not be built."""
    sheet: Sheet | None = None
    artefact: Artefact | None = None
    features: Features | None = None
    """Of the original; so are ``resources``."""
    resources: dict[str, int] = {}


class PromptBlock(Event, frozen=True, tag="block"):
    """A part of prompts, once; requests name it."""

    id: str
    """First 16 hex digits of the SHA-256 of the text."""
    name: str
    text: str


class Decision(Event, frozen=True, tag="decision"):
    """Which arm asks for a batch of siblings, and what the policy knew when it chose."""

    n: int
    """The batch's first request."""
    kernel: str
    policy: str
    proposer: str
    operator: str
    inputs: dict[str, Any]


class Request(Event, frozen=True, tag="request"):
    """A prompt goes out. ``n`` counts the proposals of the whole search."""

    n: int
    kernel: str
    round: int
    """0, then 1 and 2 for repairs of the same proposal."""
    batch: int
    """First request of its siblings."""
    seen: int
    """Verdicts of the kernel that it was drawn from: it depends on those, the seed and ``n`` alone."""
    island: int
    parent: int | None
    """Proposal; None for the original source."""
    operator: str
    proposer: str
    prompt: str
    """Prompt id."""
    blocks: tuple[str, ...]
    """Ids of its blocks, in order."""
    breakpoints: tuple[int, ...]
    """Positions in ``blocks`` behind which a provider's cache breakpoint stands."""
    shared: float
    """Part of its characters that the request before it, of the same proposer, began with as well."""


class Reply(Event, frozen=True, tag="answer"):
    """What a proposer said."""

    n: int
    kernel: str
    round: int
    proposer: str
    prompt: str
    answer: Answer


class Failed(Event, frozen=True, tag="failure"):
    """A request without an answer."""

    n: int
    kernel: str
    round: int
    proposer: str
    prompt: str
    kind: FailureKind
    message: str
    cost_usd: float = 0.0
    """What the request cost all the same, and the tokens that it took."""
    tokens: int = 0


class Learnt(Event, frozen=True, tag="experience"):
    """What asking came to, as the policy was told: telling it again restores the policy."""

    n: int
    kernel: str
    experience: Experience


class Build(Event, frozen=True, tag="build"):
    """What an answer became: a variant, or why not."""

    n: int
    kernel: str
    round: int
    strategy: str = ""
    texts: dict[str, str] = {}
    """Texts of the regions that differ from the original."""
    values: dict[str, str] = {}
    """Of the rewrite's parameters, where they are not the defaults."""
    variant: Variant | None = None
    artefact: Artefact | None = None
    """What the variant's optimised IR says."""
    rejection: Rejection | None = None


class Tuned(Event, frozen=True, tag="tuned"):
    """What the tuner made of an elite."""

    n: int
    kernel: str
    evaluations: int
    candidate: Candidate
    """The best; the rewrite alone when nothing was better beyond noise."""
    ratio: Interval
    changes: tuple[str, ...] = ()


class Verdict(Event, frozen=True, tag="verdict"):
    """What became of a proposal, in the order of the proposals: the archive is folded from these."""

    n: int
    kernel: str
    island: int
    parent: int | None
    operator: str
    proposer: str
    stage: Stage
    """Where it ended; ``time`` for what is right and was measured."""
    reason: str = ""
    """Empty for what was measured."""
    message: str = ""
    """One paragraph for the next prompts."""
    strategy: str = ""
    texts: dict[str, str] = {}
    """Texts that differ from the original, of what was measured."""
    variant: str | None = None
    source_hash: str = ""
    ir_hash: str = ""
    candidate: Candidate = Candidate()
    """With what the tuner found."""
    features: Features | None = None
    ratio: Interval | None = None
    """Time over the baseline's."""
    changes: tuple[str, ...] = ()
    """What the tuner changed."""
    resources: dict[str, int] = {}
    """Registers, spills, shared bytes, … as its evaluation told them."""


class Migration(Event, frozen=True, tag="migration"):
    """An elite is copied to another island, where it competes for its cell."""

    kernel: str
    n: int
    origin: int
    target: int


AnyEvent = (
    Setup
    | Source
    | PromptBlock
    | Decision
    | Request
    | Reply
    | Failed
    | Learnt
    | Build
    | Tuned
    | Verdict
    | Migration
    | shared.Begin
    | shared.Session
    | shared.Baseline
    | shared.Answer
    | shared.Incumbent
    | shared.Stop
    | shared.Final
    | shared.Result
    | shared.End
)
_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in get_args(AnyEvent))


def read_transcript(path: Path) -> tuple[AnyEvent, ...]:
    """Every event of a remix search's log, in order; a torn last line is left out.

    Raises R3Error for a file that is not there, a damaged line, and the log of another version or of a tune search.
    """
    if not path.is_file():
        raise R3Error(f"there is no transcript {path}")
    events: list[AnyEvent] = []
    for number, line in enumerate(read_events(path), start=1):
        if number == 1:
            _check_begin(path, line)
        if line.get("event") not in _KINDS:
            continue
        try:
            events.append(msgspec.convert(line, AnyEvent))
        except msgspec.ValidationError as error:
            raise R3Error(f"line {number} of the event log {path} is damaged: {error}") from None
    return tuple(events)


def _check_begin(path: Path, line: dict[str, Any]) -> None:
    if line.get("version") != VERSION:
        raise R3Error(f"the search in {path} has version {line.get('version')}, this R3 reads {VERSION}")
    if line.get("optimizer") != OPTIMIZER:
        raise R3Error(f"{path} is the log of a tune search; a transcript is the log of a remix search")
