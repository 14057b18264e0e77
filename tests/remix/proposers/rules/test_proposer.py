"""The offline proposer: its answers can be used, come in a fixed order, and end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from r3cc.remix.model import Answer, Block, FailureKind, Prompt, ProposerError
from r3cc.remix.prompts.answers import Rewrite, parse_answer
from r3cc.remix.proposers.rules import RulesProposer
from r3cc.remix.proposers.rules.proposer import COMBINED_PER_PARENT, rewrites
from r3cc.remix.source.rules import check_text
from tests.remix.proposers.rules.test_rules import REGIONS

PARENT = {name: REGIONS[name] for name in ("quotients", "limited", "tree_sum")}
PLAIN = {"f": "__device__ int f(int n) {\n  return n + 1;\n}"}


def prompt(parent: Mapping[str, str], sample: int = 0) -> Prompt:
    return Prompt((Block("system", "rules", cached=True),), parent, next(iter(parent)), sample)


def ask(proposer: RulesProposer, parent: Mapping[str, str], sample: int = 0) -> Answer:
    return asyncio.run(proposer.propose(prompt(parent, sample), 10.0))


def all_answers(proposer: RulesProposer, parent: Mapping[str, str]) -> list[str]:
    answers = []
    with pytest.raises(ProposerError) as caught:
        while True:
            answers.append(ask(proposer, parent).text)
    assert caught.value.kind is FailureKind.EXHAUSTED
    return answers


def rewritten(answer: str, parent: Mapping[str, str]) -> Rewrite:
    parsed = parse_answer(answer, parent)
    assert isinstance(parsed, Rewrite), parsed
    return parsed


def test_every_answer_is_a_rewrite_that_regions_allow() -> None:
    for answer in all_answers(RulesProposer(), PARENT):
        found = rewritten(answer, PARENT)
        assert found.strategy
        for name in found.changed:
            assert check_text(name, found.texts[name], PARENT[name]) is None


def test_single_rewrites_come_first_and_once_then_combinations() -> None:
    answers = all_answers(RulesProposer(), PARENT)
    singles = len(rewrites(PARENT))
    texts = [tuple(rewritten(answer, PARENT).texts.items()) for answer in answers[:singles]]
    assert len(set(texts)) == singles
    assert singles < len(answers) <= singles + COMBINED_PER_PARENT
    assert all(" + " in rewritten(answer, PARENT).strategy for answer in answers[singles:])


def test_the_order_is_the_parents_and_differs_between_parents() -> None:
    first, again = all_answers(RulesProposer(), PARENT), all_answers(RulesProposer(), PARENT)
    assert first == again
    child = dict(rewritten(first[0], PARENT).texts)
    strategies = [
        [rewritten(each, parent).strategy for each in all_answers(RulesProposer(), parent)]
        for parent in (PARENT, child)
    ]
    assert strategies[0] != strategies[1]


def test_heavy_rules_come_before_light_ones() -> None:
    strategies = [rewritten(each, PARENT).strategy for each in all_answers(RulesProposer(), PARENT)]
    rules = [strategy.split(":")[0] for strategy in strategies]
    assert rules.index("reduction_tail") < rules.index("launch_bounds")


def test_a_spent_parent_ends_nothing_while_others_have_more() -> None:
    proposer = RulesProposer()
    ask(proposer, PARENT)
    with pytest.raises(ProposerError) as caught:
        ask(proposer, PLAIN)
    assert caught.value.kind is FailureKind.REFUSED
    ask(proposer, PARENT)


def test_a_parent_that_no_rule_applies_to_is_the_end_when_there_is_no_other() -> None:
    with pytest.raises(ProposerError) as caught:
        ask(RulesProposer(), PLAIN)
    assert caught.value.kind is FailureKind.EXHAUSTED


def test_rules_are_free_and_stay_here() -> None:
    proposer = RulesProposer()
    assert proposer.destination is None
    assert proposer.worst_cost_usd(prompt(PARENT)) == 0.0 and proposer.worst_tokens(prompt(PARENT)) == 0
    assert ask(proposer, PARENT).cost_usd == 0.0
