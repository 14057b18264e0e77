"""Which integer parameters, and integers in structs passed by value, a kernel's results depend on, told from
optimised IR."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from r3cc.remix.artefact import definition

_KEPT = re.compile(r"\b(?:call|invoke|atomicrmw|cmpxchg|volatile)\b")
_VALUE = re.compile(r"%[\w.$-]+")
_POINTER = rf"ptr(?: addrspace\(\d+\))? ({_VALUE.pattern})"
_FIELD = re.compile(rf" *({_VALUE.pattern}) = getelementptr (?:\w+ )*i8, {_POINTER}, i64 (\d+)(?:,|$)")
_LOAD = re.compile(
    rf" *{_VALUE.pattern} = load (?:<(?P<lanes>\d+) x )?(?P<type>i\d+|float|double|ptr)(?: addrspace\(\d+\))?>?, "
    rf"ptr(?: addrspace\(\d+\))? (?P<from>{_VALUE.pattern})(?:,|$)"
)
_STRUCT = re.compile(r"\b(?:byval|byref)\(")
_SIZES = {"float": 4, "double": 8, "ptr": 8}


class StructReads(msgspec.Struct, frozen=True):
    """Bytes that a kernel reads of structs passed by value, each as (position of the parameter, offset)."""

    integers: frozenset[tuple[int, int]] = frozenset()
    """As integers."""
    all: frozenset[tuple[int, int]] = frozenset()
    """As anything."""
    unknown: frozenset[int] = frozenset()
    """Parameters that are read in other ways than at fixed places: perhaps everywhere."""

    def missing(self, other: StructReads) -> list[tuple[int, int]]:
        """Integers' bytes that ``other`` surely does not read, in order."""
        return sorted(each for each in self.integers - other.all if each[0] not in other.unknown)


def struct_reads(text: str, kernel: str) -> StructReads:
    """What a kernel reads of its structs, and needs. Raises R3Error without the kernel."""
    parameters, lines = _parts(text, kernel)
    places = {_VALUE.findall(each)[-1]: (at, 0) for at, each in enumerate(parameters) if _STRUCT.search(each)}
    integers, bytes_, unknown = set(), set(), set()
    for line in lines:
        if (field := _FIELD.match(line)) and field[2] in places:
            at, offset = places[field[2]]
            places[field[1]] = at, offset + int(field[3])
        elif (load := _LOAD.match(line)) and load["from"] in places:
            at, offset = places[load["from"]]
            size = int(load["lanes"] or 1) * (_SIZES.get(load["type"]) or (int(load["type"][1:]) + 7) // 8)
            found = {(at, byte) for byte in range(offset, offset + size)}
            bytes_ |= found
            integers |= found if load["type"].startswith("i") else set()
        else:
            unknown |= {places[name][0] for name in _VALUE.findall(line) if name in places}
    return StructReads(frozenset(integers), frozenset(bytes_), frozenset(unknown))


def integers_used(text: str, kernel: str) -> frozenset[int]:
    """Their positions. What is only assumed (``llvm.assume``) is not used. Raises R3Error without the kernel."""
    parameters, lines = _parts(text, kernel)
    used = set(_VALUE.findall("\n".join(lines)))
    return frozenset(
        at for at, each in enumerate(parameters) if re.match(r"i\d+ ", each) and _VALUE.findall(each)[-1] in used
    )


def _parts(text: str, kernel: str) -> tuple[list[str], list[str]]:
    """A kernel's parameters, and the lines that its results need."""
    head, body = definition(text, kernel)
    lines = [line for line in body if "@llvm.assume(" not in line]
    while len(needed := _needed(lines)) < len(lines):
        lines = needed
    return list(_parameters(head[head.index(f"@{kernel}(") + len(kernel) + 2 :])), lines


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
