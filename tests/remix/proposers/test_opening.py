"""Specifications, keys and prices."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from r3cc.errors import R3Error
from r3cc.remix.model import TokenUsage
from r3cc.remix.prices import FREE, Price, PriceTable, builtin_prices
from r3cc.remix.proposers import open_proposer, open_proposers
from r3cc.remix.proposers.hosted import HostedProposer
from r3cc.remix.proposers.opening import require_prices, used_prices
from r3cc.remix.proposers.redaction import one_line
from tests.remix.proposers.prompts import prompt

KEY = "sk-a-key-of-somebody"


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, KEY)


def hosted(spec: str, prices: PriceTable | None = None) -> HostedProposer:
    opened = open_proposer(spec, prices)
    assert isinstance(opened, HostedProposer)
    return opened


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gpt-5", "no proposer 'gpt-5'; the forms are rules, command:PROGRAM"),
        ("openai:", "something is missing; the form is openai:MODEL"),
        ("mailbox", "the form is mailbox:DIR"),
        ("rules:fast", "takes nothing behind it"),
        ("openai:two words", "the form is openai:MODEL"),
        ("openai:m,effort=heroic", "effort is one of none, minimal, low, medium, high, xhigh"),
        ("openai:m@https://user:pass@host/v1", "no user, password or query"),
        ("openai:m", "needs a key in the variable OPENAI_API_KEY"),
        ("anthropic:m", "needs a key in the variable ANTHROPIC_API_KEY"),
        ("transcript:none.jsonl", "no transcript"),
    ],
)
def test_what_is_wrong_is_one_sentence(spec: str, message: str) -> None:
    with pytest.raises(R3Error, match=message) as caught:
        open_proposer(spec)
    assert "pass@" not in str(caught.value)


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(
    ("spec", "model", "destination"),
    [
        ("anthropic:claude-opus-5", "claude-opus-5", "api.anthropic.com"),
        ("openai:gpt-5,effort=high", "gpt-5", "api.openai.com"),
        ("openai:qwen2.5-coder:7b@http://127.0.0.1:11434/v1", "qwen2.5-coder:7b", None),
        ("openai:org/model@main@http://gpu7.cluster:8000/v1", "org/model@main", "gpu7.cluster"),
        ("anthropic:m,effort=low@http://[::1]:80", "m", None),
    ],
)
def test_model_and_destination(spec: str, model: str, destination: str | None) -> None:
    opened = hosted(spec)
    assert (opened.name, opened.hosted.model, opened.destination) == (spec, model, destination)


@pytest.mark.usefixtures("keys")
def test_a_base_url_of_the_environment_is_named_as_destination(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.example/v1")
    assert hosted("openai:gpt-5").destination == "gateway.example"


@pytest.mark.usefixtures("keys")
def test_a_providers_key_never_goes_to_another_host(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in ("openai", "anthropic"):
        client = hosted(f"{provider}:m@https://elsewhere.example/v1")._wire._client  # type: ignore[attr-defined]
        assert client.api_key == "none"
    monkeypatch.setenv("R3_LLM_KEY", "its-own")
    assert hosted("openai:m@https://elsewhere.example/v1")._wire._client.api_key == "its-own"  # type: ignore[attr-defined]


@pytest.mark.usefixtures("keys")
def test_only_openai_itself_gets_its_own_fields() -> None:
    official = hosted("openai:gpt-5,effort=high")._wire.request(prompt())  # type: ignore[attr-defined]
    assert official["reasoning_effort"] == "high" and official["max_completion_tokens"] == 1000
    assert "seed" not in official and "max_tokens" not in official
    other_question = hosted("openai:gpt-5")._wire.request(prompt("other"))  # type: ignore[attr-defined]
    assert official["prompt_cache_key"] == other_question["prompt_cache_key"]


@pytest.mark.usefixtures("keys")
def test_a_cap_on_cost_needs_prices() -> None:
    known, unknown = hosted("openai:gpt-5"), hosted("openai:gpt-99")
    assert unknown.worst_cost_usd(prompt()) == float("inf")
    with pytest.raises(R3Error, match=r"price of gpt-99 is unknown.*\[\[price\]\] entry"):
        require_prices([known, unknown])
    own = builtin_prices().extended([Price("gpt-99", 100.0, 200.0)])
    require_prices([hosted("openai:gpt-99", own)])
    dated = hosted("openai:gpt-5-2025-08-07")
    assert [(price.model, price.output) for price in used_prices([known, open_proposer("rules"), dated])] == [
        ("gpt-5", 10.0),
        ("gpt-5-2025-08-07", 10.0),
    ]
    assert hosted("openai:m@http://localhost:1/v1").hosted.price is FREE


def test_prices_are_found_by_name_and_date() -> None:
    table = PriceTable((Price("m-5", 1, 2), Price("m-5-mini", 3, 4), Price("m-5", 5, 6)))
    assert table.find("m-5") == table.find("m-5-2026-01-31") == table.find("m-5-20260131") == table.prices[2]
    assert table.find("m-5-mini") == table.prices[1]
    assert table.find("m-5-pro") is None and table.find("m-55") is None
    for price in builtin_prices().prices:
        assert 0 < price.input < price.output and (price.cache_read or 0) < price.input


def test_cost_of_an_answer() -> None:
    usage = TokenUsage(uncached=1_000_000, cache_read=2_000_000, cache_write=4_000_000, output=100_000)
    assert Price("m", 1.0, 10.0, 0.1, 1.25).cost_usd(usage) == pytest.approx(1.0 + 0.2 + 5.0 + 1.0)
    assert Price("m", 1.0, 10.0).cost_usd(usage) == pytest.approx(8.0)


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_missing_package_is_one_sentence(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("r3cc.remix.proposers.") and name.endswith("_wire"):
            raise ImportError(provider)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(R3Error, match=r"pip install 'r3cc\[remix\]'"):
        open_proposer(f"{provider}:m")


def test_several_are_opened_in_order(tmp_path: Path) -> None:
    assert [each.name for each in open_proposers(["rules", f"mailbox:{tmp_path}"])] == ["rules", f"mailbox:{tmp_path}"]


@pytest.mark.parametrize(
    "text", ["Incorrect API key provided: sk-abc***********xyz", "Authorization: Bearer abcdefg", f"key {KEY}"]
)
def test_what_looks_like_a_key_is_not_repeated(text: str) -> None:
    assert "[key]" in one_line(text) and "abc" not in one_line(text) and KEY not in one_line(text)
