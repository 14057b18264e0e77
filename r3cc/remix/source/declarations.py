"""What a region's text declares outside of functions: nothing in it may run on the host, which no check looks at.

A winner's text goes back into the program, whose host compiler reads it, too: a variable with an initialiser would run
at the program's start, a function might be taken for one that the host calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from r3cc.remix.model import Rejection, Stage
from r3cc.remix.source.tokens import Kind, Token

_FOR_THE_DEVICE = frozenset({"__device__", "__global__", "__constant__"})
_NAMES_ONLY = frozenset({"using", "typedef", "static_assert"})
_TYPES = frozenset({"struct", "class", "union", "enum"})
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")


class Declaration(msgspec.Struct):
    """One declaration, without the parameters of its template."""

    words: list[str]
    """Outside of brackets, up to an initialiser or a body."""
    round: bool = False
    """It has round brackets."""
    curly: bool = False
    body: list[Token] = []
    """What stands in curly ones."""
    tail: list[str] = []
    """What follows a body: names of variables."""


def check_declarations(name: str, found: Sequence[Token], known: Sequence[Token]) -> Rejection | None:
    """Why a region's text may not go back into a program; None if it may. What the original declares may stay."""
    original = [each.words for each in declarations(known)]
    words = {word for each in original for word in each}
    markers = set(_FOR_THE_DEVICE)
    if not words & markers:
        markers |= {word for word in words if re.fullmatch(r"[A-Z_][A-Z0-9_]+", word)}  # a macro that stands for one
    for each in declarations(found):
        new_on_host = "__host__" in each.words and "__host__" not in words
        if each.words not in original and (new_on_host or not _stays_on_device(each, markers)):
            shown = " ".join(each.words)[:60]
            why = "declare helpers `__device__`, constants `constexpr`; nothing may be added for the host"
            return Rejection(Stage.REGIONS, "host_code", f"'{name}' declares `{shown}` outside of functions: {why}.")
    return None


def declarations(found: Sequence[Token]) -> Iterator[Declaration]:
    """Those of a text, namespaces opened."""
    current, valued = Declaration([]), False
    brackets: list[str] = []
    for token in _without_templates([each for each in found if each.kind is not Kind.DIRECTIVE]):
        if token.text in _CLOSE and brackets:
            brackets.pop()
            ends = token.text == "}" and not brackets and not valued and not _TYPES & {*current.words}
        else:
            ends = not brackets and token.text in (";", "}")
        if ends:
            if current.words:
                yield current
            current, valued = Declaration([]), False
        elif token.text == "{" and not brackets and "namespace" in current.words[:2]:
            current = Declaration([])
        elif token.text in _OPEN:
            current.round |= not brackets and token.text == "("
            current.curly |= not brackets and token.text == "{"
            brackets.append(token.text)
        elif "{" in brackets:
            current.body.append(token)
        elif not brackets and token.text not in _CLOSE:
            valued |= token.text == "=" and current.words[-1:] != ["operator"]
            if current.curly:
                current.tail.append(token.text)
            elif token.kind is Kind.WORD and not valued:
                current.words.append(token.text)
    if current.words:
        yield current


def _without_templates(found: Sequence[Token]) -> Iterator[Token]:
    """Tokens without ``template`` and its parameters."""
    angles, skipping = 0, False
    for token in found:
        if token.text == "template" and token.kind is Kind.WORD:
            skipping = True
        elif skipping:
            angles += {"<": 1, ">": -1, ">>": -2}.get(token.text, 0)
            skipping = angles > 0
        else:
            yield token


def _stays_on_device(each: Declaration, markers: set[str]) -> bool:
    words = set(each.words)
    if each.words[0] in _NAMES_ONLY:
        return True
    if each.tail:
        return False
    if words & markers or "constexpr" in words:
        return True
    if each.words[0] in _TYPES:
        return not each.round and not _has_own_variables(each.body)
    return "const" in words and not (each.round or each.curly)


def _has_own_variables(body: Sequence[Token]) -> bool:
    """Whether a type has members that are variables of the program."""
    words: set[str] = set()
    for token in body:
        if token.text in (";", "{", "}", ":"):
            words.clear()
        words.add(token.text)
        if words & {"static", "inline"} and token.text in ("=", "(", "{") and not words & {"constexpr", "__device__"}:
            return True
    return False
