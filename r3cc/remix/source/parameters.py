"""``R3_PARAM(name, value, …)`` in a rewrite: a place that the tuner fills with one of the values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from r3cc.remix.model import Parameter, Rejection, Stage
from r3cc.remix.source.tokens import Kind, Token, tokens

WORD = "R3_PARAM"
MOST_PARAMETERS = 16
MOST_VALUES = 32
LONGEST_VALUE = 64
"""Characters: a value is a number or a short expression, and may stand in many places."""


class ParameterError(Exception):
    """A use of R3_PARAM that means nothing; the text says why."""

    @property
    def rejection(self) -> Rejection:
        """As a reason to take a rewrite no further."""
        return Rejection(Stage.REGIONS, "parameter", str(self))


class _Use(msgspec.Struct, frozen=True):
    name: str
    values: tuple[str, ...]
    begin: int
    end: int


def parameters_of(texts: Mapping[str, str]) -> tuple[Parameter, ...]:
    """Parameters in the order of their first use. Raises :class:`ParameterError`.

    A later use of a name may leave the values out, or must repeat them.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in texts.values():
        for use in _uses(text):
            known = found.setdefault(use.name, use.values)
            if use.values and known and use.values != known:
                raise ParameterError(f"R3_PARAM({use.name}, …) is given two different lists of values.")
            found[use.name] = known or use.values
    for name, values in found.items():
        if not values:
            raise ParameterError(f"R3_PARAM({name}) has no values: write R3_PARAM({name}, 64, 128, 256).")
        if len(values) > MOST_VALUES:
            raise ParameterError(f"R3_PARAM({name}, …) has more than {MOST_VALUES} values.")
        if max(map(len, values)) > LONGEST_VALUE:
            raise ParameterError(f"R3_PARAM({name}, …) has a value of more than {LONGEST_VALUE} characters.")
    if len(found) > MOST_PARAMETERS:
        raise ParameterError(f"There are more than {MOST_PARAMETERS} parameters.")
    return tuple(Parameter(name, values) for name, values in found.items())


def expand(text: str, values: Mapping[str, str]) -> str:
    """The text with each parameter's value in its place. Values of several tokens get parentheses."""
    parts, at = [], 0
    for use in _uses(text):
        parts += [text[at : use.begin], _placed(values[use.name]), *_lost_lines(text, use)]
        at = use.end
    return "".join([*parts, text[at:]])


def _lost_lines(text: str, use: _Use) -> list[str]:
    """Line numbers of messages stay right."""
    return [" " + "\n" * text.count("\n", use.begin, use.end)] if "\n" in text[use.begin : use.end] else []


def _placed(value: str) -> str:
    return value if len(list(tokens(value))) == 1 else f"({value})"


def _uses(text: str) -> Iterator[_Use]:
    if WORD not in text:
        return
    found = list(_with_pragmas(text))
    for number, token in enumerate(found):
        if token.kind is Kind.WORD and token.text == WORD:
            yield _parse(text, found, number)


def _with_pragmas(text: str) -> Iterator[Token]:
    """Tokens, those of directives among them: ``#pragma unroll R3_PARAM(u, 2, 4)`` is what they are for."""
    for token in tokens(text):
        if token.kind is Kind.DIRECTIVE and WORD in token.text:
            start = token.begin + 1
            for inner in tokens(text[start : token.end]):
                yield msgspec.structs.replace(inner, begin=inner.begin + start, end=inner.end + start)
        else:
            yield token


def _parse(text: str, found: Sequence[Token], number: int) -> _Use:
    wrong = ParameterError(f"{WORD} takes a name and its values: {WORD}(block, 64, 128, 256).")
    if number + 3 >= len(found) or found[number + 1].text != "(" or found[number + 2].kind is not Kind.WORD:
        raise wrong
    depth, begin = 1, None
    values: list[str] = []
    for token in found[number + 3 :]:
        depth += token.text in ("(", "[", "{")
        depth -= token.text in (")", "]", "}")
        if depth == 0 or (depth == 1 and token.text == ","):
            if begin is not None:
                value = " ".join(text[begin : token.begin].split())
                if not value:
                    raise wrong
                values.append(value)
            if depth == 0:
                return _Use(found[number + 2].text, tuple(values), found[number].begin, token.end)
            begin = token.end
        elif begin is None:
            raise wrong
    raise wrong
