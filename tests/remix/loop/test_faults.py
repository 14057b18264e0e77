"""The real loop with the real SDKs against a server that fails in every way, and answers with hostile code."""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from r3cc.remix.events import Decision, Failed, Reply, Verdict
from r3cc.remix.prices import Price, PriceTable
from r3cc.remix.prompts.answers import format_answer
from r3cc.remix.proposers import breaker, open_proposers, retry
from r3cc.remix.proposers.hosted import HostedProposer, Patience
from r3cc.remix.search import Allowed
from r3cc.replay.events import End, Stop
from tests.remix.fake_server import FakeServer, Fault
from tests.remix.synthetic import KNOBS, World, search

KEY = "sk-the-key-that-nobody-may-see-0123"
PRICES = PriceTable((Price("m", input=1.0, output=2.0, cache_read=0.1, cache_write=1.25),))
HOSTILE = (
    '#include "/etc/passwd"\n__global__ void k(float *x, int n) {}',
    "__global__ void k(float *x, int n) { syntax error",
    "__global__ void k(float *x, int n) {\n  wrong = 1;\n  tile = 1;\n}",
    "__global__ void k(float *x, int n) {\n  hang = 1;\n  tile = 2;\n}",
)
FAULTS = [fault for fault in Fault if fault is not Fault.UNAUTHORIZED]
KERNEL = re.compile(r"__global__ void k\(float \*x, int n\) \{\n.*?\n\}", re.DOTALL)


class Model:
    """Changes a number of the last kernel in a prompt; every sixth answer is hostile, every ninth no answer at all."""

    def __init__(self) -> None:
        self._count = itertools.count(1)
        self._chance = random.Random(5)

    def __call__(self, prompt: str) -> str:
        number = next(self._count)
        if number % 9 == 0:
            return "I would rather talk about the weather. " * 5
        if number % 6 == 0:
            return format_answer("evil", {"k": HOSTILE[number // 6 % len(HOSTILE)]})
        name = self._chance.choice(KNOBS)
        parent = KERNEL.findall(prompt)[-1]
        return format_answer(name, {"k": re.sub(rf"{name} = \d+;", f"{name} = {self._chance.randrange(9)};", parent)})


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(answer=Model(), stall_s=5.0, retry_after="0.02") as running:
        yield running


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same waits, a hundred times shorter."""
    monkeypatch.setattr(breaker, "FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr(breaker, "LONGEST_PAUSE_S", 0.1)
    monkeypatch.setattr(retry, "FIRST_WAIT_S", 0.005)
    monkeypatch.setattr(retry, "LONGEST_WAIT_S", 0.05)
    monkeypatch.setenv("R3_LLM_KEY", KEY)


def both(server: FakeServer) -> list[HostedProposer]:
    opened = open_proposers([f"anthropic:m@{server.url}", f"openai:m@{server.url}/v1"], PRICES)
    for each in opened:
        assert isinstance(each, HostedProposer)
        each._patience = Patience(first_piece=0.002, stall_s=0.5)
    return opened  # type: ignore[return-value]


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_a_run_survives_a_hundred_faults(server: FakeServer, tmp_path: Path) -> None:
    faults = list(itertools.islice(itertools.cycle(FAULTS), 100))
    random.Random(3).shuffle(faults)
    server.script = deque(faults)
    opened_before = open_files()
    world = World()

    ran = search(tmp_path / "log", both(server), world=world, allowed=Allowed(proposals=90))

    assert not server.script, "all hundred were met"
    assert ran.of(Stop)[0].reason == "budget" and ran.of(End)
    assert len(ran.of(Verdict)) == 90
    assert len(ran.of(Reply)) > 60
    assert {decision.proposer for decision in ran.of(Decision)} == {each.name for each in both(server)}
    assert all(failed.message for failed in ran.of(Failed))
    assert KEY.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert any(KEY in seen.headers["authorization"] for seen in server.seen)
    assert open_files() <= opened_before + 4
    for elite in ran.states["abc"].archive:
        assert isinstance(world.model(elite.candidate), float), "only what is right is in the archive"
    assert ran.states["abc"].best_ratio < 1.0


def test_a_wrong_key_ends_the_search_and_is_told_once(server: FakeServer, tmp_path: Path) -> None:
    server.script = deque([Fault.UNAUTHORIZED] * 50)
    ran = search(tmp_path / "log", both(server), allowed=Allowed(proposals=40))
    assert ran.of(Stop)[0].reason == "exhausted"
    assert len(server.seen) <= 8, "requests under way, and no more"
    assert KEY not in "".join(str(failed) for failed in ran.of(Failed))


def test_most_of_a_prompt_comes_from_the_cache(server: FakeServer, tmp_path: Path) -> None:
    ran = search(tmp_path / "log", both(server), allowed=Allowed(proposals=32))
    read, total = Counter[str](), Counter[str]()
    for reply in ran.of(Reply):
        usage = reply.answer.usage
        read[reply.proposer] += usage.cache_read
        total[reply.proposer] += usage.uncached + usage.cache_read + usage.cache_write
    assert len(total) == 2
    for name in total:
        assert read[name] / total[name] > 0.6, name
