"""From a specification on the command line to a proposer."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from r3cc.errors import R3Error, UsageError
from r3cc.remix.model import Proposer
from r3cc.remix.prices import FREE, Price, PriceTable, builtin_prices
from r3cc.remix.proposers.breaker import Breakers
from r3cc.remix.proposers.command import CommandProposer
from r3cc.remix.proposers.hosted import HostedModel, HostedProposer, Wire
from r3cc.remix.proposers.mailbox import MailboxProposer
from r3cc.remix.proposers.rules import RulesProposer
from r3cc.remix.proposers.transcript import TranscriptProposer

FORMS = (
    "rules",
    "command:PROGRAM",
    "mailbox:DIR",
    "transcript:FILE",
    "anthropic:MODEL[,effort=E][@URL]",
    "openai:MODEL[,effort=E][@URL]",
)
_MODEL = re.compile(
    r"(?P<model>[^\s,@]+(?:@(?!https?://)[^\s,@]+)?)(?:,effort=(?P<effort>[^\s,@]*))?(?:@(?P<url>https?://\S+))?"
)
_EFFORTS = {
    "anthropic": ("low", "medium", "high", "xhigh", "max"),
    "openai": ("none", "minimal", "low", "medium", "high", "xhigh"),
}
_HOMES = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
_URL_VARIABLES = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL"}
_KEY_VARIABLES = {"anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "openai": ("OPENAI_API_KEY",)}
OTHER_KEY = "R3_LLM_KEY"
"""Key for a server that the specification names: a provider's own key never goes to another host."""


class _Hosted(msgspec.Struct, frozen=True):
    provider: str
    model: str
    effort: str | None
    url: str | None


def open_proposers(specs: Sequence[str], prices: PriceTable | None = None) -> list[Proposer]:
    """Proposers in the order of their specifications; models of one host share a circuit breaker.

    Raises R3Error for what cannot be opened.
    """
    breakers = Breakers()
    return [open_proposer(spec, prices, breakers) for spec in specs]


def open_proposer(spec: str, prices: PriceTable | None = None, breakers: Breakers | None = None) -> Proposer:
    """The proposer that ``spec`` names; ``prices`` stand in for the built-in table.

    Raises R3Error for a specification that isn't one, a missing key, package, program or file.
    """
    kind, _, rest = spec.partition(":")
    if kind == "rules":
        if rest:
            raise UsageError(f"--llm {spec}: rules takes nothing behind it")
        return RulesProposer()
    if kind not in ("command", "mailbox", "transcript", *_HOMES):
        raise UsageError(f"--llm {spec}: there is no proposer '{kind}'; the forms are {', '.join(FORMS)}")
    if not rest:
        form = next(form for form in FORMS if form.startswith(kind))
        raise UsageError(f"--llm {spec}: something is missing; the form is {form}")
    match kind:
        case "command":
            return CommandProposer(rest)
        case "mailbox":
            return MailboxProposer(Path(rest))
        case "transcript":
            return TranscriptProposer(Path(rest))
    return _open_hosted(spec, _parse_hosted(spec, kind, rest), prices or builtin_prices(), breakers or Breakers())


def require_prices(proposers: Sequence[Proposer]) -> None:
    """Raise R3Error when a proposer's cost cannot be bounded: what a cap on cost needs."""
    for proposer in proposers:
        if isinstance(proposer, HostedProposer) and proposer.hosted.price is None:
            raise R3Error(
                f"the price of {proposer.hosted.model} is unknown, so its cost cannot be capped: add a [[price]] entry "
                f"to r3.toml with model, input and output (US dollars per million tokens)"
            )


def used_prices(proposers: Sequence[Proposer]) -> tuple[Price, ...]:
    """The prices that a run goes by, under the models' own names, to be frozen into its log."""
    hosted = [each.hosted for each in proposers if isinstance(each, HostedProposer)]
    return tuple(msgspec.structs.replace(each.price, model=each.model) for each in hosted if each.price is not None)


def _parse_hosted(spec: str, provider: str, rest: str) -> _Hosted:
    match = _MODEL.fullmatch(rest)
    if match is None:
        raise UsageError(f"--llm {spec}: the form is {provider}:MODEL[,effort=E][@URL]")
    if match["effort"] is not None and match["effort"] not in _EFFORTS[provider]:
        raise UsageError(f"--llm {spec}: effort is one of {', '.join(_EFFORTS[provider])}")
    url = match["url"]
    if url and (urlsplit(url).username or urlsplit(url).password or urlsplit(url).query):
        raise UsageError(f"--llm {provider}:{match['model']}: no user, password or query in the URL; keys: {OTHER_KEY}")
    return _Hosted(provider, match["model"], match["effort"], url)


def _open_hosted(spec: str, hosted: _Hosted, prices: PriceTable, breakers: Breakers) -> Proposer:
    url = hosted.url or os.environ.get(_URL_VARIABLES[hosted.provider]) or _HOMES[hosted.provider]
    host = urlsplit(url).hostname
    if host is None:
        raise UsageError(f"--llm {spec}: {url} is no URL of a server")
    local = _is_this_machine(host)
    described = HostedModel(
        name=spec,
        model=hosted.model,
        destination=None if local else host,
        price=prices.find(hosted.model) or (FREE if local else None),
    )
    return HostedProposer(
        described, _wire(hosted, _key(spec, hosted), url), breakers.of(f"{host}:{urlsplit(url).port}")
    )


def _wire(hosted: _Hosted, key: str, url: str) -> Wire:
    try:
        if hosted.provider == "anthropic":
            from r3cc.remix.proposers.anthropic_wire import AnthropicWire

            return AnthropicWire(hosted.model, key, url, hosted.effort)
        from r3cc.remix.proposers.openai_wire import COMPATIBLE, OPENAI, OpenAIWire

        capabilities = OPENAI if url.rstrip("/") == _HOMES["openai"] else COMPATIBLE
        return OpenAIWire(hosted.model, key, url, hosted.effort, capabilities)
    except ImportError:
        raise R3Error(
            f"--llm {hosted.provider}: needs the {hosted.provider} package: pip install 'r3cc[remix]'"
        ) from None


def _key(spec: str, hosted: _Hosted) -> str:
    if hosted.url is not None:
        return os.environ.get(OTHER_KEY) or "none"
    variables = _KEY_VARIABLES[hosted.provider]
    key = next(filter(None, map(os.environ.get, variables)), None)
    if key is None:
        raise R3Error(f"--llm {spec}: needs a key in the variable {variables[0]}")
    return key


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
