"""Both SDKs against a server that really speaks, and really fails."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator

import pytest

from r3cc.remix.model import Answer, FailureKind, Prompt, ProposerError
from r3cc.remix.prices import Price, PriceTable
from r3cc.remix.proposers import open_proposer
from r3cc.remix.proposers.hosted import HostedProposer, Patience
from tests.remix.fake_server import FakeServer, Fault
from tests.remix.proposers.prompts import prompt

PROVIDERS = ("anthropic", "openai")
KEY = "sk-secret-0123456789abcdef"
PRICES = PriceTable((Price("m", input=1.0, output=10.0, cache_read=0.1, cache_write=1.25),))


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(answer=lambda text: "STRATEGY: nothing " * 20) as running:
        yield running


def proposer(provider: str, server: FakeServer, prices: PriceTable = PRICES) -> HostedProposer:
    path = "/v1" if provider == "openai" else ""
    opened = open_proposer(f"{provider}:m@{server.url}{path}", prices)
    assert isinstance(opened, HostedProposer)
    return opened


def ask(asked: HostedProposer, *prompts: Prompt, deadline_s: float = 10.0) -> list[Answer]:
    async def all_in_turn() -> list[Answer]:
        try:
            return [await asked.propose(each, deadline_s) for each in prompts]
        finally:
            await asked.close()

    return asyncio.run(all_in_turn())


def failure(asked: HostedProposer, deadline_s: float = 10.0) -> ProposerError:
    with pytest.raises(ProposerError) as caught:
        ask(asked, prompt(), deadline_s=deadline_s)
    return caught.value


@pytest.mark.parametrize("provider", PROVIDERS)
def test_answer_with_its_numbers(provider: str, server: FakeServer) -> None:
    (answer,) = ask(proposer(provider, server), prompt())
    assert answer.text == server.answer("") and answer.stop == "end" and answer.model == "m"
    assert answer.request_id == "req_7" and answer.usage.reasoning == 3 and not answer.usage.estimated
    assert 0.0 < answer.first_token_s <= answer.total_s
    assert answer.cost_usd == PRICES.prices[0].cost_usd(answer.usage) > 0.0


@pytest.mark.parametrize("provider", PROVIDERS)
def test_cached_tokens_are_counted(provider: str, server: FakeServer) -> None:
    first, second = ask(proposer(provider, server), prompt("one"), prompt("two"))
    total = len(prompt("one").text) // 4
    assert first.usage.cache_read == 0
    assert second.usage.cache_read > 0.8 * total
    for answer in (first, second):
        assert abs(answer.usage.uncached + answer.usage.cache_read + answer.usage.cache_write - total) <= 2


def test_anthropic_breakpoints_stand_behind_cached_blocks(server: FakeServer) -> None:
    ask(proposer("anthropic", server), prompt())
    body = server.seen[0].body
    assert [("cache_control" in part) for part in body["system"]] == [True]
    assert [("cache_control" in part) for part in body["messages"][0]["content"]] == [True, True, False]


def test_a_compatible_server_gets_seed_and_the_older_limit(server: FakeServer) -> None:
    ask(proposer("openai", server), prompt(sample=5))
    body = server.seen[0].body
    assert (body["seed"], body["max_tokens"]) == (5, 1000)
    assert "prompt_cache_key" not in body and "max_completion_tokens" not in body


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "fault",
    [
        Fault.RATE_LIMITED,
        Fault.OVERLOADED,
        Fault.SERVER_ERROR,
        Fault.DISCONNECT,
        Fault.CUT_STREAM,
        Fault.CUT_JSON,
        Fault.ERROR_MID_STREAM,
        Fault.GARBAGE,
    ],
)
def test_faults_that_pass(provider: str, fault: Fault, server: FakeServer) -> None:
    server.script = deque([fault])
    (answer,) = ask(proposer(provider, server), prompt())
    assert answer.text == server.answer("") and len(server.seen) == 2


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("fault", [Fault.STALL_BEFORE_HEADERS, Fault.STALL_MID_STREAM])
def test_stalls_are_given_up_and_asked_again(provider: str, fault: Fault, server: FakeServer) -> None:
    server.script = deque([fault])
    asked = proposer(provider, server)
    asked._patience = Patience(first_piece=0.1, stall_s=0.1)
    (answer,) = ask(asked, prompt(), deadline_s=5.0)
    assert answer.text == server.answer("") and len(server.seen) == 2


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault.RATE_LIMITED, FailureKind.RATE_LIMITED),
        (Fault.OVERLOADED, FailureKind.OVERLOADED),
        (Fault.DISCONNECT, FailureKind.UNREACHABLE),
        (Fault.GARBAGE, FailureKind.INVALID),
        (Fault.CUT_JSON, FailureKind.INVALID),
    ],
)
def test_faults_that_last_have_a_kind(provider: str, fault: Fault, kind: FailureKind, server: FakeServer) -> None:
    server.script = deque([fault] * 50)
    assert failure(proposer(provider, server), 3.0).kind is kind


@pytest.mark.parametrize("provider", PROVIDERS)
def test_one_deadline_holds_for_all_attempts(provider: str, server: FakeServer) -> None:
    server.script = deque([Fault.STALL_BEFORE_HEADERS] * 50)
    asyncio.run(asyncio.wait_for(asyncio.to_thread(lambda: failure(proposer(provider, server), 0.5)), 5.0))
    assert len(server.seen) < 5


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_long_retry_after_ends_the_request_and_parks_the_provider(provider: str, server: FakeServer) -> None:
    server.script, server.retry_after = deque([Fault.RATE_LIMITED]), "300"
    asked = proposer(provider, server)
    first = failure(asked, 5.0)
    assert first.kind is FailureKind.RATE_LIMITED and first.retry_after_s == pytest.approx(300.0, abs=1.0)
    assert failure(asked, 5.0).kind is FailureKind.OVERLOADED and len(server.seen) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_cannot_get_better_is_asked_once_and_the_key_stays_secret(
    provider: str, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("R3_LLM_KEY", KEY)
    server.script = deque([Fault.UNAUTHORIZED])
    error = failure(proposer(provider, server))
    assert error.kind is FailureKind.BAD_REQUEST and len(server.seen) == 1
    assert KEY in server.seen[0].headers["authorization"]
    assert KEY not in str(error) and KEY not in repr(error.__context__ or "") and "secret" not in str(error)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_length_stop_and_refusal_are_answers(provider: str, server: FakeServer) -> None:
    server.script = deque([Fault.LENGTH_STOP, Fault.REFUSAL])
    cut, refused = ask(proposer(provider, server), prompt(), prompt())
    assert (cut.stop, refused.stop) == ("length", "refusal")
    assert refused.cost_usd > 0.0


@pytest.mark.parametrize("provider", PROVIDERS)
def test_missing_usage_is_estimated(provider: str, server: FakeServer) -> None:
    server.script = deque([Fault.NO_USAGE])
    (answer,) = ask(proposer(provider, server), prompt())
    assert answer.usage.estimated and answer.usage.uncached > 100 and answer.cost_usd > 0.0


@pytest.mark.parametrize("provider", PROVIDERS)
def test_lost_attempts_are_charged_and_bounded(provider: str, server: FakeServer) -> None:
    server.script = deque([Fault.CUT_STREAM])
    asked = proposer(provider, server)
    (answer,) = ask(asked, prompt())
    assert PRICES.prices[0].cost_usd(answer.usage) < answer.cost_usd <= asked.worst_cost_usd(prompt())
    server.script = deque([Fault.CUT_STREAM] * 50)
    before = len(server.seen)
    error = failure(proposer(provider, server), 5.0)
    assert len(server.seen) - before == 2 and 0.0 < error.cost_usd <= asked.worst_cost_usd(prompt())


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_answer_that_is_cut_by_the_deadline_is_charged(provider: str, server: FakeServer) -> None:
    server.script = deque([Fault.STALL_MID_STREAM] * 9)
    error = failure(proposer(provider, server), 0.7)
    assert error.kind is FailureKind.DEADLINE
    assert error.cost_usd > 0.0 and error.tokens > 100


@pytest.mark.parametrize("provider", PROVIDERS)
def test_worst_cost_is_an_upper_bound(provider: str, server: FakeServer) -> None:
    asked = proposer(provider, server)
    server.answer = lambda text: "x" * 3500
    (answer,) = ask(asked, prompt())
    assert 0.0 < answer.cost_usd <= asked.worst_cost_usd(prompt())
    assert proposer(provider, server, PriceTable()).worst_cost_usd(prompt()) == 0.0  # on this machine
