"""C++ tokens of a region's text: what rules, parameters and hashes are told by."""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Iterator, Mapping

import msgspec


class Kind(enum.Enum):
    """What a token is."""

    WORD = enum.auto()
    NUMBER = enum.auto()
    TEXT = enum.auto()
    """String or character literal, its prefix included."""
    SIGN = enum.auto()
    DIRECTIVE = enum.auto()
    """A preprocessor line, comments and splices taken out, white space made one blank."""
    STRANGE = enum.auto()
    """What no ordinary source holds outside of literals."""


class Token(msgspec.Struct, frozen=True):
    """A token and where it lies, as offsets into the text."""

    kind: Kind
    text: str
    begin: int
    end: int


_SPLICE = r"\\[ \t]*\r?\n"
_COMMENT = r"/\*.*?\*/|//(?:\\[ \t]*\r?\n|[^\n])*"
_TOKEN = re.compile(
    rf"""(?P<skip>[ \t\r\n\f\v]+|{_COMMENT})
    |(?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{{0,16}})\(.*?\)(?P=mark)")
    |(?P<TEXT>(?:u8|[uUL])?(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
    |(?P<NUMBER>\.?[0-9](?:[eEpP][+-]|'[0-9A-Za-z_]|[0-9A-Za-z_.])*)
    |(?P<WORD>[A-Za-z_$][\w$]*)
    |(?P<hash>\#|%:|\?\?=)
    |(?P<SIGN><<=|>>=|\.\.\.|->\*|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){{}}\[\]])
    |(?P<STRANGE>.)""",
    re.DOTALL | re.VERBOSE,
)
_DIRECTIVE = re.compile(rf"(?:{_SPLICE}|/\*.*?\*/|//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|[^\n])*", re.DOTALL)
_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")


def tokens(text: str) -> Iterator[Token]:
    """All tokens; comments and white space are left out."""
    at, line_begins = 0, True
    while at < len(text):
        found = _TOKEN.match(text, at)
        assert found is not None
        kind, end = found.lastgroup or "", found.end()
        kind = "raw" if found["raw"] else kind
        if kind == "hash" and line_begins:
            directive = _DIRECTIVE.match(text, end)
            end = directive.end() if directive else end
            yield Token(Kind.DIRECTIVE, _one_line(text[found.end() : end]), at, end)
        elif kind in ("hash", "raw"):
            yield Token(Kind.STRANGE, found[0], at, end)
        elif kind != "skip":
            strange = _TRIGRAPH.search(found[0])
            yield Token(Kind.STRANGE if strange else Kind[kind], found[0], at, end)
        line_begins = kind == "skip" and (line_begins or "\n" in found[0])
        at = end


def _one_line(directive: str) -> str:
    spliced = re.sub(_SPLICE, "", directive)
    return "#" + " ".join(re.sub(_COMMENT, " ", spliced, flags=re.DOTALL).split())


def source_hash(texts: Mapping[str, str]) -> str:
    """Hash of regions' texts by name, without comments and white space: equal for what compiles alike."""
    running = hashlib.sha256()
    for name in sorted(texts):
        words = [token.text for token in tokens(texts[name])]
        running.update("\0".join([name, str(len(words)), *words, ""]).encode(errors="surrogateescape"))
    return running.hexdigest()[:16]
