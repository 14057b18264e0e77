"""A world for the loop without compiler, device or model: sources are lists of numbers, times a function of them."""

from __future__ import annotations

import asyncio
import hashlib
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from r3cc.remix.artefact import Artefact
from r3cc.remix.choosing import Choice, Experience, Situation
from r3cc.remix.events import AnyEvent, LoopSettings, Setup, read_transcript
from r3cc.remix.loop.journal import Journal
from r3cc.remix.model import (
    Answer,
    Built,
    FailureKind,
    Parameter,
    Prompt,
    Proposer,
    ProposerError,
    Region,
    Rejection,
    SourceKernel,
    Stage,
    TokenUsage,
    Variant,
)
from r3cc.remix.prompts.answers import format_answer
from r3cc.remix.search import Allowed, Company, Remixer, Target
from r3cc.remix.sheet import Sheet
from r3cc.remix.watching import Silent
from r3cc.replay.events import Begin, KernelPlan
from r3cc.replay.model import Candidate, Status
from r3cc.store.eventlog import EventLog
from tests.tune import synthetic as tuning

KNOBS = ("tile", "width", "unroll")
ORIGINAL = "__global__ void k(float *x, int n) {\n  tile = 0;\n  width = 0;\n  unroll = 0;\n}"
HELPER = "__device__ float half(float x) {\n  return x / 2;\n}"
SOURCE = SourceKernel(
    kernel="abc",
    name="k",
    regions=(
        Region("k", "k.cu", 100, 100 + len(ORIGINAL), ORIGINAL, kernel=True),
        Region("half", "half.h", 7, 7 + len(HELPER), HELPER, kernel=False),
    ),
)
SETTINGS = LoopSettings(dimensions=("synchronisation", "access", "work"), repairs=1, tune_evaluations=0)


def knobs(text: str) -> dict[str, int]:
    """The numbers in a source."""
    return {name: int(value) for name, value in re.findall(r"(\w+) = (\d+);", text)}


class World:
    """Builds and times variants; ``SourceBuilder`` and the evaluator's model in one, since both know the texts."""

    source = SOURCE

    def __init__(self, *, delay: Callable[[], float] = lambda: 0.0) -> None:
        self.texts: dict[str, Mapping[str, str]] = {}
        self.values: dict[str, Mapping[str, str]] = {}
        self.builds: Counter[str] = Counter()
        self.rebuilt: list[str] = []
        self._delay = delay

    def parameters(self, texts: Mapping[str, str]) -> tuple[Parameter, ...]:
        found = re.findall(r"R3_PARAM\((\w+), ([\d, ]+)\)", "".join(texts.values()))
        return tuple(Parameter(name, tuple(values.split(", "))) for name, values in found)

    def rebuild(self, variant: Variant, texts: Mapping[str, str]) -> None:
        self.rebuilt.append(variant.id)

    def build(self, texts: Mapping[str, str], values: Mapping[str, str] = {}) -> Built | Rejection:
        text = "\n".join(texts.get(region.name, region.text) for region in SOURCE.regions)
        chosen = {each.name: values.get(each.name, each.values[0]) for each in self.parameters(texts)}
        text = re.sub(r"R3_PARAM\((\w+),[^)]*\)", lambda match: chosen.get(match[1], "0"), text)
        self.builds[text] += 1
        if "#include" in text:
            return Rejection(Stage.REGIONS, "include", "No #include is allowed.")
        if "syntax" in text:
            return Rejection(Stage.COMPILE, "does_not_compile", "expected ';'")
        found = hashlib.sha256(re.sub(r"//.*", "", text).encode()).hexdigest()[:16]
        self.texts[found] = {**texts, "": text}
        source_hash = hashlib.sha256(re.sub(r"\s|//.*", "", text).encode()).hexdigest()
        ir_hash = hashlib.sha256(
            repr((sorted(knobs(text).items()), "wrong" in text, "hang" in text)).encode()
        ).hexdigest()
        return Built(Variant(found, source_hash, ir_hash, chosen), self._artefact(text))

    def _artefact(self, text: str) -> Artefact:
        found = knobs(text)
        width = 4 << min(found.get("width", 0), 2)
        return Artefact(
            accesses=2 + 4 * found.get("unroll", 0),
            bytes=width * 4,
            widest=width,
            async_copies=False,
            flops=8,
            block_barriers=found.get("tile", 0) > 1,
            warp_operations=found.get("tile", 0) == 1,
            atomics=False,
        )

    def model(self, candidate: Candidate) -> float | Status:
        """True time over the baseline's."""
        if candidate.variant is None:
            return 1.0
        text = self.texts[candidate.variant][""]
        if "wrong" in text:
            return Status.MISMATCH
        if "hang" in text:
            return Status.TIMEOUT
        found = knobs(text)
        ratio = 1.0
        ratio *= 0.9 if found.get("width") == 2 else 1.0
        ratio *= {0: 1.0, 1: 0.95, 2: 0.8}.get(found.get("tile", 0), 1.2)
        ratio *= 1 + 0.02 * abs(found.get("unroll", 0) - 4) - 0.08
        return ratio * (0.93 if candidate.pipeline or candidate.codegen else 1.0)


class Scribe:
    """A proposer that changes a number of its parent; some answers are broken in the way that ``spoil`` says."""

    destination: str | None = None

    def __init__(
        self,
        name: str = "scribe",
        spoil: Callable[[Prompt], str | ProposerError | None] = lambda prompt: None,
        latency: Callable[[], float] = lambda: 0.0,
        cost_usd: float = 0.0,
    ) -> None:
        self.name = name
        self.prompts: list[Prompt] = []
        self.closed = False
        self._spoil = spoil
        self._latency = latency
        self._cost_usd = cost_usd

    def worst_cost_usd(self, prompt: Prompt) -> float:
        return 2 * self._cost_usd

    def worst_tokens(self, prompt: Prompt) -> int:
        return len(prompt.text)

    async def propose(self, prompt: Prompt, deadline_s: float) -> Answer:
        self.prompts.append(prompt)
        await asyncio.sleep(self._latency())
        spoilt = self._spoil(prompt)
        if isinstance(spoilt, ProposerError):
            raise spoilt
        text = spoilt if spoilt is not None else self._rewrite(prompt)
        usage = TokenUsage(uncached=len(prompt.text) // 4, output=len(text) // 4)
        return Answer(text, self.name, usage, cost_usd=self._cost_usd, total_s=0.01, first_token_s=0.001)

    def _rewrite(self, prompt: Prompt) -> str:
        rng = random.Random(f"{prompt.sample} {len(prompt.blocks)}")
        parent = prompt.parent[prompt.kernel_region]
        name = rng.choice(KNOBS)
        value = rng.randrange(4 if name != "unroll" else 9)
        text = re.sub(rf"{name} = \d+;", f"{name} = {value};", parent)
        return format_answer(f"{name} {value}", {prompt.kernel_region: text})

    async def close(self) -> None:
        self.closed = True


class InTurn:
    """A policy that asks everyone in turn."""

    name = "uniform"

    def __init__(self) -> None:
        self.experiences: list[Experience] = []

    def choose(self, situation: Situation) -> Choice:
        at = situation.n // 2 % len(situation.proposers)
        return Choice(situation.proposers[at], {"n": situation.n})

    def learn(self, experience: Experience) -> None:
        self.experiences.append(experience)


def sheet(*_: object) -> Sheet:
    return Sheet(
        device_name="a device",
        demangled="k(float*, int)",
        share=1.0,
        numerics="rounding",
        parameters=("x: pointer to float", "n: int"),
        launches=("grid 64, block 128",),
        profile=("1.000 ms a launch",),
    )


def target(world: World, noise: float = 0.001, **options: object) -> Target:
    """The synthetic kernel. Its evaluators have a seed each, as fresh processes do."""
    opened = Counter[str]()

    def open_evaluator() -> tuning.SyntheticEvaluator:
        opened["evaluators"] += 1
        return tuning.SyntheticEvaluator(world.model, noise=noise, seed=opened["evaluators"], **options)  # type: ignore[arg-type]

    def resolve(texts: Mapping[str, str], values: Mapping[str, str]) -> Mapping[str, str]:
        return {
            name: re.sub(r"R3_PARAM\((\w+),[^)]*\)", lambda match: values[match[1]], text)
            for name, text in texts.items()
        }

    return Target(
        plan=KernelPlan(kernel="abc", module="m", name="k", demangled="k", share=1.0, numerics="rounding"),
        builder=world,
        open_evaluator=open_evaluator,
        space_of=lambda variant: tuning.space(),
        sheet_of=sheet,
        resolve=resolve,
    )


BEGIN = Begin(
    at=0.0,
    version=1,
    recording="r",
    device="cpu",
    device_name="a device",
    optimizer="remix",
    seed=1,
    kernels=(),
    versions={},
)


class Ran:
    """What a search left behind."""

    def __init__(self, remixer: Remixer, path: Path) -> None:
        self.archives = remixer.archives()
        self.states = remixer.states
        self.events = read_transcript(path)

    def of(self, kind: type) -> list[AnyEvent]:
        return [event for event in self.events if isinstance(event, kind)]


def search(
    path: Path,
    proposers: Sequence[Proposer],
    *,
    world: World | None = None,
    allowed: Allowed | None = None,
    settings: LoopSettings = SETTINGS,
    script: Path | None = None,
    targets: Sequence[Target] | None = None,
) -> Ran:
    """Begin a search in a log, or go on with the one that it holds."""
    earlier = read_transcript(path) if path.exists() else ()
    with EventLog(path) as log:
        if not earlier:
            earlier = (
                BEGIN,
                Setup(at=0.0, proposers=tuple(p.name for p in proposers), policy="uniform", settings=settings),
            )
            for line in earlier:
                log.append(line)
        remixer = Remixer(
            Journal(log, earlier),
            targets or [target(world or World())],
            settings,
            Company({each.name: each for each in proposers}, InTurn(), Silent()),
            1,
            allowed or Allowed(proposals=24),
            read_transcript(script) if script is not None else (),
        )
        asyncio.run(remixer.run())
    return Ran(remixer, path)


def exhausted() -> ProposerError:
    return ProposerError(FailureKind.EXHAUSTED, "nothing more")
