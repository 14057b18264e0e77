"""Prompts: stable first, volatile last, and enough of each one that a cache has seen before."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from r3cc.remix.archive.sampling import Draw, Sibling, draw
from r3cc.remix.archive.state import SearchState
from r3cc.remix.events import PromptBlock, Request
from r3cc.remix.model import Prompt, Rejection, Stage
from r3cc.remix.prompts.layout import Layout, compared, shared_prefix
from r3cc.remix.search import Allowed
from tests.remix.archive.test_archive import verdict
from tests.remix.synthetic import SETTINGS, SOURCE, Scribe, search, sheet

FLOOR = 0.85
"""Least part of the prompts of a search, in characters, that the prompt before it of the same proposer began with."""
LEAST_SIBLING = 0.85
"""The same for siblings."""


def layout() -> Layout:
    return Layout(sheet(), SOURCE, 1000, {"registers": 40})


def state(elites: int) -> SearchState:
    found = SearchState("abc", msgspec.structs.replace(SETTINGS, epoch=2, migrate_every=1000))
    for n in range(elites):
        texts = {"k": f"__global__ void k() {{ int version = {n}; }}"}
        found.apply(msgspec.structs.replace(verdict(n, 0, (0,) * 6, 0.9 - n / 100), texts=texts))
    return found


def prompt(found: SearchState, parent: int | None = None, sibling: Sibling | None = None, n: int = 0) -> Prompt:
    elite = found.measured[parent] if parent is not None else None
    sibling = sibling or Sibling("improve")
    return layout().prompt(found, Draw(0, elite, (sibling,)), sibling, n)


def names(found: Prompt) -> list[str]:
    return [block.name for block in found.blocks]


def test_the_order_of_blocks_and_their_breakpoints() -> None:
    assert names(prompt(state(0))) == ["system", "kernel", "parent", "request"]
    found = prompt(state(4), 3)
    assert names(found) == ["system", "kernel", "elites", "parent", "request"]
    assert [block.cached for block in found.blocks] == [True, True, True, True, False]
    assert sum(block.cached for block in found.blocks) <= 4, "providers take four"


@pytest.mark.parametrize("granted", [True, False])
def test_the_rules_say_what_holds_where_results_cancel(granted: bool) -> None:
    found = Layout(msgspec.structs.replace(sheet(), grants_rounding=granted), SOURCE, 1000, {})
    drawn = Sibling("improve")
    rules = found.prompt(state(0), Draw(0, None, (drawn,)), drawn, 0).blocks[0].text
    assert ("4 times what it moves when the original runs on inputs" in rules) is granted
    assert ("must be 0" in rules) is not granted
    assert [line[:2] for line in rules.splitlines()[-8:]] == [f"{number}." for number in range(1, 9)]


def test_elites_grow_at_their_end_and_by_epochs() -> None:
    texts = [dict(zip(names(p), (b.text for b in p.blocks), strict=True)) for p in (prompt(state(n)) for n in range(7))]
    assert "elites" not in texts[0] and "elites" not in texts[1]
    assert texts[2]["elites"] == texts[3]["elites"] != texts[4]["elites"]
    assert texts[4]["elites"].startswith(texts[2]["elites"])
    assert texts[6]["elites"].startswith(texts[4]["elites"])


def test_siblings_differ_in_their_last_block_alone() -> None:
    found = state(6)
    drawn = draw(found, 1, 10, 4)
    prompts = [layout().prompt(found, drawn, sibling, 10 + at) for at, sibling in enumerate(drawn.siblings)]
    assert len({tuple(block.text for block in each.blocks[:-1]) for each in prompts}) == 1
    assert len({each.id for each in prompts}) == 4


def test_nothing_of_the_day_stands_before_the_last_block() -> None:
    found = prompt(state(6), 5)
    for block in found.blocks[:-1]:
        assert not re.search(r"20\d\d-\d\d|\bv\d+\b|0x[0-9a-f]{6}", block.text), block.name
    assert all(one.text == other.text for one, other in zip(found.blocks, prompt(state(6), 5).blocks, strict=True))


def test_feedback_is_relative_and_diagnosed() -> None:
    found = state(2)
    bad = msgspec.structs.replace(
        verdict(2, 0, (0,) * 6, 1.0, "mismatch"), message="Its results differ: 7 elements.", strategy="too eager"
    )
    found.apply(bad)
    text = prompt(found, 1).text
    assert "1.12x faster than the reference" in text
    assert "too eager: Its results differ: 7 elements." in text
    assert "combined_score" not in text


def test_each_operator_asks_its_own() -> None:
    found = state(2)
    asked = {
        "improve": Sibling("improve"),
        "explore": Sibling("explore", hint="async copies, no synchronisation"),
        "combine": Sibling("combine", other=found.measured[0]),
        "parameters": Sibling("parameters"),
    }
    texts = {name: prompt(found, 1, sibling).blocks[-1].text for name, sibling in asked.items()}
    assert "async copies, no synchronisation" in texts["explore"]
    assert "strategy 0" in texts["combine"] and "+__global__ void k() { int version = 0; }" in texts["combine"]
    assert "R3_PARAM" in texts["parameters"]
    assert len(set(texts.values())) == 4


def test_the_parent_is_shown_as_it_is_now() -> None:
    found = state(2)
    first, later = prompt(found), prompt(found, 1)
    assert first.parent == {region.name: region.text for region in SOURCE.regions}
    assert "reference source as it is above" in first.text
    assert later.parent["k"] == "__global__ void k() { int version = 1; }"
    assert later.parent["half"] == SOURCE.regions[1].text
    assert "int version = 1" in dict(zip(names(later), later.blocks, strict=True))["parent"].text


def test_a_repair_keeps_the_whole_prompt_as_its_prefix() -> None:
    first = prompt(state(3), 1)
    why = Rejection(Stage.COMPILE, "does_not_compile", "expected ';' in line 3")
    again = layout().repair(first, "my answer", why, last=True)
    assert again.text.startswith(first.text)
    assert "my answer" in again.text and "expected ';' in line 3" in again.text and "whole text" in again.text
    assert "whole text of each region that differs" not in layout().repair(first, "a", why, last=False).text


def test_resources_are_compared() -> None:
    assert compared({"registers": 64, "shared": 0}, {"registers": 40}) == "registers 64 (40)"
    assert compared({"registers": 40, "spill_loads": 8}, {"registers": 40}) == "registers 40 (40), spill loads 8 (0)"


def test_code_is_not_escaped_and_unknown_names_are_errors() -> None:
    found = SearchState("abc", SETTINGS)
    assert "float *x, int n" in prompt(found).text
    jinja2 = pytest.importorskip("jinja2")
    with pytest.raises(jinja2.UndefinedError):
        layout()._text("repair", answer="a")


def test_the_share_of_reusable_prefix_stays_above_its_floor(tmp_path: Path) -> None:
    """The layout's promise: what it loses here, every search with a model pays for."""
    scribe = Scribe()
    ran = search(tmp_path / "log", [scribe], allowed=Allowed(proposals=40, concurrency=2))
    prompts = [p.text for p in scribe.prompts]
    shares = [shared_prefix(one, other) for one, other in pairwise(prompts)]
    assert sum(shares) / len(shares) >= FLOOR
    requests = ran.of(Request)
    weighed = sum(request.shared for request in requests[1:]) / len(requests[1:])
    assert weighed == pytest.approx(sum(shares) / len(shares), abs=0.15), "the log says the same"
    blocks = {block.id: block.text for block in ran.of(PromptBlock)}
    texts = {
        request.n: "\n\n".join(blocks[id_] for id_ in request.blocks) for request in requests if request.round == 0
    }
    siblings = [
        shared_prefix(texts[request.batch], texts[request.n]) for request in requests if request.n != request.batch
    ]
    assert min(siblings) >= LEAST_SIBLING
    logged = {"\n\n".join(blocks[id_] for id_ in request.blocks) for request in requests}
    assert logged == set(prompts), "the log holds every prompt"
