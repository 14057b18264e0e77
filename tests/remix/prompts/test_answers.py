"""The form of answers: what is taken, and how what is not is diagnosed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r3cc.remix.model import Rejection
from r3cc.remix.prompts.answers import Rewrite, format_answer, parse_answer

PARENT = {
    "axpy": "__global__ void axpy(float *x) {\n  x[0] = 1;\n  x[1] = 1;\n}",
    "half": "int half(int n) {\n  return n / 2;\n}",
}
PATCH = "```r3 region=half patch\n<<<<<<< SEARCH\n  return n / 2;\n=======\n  return n >> 1;\n>>>>>>> REPLACE\n```\n"


def rewrite(answer: str) -> Rewrite:
    parsed = parse_answer(answer, PARENT)
    assert isinstance(parsed, Rewrite), parsed
    return parsed


def test_a_whole_region() -> None:
    parsed = rewrite("STRATEGY: vector loads\n\n```r3 region=axpy\n__global__ void axpy(float *x) {}\n```\n")
    assert parsed.strategy == "vector loads"
    assert parsed.texts == PARENT | {"axpy": "__global__ void axpy(float *x) {}"}
    assert parsed.changed == ("axpy",)


def test_a_patch_and_prose_around_it() -> None:
    parsed = rewrite("Let me think.\n**STRATEGY:** shifts\nwhy not\n" + PATCH + "That is all.")
    assert parsed.strategy == "shifts"
    assert parsed.texts["half"] == "int half(int n) {\n  return n >> 1;\n}"


def test_patches_of_one_region_add_up() -> None:
    second = PATCH.replace("  return n / 2;", "int half(int n) {").replace("  return n >> 1;", "int half(int m) {")
    assert rewrite("STRATEGY: s\n" + PATCH + second).texts["half"] == "int half(int m) {\n  return n >> 1;\n}"


def test_windows_line_ends_in_the_answer() -> None:
    assert rewrite(("STRATEGY: s\n" + PATCH).replace("\n", "\r\n")).texts["half"].endswith("  return n >> 1;\n}")


def test_drafts_before_the_answer_are_not_read() -> None:
    draft = "STRATEGY: a draft\n```r3 region=half\nint half(int n);\n```\n"
    for thought in (f"<think>\n{draft}</think>\n\n", f"{draft}</think>"):
        parsed = rewrite(thought + "STRATEGY: shifts\n" + PATCH)
        assert (parsed.strategy, parsed.changed) == ("shifts", ("half",))


def test_a_block_in_a_list_and_a_name_in_quotes() -> None:
    indented = "".join(f"  {line}\n" for line in PATCH.splitlines())
    for answer in (
        indented,
        PATCH.replace("region=half", "region='half'"),
        PATCH.replace("region=half", 'region="half"'),
    ):
        assert rewrite(answer).texts["half"] == "int half(int n) {\n  return n >> 1;\n}"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "no_block"),
        ("STRATEGY: none\n```cuda\nint x;\n```\n", "no_block"),
        ("```r3 region=axpy\n__global__", "cut_block"),
        ("```r3 region=other\nint x;\n```", "unknown_region"),
        ("```r3 region=half\nint a;\n```\n```r3 region=half\nint b;\n```", "region_twice"),
        ("```r3 region=half\nint a;\n```\n" + PATCH, "region_twice"),
        (PATCH + "```r3 region=half\nint a;\n```\n", "region_twice"),
        (PATCH.replace("n / 2", "n / 3"), "search_missing"),
        (PATCH.replace("  return n / 2;", "return n / 2;"), "search_missing"),
        (PATCH.replace("  return n / 2;\n", "\n"), "search_empty"),
        (PATCH.replace("=======\n", ""), "patch_form"),
        (PATCH.replace("<<<<<<< SEARCH\n", "<<<<<<< SEARCH\nint x;\n").replace(">>>>>>> REPLACE\n", ""), "patch_form"),
        ("```r3 region=half patch\nint x;\n```", "patch_form"),
        (format_answer("same", PARENT), "unchanged"),
    ],
)
def test_what_is_wrong_is_named(answer: str, reason: str) -> None:
    parsed = parse_answer(answer, PARENT)
    assert isinstance(parsed, Rejection)
    assert parsed.reason == reason
    assert parsed.message


def test_a_search_that_matches_twice() -> None:
    parent = {"k": "a;\nb;\na;"}
    parsed = parse_answer("```r3 region=k patch\n<<<<<<< SEARCH\na;\n=======\nc;\n>>>>>>> REPLACE\n```", parent)
    assert isinstance(parsed, Rejection)
    assert parsed.reason == "search_ambiguous"


@given(
    st.dictionaries(
        st.sampled_from(["a", "b#2", "ns::f", "operator new"]),
        st.text(alphabet="`{}; \nax=<>", max_size=40),
        min_size=1,
    )
)
def test_formatted_answers_come_back(texts: dict[str, str]) -> None:
    parsed = parse_answer(format_answer("s", texts), dict.fromkeys(texts, "\0"))
    assert isinstance(parsed, Rewrite)
    assert parsed.texts == texts


@given(st.text(alphabet="`r3 region=half\nSTRATEGY:<>=SEARCHPLC", max_size=200))
def test_garbage_is_never_an_exception(answer: str) -> None:
    assert isinstance(parse_answer(answer, PARENT), Rewrite | Rejection)
