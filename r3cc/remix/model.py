"""The values that the parts of remix hand to one another."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Mapping
from typing import Protocol

import msgspec

from r3cc.remix.artefact import Artefact


class Region(msgspec.Struct, frozen=True):
    """A piece of source that a proposer may rewrite: the kernel, or a device function that it calls."""

    name: str
    """Unique in its kernel, stable over runs: the function's name, with ``#2`` and so on for overloads."""
    path: str
    """Source file, as the recorded compile command reaches it from its directory."""
    begin: int
    """Byte offset of the first character in the file."""
    end: int
    text: str
    kernel: bool
    """The kernel itself, not a function that it calls."""


class SourceKernel(msgspec.Struct, frozen=True):
    """A kernel's editable source."""

    kernel: str
    """Kernel id."""
    name: str
    """Mangled name, which every variant keeps."""
    regions: tuple[Region, ...]
    """The kernel first, then its device functions in the order of first use."""


Texts = Mapping[str, str]
"""New texts by region name; a region that is not there keeps its own."""


class Parameter(msgspec.Struct, frozen=True):
    """A value that a rewrite leaves to the tuner: ``R3_PARAM(name, 64, 128, 256)``; the first is the default."""

    name: str
    values: tuple[str, ...]


class Stage(enum.StrEnum):
    """Where a proposal ended, in order of price."""

    PARSE = "parse"
    """The answer holds no rewrite that can be applied."""
    REGIONS = "regions"
    """It touches what it may not: signature, includes, assembly, text outside the regions."""
    DUPLICATE_SOURCE = "duplicate_source"
    COMPILE = "compile"
    ABI = "abi"
    """Mangled name, parameter layout, globals or external symbols differ."""
    DUPLICATE_IR = "duplicate_ir"
    RESOURCES = "resources"
    CORRECT = "correct"
    """Wrong on one recorded launch, or it never ended."""
    HELD_OUT = "held_out"
    """Wrong on all launches, the held-out ones or perturbed inputs."""
    TIME = "time"
    """Right, and measured."""
    CONFIRM = "confirm"
    """Measured again in a fresh process."""


class Rejection(msgspec.Struct, frozen=True):
    """Why a proposal went no further; the message is for the next prompt."""

    stage: Stage
    reason: str
    """One word for counting, such as ``signature_changed``."""
    message: str
    """One short paragraph, without paths of this machine."""


class Variant(msgspec.Struct, frozen=True):
    """A rewritten kernel whose device IR passed every check that needs no launch.

    Its bitcode is ``STORE/variants/<id>.bc``, its module JSON (docs/binary-format.md) ``<id>.json``;
    ``Candidate.variant`` names it.
    """

    id: str
    """First 16 hex digits of the SHA-256 of the bitcode."""
    source_hash: str
    """Of the regions' texts without comments and white space."""
    ir_hash: str
    """Canonical hash of the kernel's closure (the kernel digest): equal for equal strategies in other words."""
    parameters: Mapping[str, str] = {}
    """Values of the rewrite's parameters in this build."""


class Built(msgspec.Struct, frozen=True):
    """A variant and what its optimised IR says."""

    variant: Variant
    artefact: Artefact


class SourceBuilder(Protocol):
    """Turns rewritten regions into a variant; blocks, and is called from worker threads."""

    @property
    def source(self) -> SourceKernel:
        """What may be rewritten."""
        ...

    def parameters(self, texts: Texts) -> tuple[Parameter, ...]:
        """The parameters that a rewrite leaves open."""
        ...

    def build(self, texts: Texts, values: Mapping[str, str] = {}) -> Built | Rejection:
        """Check, compile in a sandbox and check the IR; ``values`` for the rewrite's parameters, else the defaults.

        Raises R3Error where nothing can be compiled.
        """
        ...

    def rebuild(self, variant: Variant, texts: Texts) -> None:
        """Build again what a log tells of, under its name: paths in its IR may give it another id here.

        Nothing is kept where the kernel's code is another one. Raises R3Error where nothing can be compiled.
        """
        ...


class Block(msgspec.Struct, frozen=True):
    """A part of a prompt, from the most stable to the most volatile."""

    name: str
    """``system``, ``kernel``, ``elites``, ``parent``, ``request``."""
    text: str
    cached: bool
    """A provider's cache breakpoint belongs behind it."""


class Prompt(msgspec.Struct, frozen=True):
    """What a proposer is asked. The first block is the system prompt, the others make one user turn.

    ``parent`` has the same regions as the text: proposers without a model read it, and ``sample`` seeds them.
    """

    blocks: tuple[Block, ...]
    parent: Mapping[str, str]
    kernel_region: str
    sample: int
    """Number of the request in the search: equal prompts with other samples may have other answers."""
    max_output_tokens: int = 16_000

    @property
    def text(self) -> str:
        """All blocks in order."""
        return "\n\n".join(block.text for block in self.blocks)

    @property
    def id(self) -> str:
        """First 16 hex digits of the SHA-256 of the text and the sample number."""
        return hashlib.sha256(msgspec.json.encode([self.text, self.sample])).hexdigest()[:16]


class TokenUsage(msgspec.Struct, frozen=True):
    """Tokens of one answer; input is the sum of the first three."""

    uncached: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    """Part of ``output``."""
    estimated: bool = False
    """Counted from characters, because the server said nothing."""

    @property
    def total(self) -> int:
        """Input and output."""
        return self.uncached + self.cache_read + self.cache_write + self.output


class Answer(msgspec.Struct, frozen=True):
    """What a proposer said."""

    text: str
    model: str
    usage: TokenUsage = TokenUsage()
    stop: str = "end"
    """``end``, ``length`` or ``refusal``."""
    first_token_s: float = 0.0
    total_s: float = 0.0
    cost_usd: float = 0.0
    lost_tokens: int = 0
    """Of attempts that broke off before this answer; ``cost_usd`` has their price."""
    request_id: str = ""


class FailureKind(enum.StrEnum):
    """Why a proposer gave no answer."""

    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    DEADLINE = "deadline"
    REFUSED = "refused"
    INVALID = "invalid"
    """The answer breaks the protocol: cut JSON, no choices."""
    UNREACHABLE = "unreachable"
    BAD_REQUEST = "bad_request"
    """It will not get better by itself: wrong key, unknown model."""
    EXHAUSTED = "exhausted"
    """Nothing more to propose: a transcript's end, a mailbox that was closed."""


class ProposerError(Exception):
    """A request that failed for good: an event of the search, never its end."""

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        retry_after_s: float | None = None,
        cost_usd: float = 0.0,
        tokens: int = 0,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after_s = retry_after_s
        self.cost_usd = cost_usd
        """What the lost attempts cost, estimated where the provider didn't say; so are ``tokens``."""
        self.tokens = tokens


class Proposer(Protocol):
    """Prompt in, text out."""

    @property
    def name(self) -> str:
        """As the user gave it, without secrets: ``anthropic:claude-…``, ``rules``."""
        ...

    @property
    def destination(self) -> str | None:
        """Where source text goes, for the notice before the first call; None when it stays on this machine."""
        ...

    def worst_cost_usd(self, prompt: Prompt) -> float:
        """The most that one answer can cost; 0 for what is free."""
        ...

    def worst_tokens(self, prompt: Prompt) -> int:
        """The most tokens, input and output, that one answer can take; 0 for what takes none."""
        ...

    async def propose(self, prompt: Prompt, deadline_s: float) -> Answer:
        """One answer within ``deadline_s`` seconds, retries included. Raises :class:`ProposerError`."""
        ...

    async def close(self) -> None:
        """Release connections and processes."""
        ...


class Features(msgspec.Struct, frozen=True):
    """A candidate's place in the archive: bin numbers by dimension, from the compiled artefact alone."""

    bins: tuple[tuple[str, int], ...]
