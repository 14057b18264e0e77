"""The part of a source that comes before its own code: its includes, which a precompiled header can hold."""

from __future__ import annotations

import re

from r3cc.remix.source.tokens import Kind, tokens


def preamble_size(text: bytes, *, own_headers: bool) -> int:
    """Bytes of the leading preprocessor lines up to the last include, conditions closed; 0 if there is none.

    Without ``own_headers`` it ends before the first include in quotes.
    """
    decoded = text.decode("latin-1")
    depth = size = 0
    for token in tokens(decoded):
        if token.kind is not Kind.DIRECTIVE:
            break
        if not own_headers and re.match(r'#include\s*"', token.text):
            break
        depth += bool(re.match(r"#if", token.text)) - token.text.startswith("#endif")
        if depth == 0 and re.match(r"#(include|endif)", token.text):
            size = token.end
    newline = decoded.find("\n", size)
    return newline + 1 if size and newline >= 0 else 0
