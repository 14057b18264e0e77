"""The pipeline tree is LLVM's text and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r3cc.errors import R3Error
from r3cc.tune.pipeline import Node, leaves, parse_pipeline, print_pipeline, without_empty_adaptors
from tests.tune.llvm_opt import o3_text

names = st.text("abz-019", min_size=1, max_size=6)
parameters = st.none() | st.text("ab;=-1", max_size=6) | st.just("a><b") | st.just("a<b>;c")
nodes = st.recursive(
    st.builds(Node, names, parameters, st.none()),
    lambda inner: st.builds(Node, names, parameters, st.lists(inner, max_size=3).map(tuple)),
    max_leaves=12,
)
pipelines = st.lists(nodes, min_size=1, max_size=4).map(tuple)


@given(pipelines)
def test_what_is_printed_parses_to_the_same_tree(pipeline: tuple[Node, ...]) -> None:
    assert parse_pipeline(print_pipeline(pipeline)) == pipeline


@given(pipelines)
def test_leaves_are_found_at_their_paths(pipeline: tuple[Node, ...]) -> None:
    for path, leaf in leaves(pipeline):
        inner, node = pipeline, None
        for index in path:
            node = inner[index]
            inner = node.children or ()
        assert node == leaf


def test_llvm_text_of_o3_survives_a_round_trip() -> None:
    text = o3_text()
    assert print_pipeline(parse_pipeline(text)) == text


def test_empty_adaptors_go_however_deep() -> None:
    assert print_pipeline(without_empty_adaptors(parse_pipeline("a,cgscc(function()),function(b,loop())"))) == (
        "a,function(b)"
    )


@pytest.mark.parametrize("text", ["", "a,", "a(b", "a)b", "a<b", ",a", "function(,a)", "a>b"])
def test_bad_text_is_one_sentence_with_its_place(text: str) -> None:
    with pytest.raises(R3Error, match="cannot read the pipeline at character"):
        parse_pipeline(text)
