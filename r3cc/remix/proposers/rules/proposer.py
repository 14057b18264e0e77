"""The offline proposer: rules of the catalogue, applied to the parent; no model, no key, no network."""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from r3cc.remix.model import Answer, FailureKind, Prompt, ProposerError
from r3cc.remix.prompts.answers import format_answer
from r3cc.remix.proposers.rules.catalogue import CATALOGUE
from r3cc.remix.proposers.rules.rule import Rule, Site
from r3cc.remix.proposers.rules.syntax import Syntax, apply_edits

COMBINED_PER_PARENT = 64
"""Combinations of two or three rewrites that are tried for a parent, after the single ones."""


class Rewritten(msgspec.Struct, frozen=True):
    """One region rewritten by one rule."""

    rule: str
    weight: float
    region: str
    strategy: str
    text: str


class RulesProposer:
    """Gives each parent's rewrites one after the other, those of promising rules sooner, then combinations of them.

    Deterministic: the order depends on the parent's text, and an answer on how many were given for that parent.
    """

    name = "rules"
    destination = None

    def __init__(self, catalogue: tuple[Rule, ...] = CATALOGUE) -> None:
        self._catalogue = catalogue
        self._given: dict[str, int] = {}
        """Answers by parent."""
        self._spent: set[str] = set()
        """Parents without more answers; when all are, there is no use in asking again."""

    def worst_cost_usd(self, prompt: Prompt) -> float:
        """Rules are free."""
        return 0.0

    def worst_tokens(self, prompt: Prompt) -> int:
        """Rules take no tokens."""
        return 0

    async def propose(self, prompt: Prompt, deadline_s: float) -> Answer:
        """The parent's next rewrite; raises ProposerError when there is none left."""
        started = time.monotonic()
        key = _digest(prompt.parent)
        number = self._given.get(key, 0)
        self._given[key] = number + 1
        text = await asyncio.to_thread(self.answer, dict(prompt.parent), number)
        if text is None:
            self._spent.add(key)
            everyone = self._spent >= self._given.keys()
            kind = FailureKind.EXHAUSTED if everyone else FailureKind.REFUSED
            raise ProposerError(kind, "no rule has anything more to say about this parent")
        seconds = time.monotonic() - started
        return Answer(text=text, model=self.name, first_token_s=seconds, total_s=seconds)

    async def close(self) -> None:
        """Nothing is open."""

    def answer(self, parent: Mapping[str, str], number: int) -> str | None:
        """The parent's rewrite with that number, from 0; None beyond the last."""
        singles = ordered(rewrites(parent, self._catalogue), random.Random(_digest(parent)))
        if number < len(singles):
            chosen = singles[number]
            return format_answer(f"{chosen.rule}: {chosen.strategy}", {chosen.region: chosen.text})
        if number < len(singles) + COMBINED_PER_PARENT:
            return self._combined(parent, random.Random(f"{_digest(parent)} {number}"))
        return None

    def _combined(self, parent: Mapping[str, str], chance: random.Random) -> str | None:
        """Two or three rewrites, one on top of the other; None where not even two apply."""
        texts, done = dict(parent), []
        for _ in range(chance.choice((2, 2, 3))):
            found = ordered(rewrites(texts, self._catalogue), chance)
            if not found:
                break
            texts[found[0].region] = found[0].text
            done.append(found[0])
        changed = {name: text for name, text in texts.items() if text != parent[name]}
        return format_answer(" + ".join(each.rule for each in done), changed) if len(done) > 1 and changed else None


def rewrites(texts: Mapping[str, str], catalogue: tuple[Rule, ...] = CATALOGUE) -> list[Rewritten]:
    """Every rewrite of every region, each text once."""
    return [
        Rewritten(rule.name, rule.weight, name, site.strategy, new)
        for name, text in texts.items()
        for rule, site, new in _rewrites_of(text, catalogue)
    ]


@lru_cache(maxsize=512)
def _rewrites_of(text: str, catalogue: tuple[Rule, ...]) -> tuple[tuple[Rule, Site, str], ...]:
    """Of one region; remembered, since children share most of their regions with their parent."""
    region = Syntax(text)
    if region.broken:
        return ()
    found: dict[str, tuple[Rule, Site, str]] = {}
    for rule in catalogue:
        for site in rule.sites(region):
            new = apply_edits(text, site.edits)
            if new != text:
                found.setdefault(new, (rule, site, new))
    return tuple(found.values())


def ordered(found: list[Rewritten], chance: random.Random) -> list[Rewritten]:
    """A random order in which heavier ones tend to stand before lighter ones."""
    keys = {id(each): chance.random() ** (1.0 / each.weight) for each in found}
    return sorted(found, key=lambda each: -keys[id(each)])


def _digest(texts: Mapping[str, str]) -> str:
    return hashlib.sha256(msgspec.json.encode(sorted(texts.items()))).hexdigest()
