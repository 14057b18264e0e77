"""Work and data that neighbouring threads share through shared memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from tree_sitter import Node

from r3cc.remix.proposers.rules.launch import guarded_index
from r3cc.remix.proposers.rules.rule import Site, has_barrier
from r3cc.remix.proposers.rules.syntax import (
    Edit,
    Syntax,
    before,
    call_arguments,
    called,
    replace,
    root_name,
    single_expression,
    statements,
    substitute,
    text_of,
    written,
)

MOST_THREADS = 1024
_INDEX = re.compile(r"blockIdx\.(?P<axis>[xy])\*blockDim\.(?P=axis)\+threadIdx\.(?P=axis)")
_LOADABLE = {"double": 8, "float": 4, "int": 4, "unsigned": 4}


class ShareWithNeighbour:
    """A thread that calls a function for its place and for the next one: the next thread computes that as well.

    ``T a = f(…, at, …); T b = f(…, at + 1, …);`` becomes one call a thread; the other result comes from the neighbour,
    and only threads at the block's edge compute both.
    """

    name = "share_with_neighbour"
    weight = 16.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """Pairs of calls at the top of a kernel, for each direction that may fit."""
        body = region.body
        if body is None or "__global__" not in region.text:
            return
        lines = statements(body)
        indices = _thread_indices(lines)
        for first, second in pairwise(lines):
            one, other = _call(first), _call(second)
            if one is None or other is None or called(one) != called(other):
                continue
            for axis in _directions(one, other, indices):
                yield _shared(region, first, other, axis, indices.get(axis), _guard(lines, first))


class StageInShared:
    """A stencil's inputs in shared memory: each value is read from memory once a block."""

    name = "stage_in_shared"
    weight = 3.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """One an input that is read at ``p[i]`` and at literal distances from it."""
        body = region.body
        lines = statements(body) if body is not None else []
        guard = guarded_index(lines[0], lines[1]) if len(lines) > 2 else None
        if body is None or guard is None or has_barrier(body) or guard.name in written_after(lines[2:]):
            return
        for name in sorted(region.constant_pointers):
            element = region.types.get(name, "").removesuffix("*")
            reads = _stencil(region, name, guard.name)
            if element in _LOADABLE and len({offset for offset, _ in reads}) > 1 and name not in written(body):
                yield _staged(region, lines, name, element, reads, guard.name, guard.bound)


def written_after(lines: list[Node]) -> set[str]:
    """What a function writes after its first statements."""
    return set().union(*map(written, lines)) if lines else set()


def _thread_indices(lines: list[Node]) -> dict[str, str]:
    """Names of a thread's coordinates in the grid, by axis."""
    found: dict[str, str] = {}
    for line in lines:
        declarator = line.child_by_field_name("declarator") if line.type == "declaration" else None
        name = declarator.child_by_field_name("declarator") if declarator is not None else None
        value = declarator.child_by_field_name("value") if declarator is not None else None
        match = _INDEX.fullmatch("".join(text_of(value).split())) if value is not None else None
        if match is not None and name is not None:
            found[match["axis"]] = text_of(name)
    return found


def _call(line: Node) -> Node | None:
    """The call of ``T x = f(…);``."""
    declarators = line.children_by_field_name("declarator") if line.type == "declaration" else []
    if len(declarators) != 1 or declarators[0].type != "init_declarator":
        return None
    name, value = declarators[0].child_by_field_name("declarator"), declarators[0].child_by_field_name("value")
    plain = name is not None and name.type == "identifier"
    return value if plain and value is not None and value.type == "call_expression" else None


def _directions(one: Node, other: Node, indices: dict[str, str]) -> list[str]:
    """Axes along which the second call may be the neighbour's first one."""
    pairs = list(zip(call_arguments(one), call_arguments(other), strict=False))
    if len(call_arguments(one)) != len(call_arguments(other)):
        return []
    differing = [(mine, theirs) for mine, theirs in pairs if text_of(mine) != text_of(theirs)]
    moved = [(mine, theirs) for mine, theirs in differing if not _steps_ahead(mine, theirs)]
    sure = [axis for axis, name in indices.items() if moved and all(_is_next(*pair, name) for pair in moved)]
    if not differing or (moved and not sure):
        return []
    if not moved and "x" in indices and all("".join(text_of(theirs).split()).endswith("+1") for _, theirs in differing):
        return ["x"]
    return sure or sorted(indices)


def _steps_ahead(mine: Node, theirs: Node) -> bool:
    """``at`` and ``at + something``."""
    return "".join(text_of(theirs).split()).startswith("".join(text_of(mine).split()) + "+")


def _is_next(mine: Node, theirs: Node, name: str) -> bool:
    """Whether an argument is the other one at the next place."""
    return "".join(substitute(mine, name, f"{name}+1").split()) == "".join(text_of(theirs).split())


def _guard(lines: list[Node], until: Node) -> Node | None:
    """The ``if (…) return;`` that leaves threads outside of the domain."""
    for line in lines:
        if line.start_byte >= until.start_byte:
            return None
        action = line.child_by_field_name("consequence") if line.type == "if_statement" else None
        condition = line.child_by_field_name("condition") if line.type == "if_statement" else None
        if action is not None and condition is not None and "".join(text_of(action).split()).strip("{}") == "return;":
            return condition
    return None


def _shared(region: Syntax, first: Node, other: Node, axis: str, index: str | None, guard: Node | None) -> Site:
    kind, declarator = first.child_by_field_name("type"), first.child_by_field_name("declarator")
    own = declarator.child_by_field_name("declarator") if declarator is not None else None
    assert kind is not None and own is not None
    results, thread, inside = region.fresh("results"), region.fresh("thread"), region.fresh("inside")
    pad = region.indent(first)
    step = "1" if axis == "x" else "blockDim.x"
    reaches = f"threadIdx.{axis} + 1 < blockDim.{axis}"
    if guard is not None and index is not None:
        reaches += f" && !{substitute(guard, index, f'({index} + 1)')}"
    after = (
        f"\n{pad}{results}[{thread}] = {text_of(own)};\n{pad}__syncthreads();\n{pad}const bool {inside} = {reaches};"
    )
    ahead = (
        f"__shared__ {text_of(kind)} {results}[{MOST_THREADS}];\n"
        f"{pad}const unsigned {thread} = threadIdx.y * blockDim.x + threadIdx.x;\n{pad}"
    )
    edits = (
        before(first, ahead),
        Edit(first.end_byte, first.end_byte, after),
        before(other, f"{inside} ? {results}[{thread} + {step}] : "),
    )
    return Site(
        f"let the next thread along {axis} give the second result of {called(other)} instead of computing it twice",
        edits,
    )


def _stencil(region: Syntax, name: str, index: str) -> list[tuple[int, Node]]:
    """Reads of ``name`` at literal distances from ``index``; empty when there is any other use of it."""
    reads: list[tuple[int, Node]] = []
    for node in region.all("subscript_expression"):
        if root_name(node) != name:
            continue
        place = single_expression(node)
        match = re.fullmatch(rf"{index}(?:([+-])(\d))?", "".join(text_of(place).split())) if place is not None else None
        if match is None:
            return []
        reads.append((int(f"{match[1]}{match[2]}") if match[1] else 0, node))
    return reads


def _staged(
    region: Syntax, lines: list[Node], name: str, element: str, reads: list[tuple[int, Node]], index: str, bound: str
) -> Site:
    tile, slot, pad = region.fresh("tile"), region.fresh("slot"), region.indent(lines[0])
    low, high = -min(0, *(offset for offset, _ in reads)), max(0, *(offset for offset, _ in reads))
    guard = lines[1]
    lower = "".join(f" {tile}[{slot} - {n}] = {name}[{index} - {n}];" for n in range(1, low + 1))
    upper = "".join(f" {tile}[{slot} + {n}] = {name}[{index} + {n}];" for n in range(1, high + 1))
    text = (
        f"__shared__ {element} {tile}[{MOST_THREADS + low + high}];\n"
        f"{pad}const unsigned {slot} = threadIdx.x{f' + {low}' if low else ''};\n"
        f"{pad}if ({index} < {bound}) {{\n"
        f"{pad}  {tile}[{slot}] = {name}[{index}];\n"
        + (f"{pad}  if (threadIdx.x == 0) {{{lower} }}\n" if low else "")
        + (f"{pad}  if (threadIdx.x + 1 == blockDim.x || {index} + 1 >= {bound}) {{{upper} }}\n" if high else "")
        + f"{pad}}}\n{pad}__syncthreads();\n{pad}"
    )
    edits = (before(guard, text), *(replace(node, _slot_text(tile, slot, offset)) for offset, node in reads))
    return Site(f"stage {name} in shared memory, so that neighbours read it from there", edits)


def _slot_text(tile: str, slot: str, offset: int) -> str:
    return f"{tile}[{slot}]" if offset == 0 else f"{tile}[{slot} {'+' if offset > 0 else '-'} {abs(offset)}]"
