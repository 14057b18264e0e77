"""Which integer parameters a kernel's results depend on, told from optimised IR."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from r3cc.remix.artefact import definition

_KEPT = re.compile(r"\b(?:call|invoke|atomicrmw|cmpxchg|volatile)\b")
_VALUE = re.compile(r"%[\w.$-]+")


def integers_used(text: str, kernel: str) -> frozenset[int]:
    """Their positions. What is only assumed (``llvm.assume``) is not used. Raises R3Error without the kernel."""
    head, body = definition(text, kernel)
    lines = [line for line in body if "@llvm.assume(" not in line]
    while len(needed := _needed(lines)) < len(lines):
        lines = needed
    used = set(_VALUE.findall("\n".join(lines)))
    parameters = enumerate(_parameters(head[head.index(f"@{kernel}(") + len(kernel) + 2 :]))
    return frozenset(at for at, text in parameters if re.match(r"i\d+ ", text) and _VALUE.findall(text)[-1] in used)


def _needed(lines: Sequence[str]) -> list[str]:
    """Lines without those that compute what no other line uses."""
    uses = Counter(name for line in lines for name in set(_VALUE.findall(line)))
    return [line for line in lines if _KEPT.search(line) or not _is_unused(line, uses)]


def _is_unused(line: str, uses: Mapping[str, int]) -> bool:
    defined = re.match(rf" *({_VALUE.pattern}) = ", line)
    return defined is not None and uses[defined[1]] == 1


def _parameters(text: str) -> Iterator[str]:
    """The parameters of a list that ends with its closing bracket."""
    depth = begin = 0
    for at, sign in enumerate(text):
        depth += (sign in "([{<") - (sign in ")]}>")
        if depth < 0 or (depth == 0 and sign == ","):
            if text[begin:at].strip():
                yield text[begin:at].strip()
            begin = at + 1
        if depth < 0:
            return
