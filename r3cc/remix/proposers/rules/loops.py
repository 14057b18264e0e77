"""Rewrites of loops: unrolling, interchange, fusion, peeling, bounds and invariants taken out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from tree_sitter import Node

from r3cc.remix.proposers.rules.rule import CountedLoop, Site, counted_loop, has_barrier, leaves, single_statement
from r3cc.remix.proposers.rules.syntax import (
    Edit,
    Syntax,
    ancestors,
    apply_edits,
    before,
    identifiers,
    is_pure,
    overlaps,
    replace,
    root_name,
    substitute,
    text_of,
    written,
)

_LOOPS = ("for_statement", "while_statement", "do_statement")


class Unroll:
    """``#pragma unroll`` with a factor that the tuner chooses."""

    name = "unroll"
    weight = 3.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """Innermost counted loops without a pragma and without barriers."""
        for loop in _counted(region):
            if has_barrier(loop.node) or _holds_loop(loop.body) or _has_pragma(loop.node) or not _in_block(loop.node):
                continue
            factor = f"R3_PARAM({region.fresh('unroll')}, 4, 2, 8, 16, 1)"
            start = region.bytes.rfind(b"\n", 0, loop.node.start_byte) + 1
            if region.bytes[start : loop.node.start_byte].strip():
                continue
            line = f"#pragma unroll {factor}\n{region.indent(loop.node)}"
            yield Site("unroll the loop, so that its loads are in flight together", (before(loop.node, line),))


class Interchange:
    """Swaps two loops that nest perfectly and don't depend on one another."""

    name = "interchange"
    weight = 3.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """Pairs from the outside in."""
        for outer in _counted(region):
            nested = single_statement(outer.body)
            inner = counted_loop(nested) if nested is not None and nested.type == "for_statement" else None
            if inner is None or has_barrier(outer.node) or leaves(outer.node):
                continue
            crossing = outer.name in _header_names(inner) or inner.name in _header_names(outer)
            if not crossing:
                swapped = (_header(outer, region, _header_text(inner)), _header(inner, region, _header_text(outer)))
                yield Site("interchange the loops, so that the innermost one runs over neighbours in memory", swapped)


class Fuse:
    """Joins two loops over the same range that follow one another and touch nothing of one another."""

    name = "fuse"
    weight = 3.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """Neighbouring pairs."""
        for first in _counted(region):
            follower = first.node.next_named_sibling
            second = counted_loop(follower) if follower is not None and follower.type == "for_statement" else None
            if second is None or has_barrier(first.node) or has_barrier(second.node):
                continue
            same = (first.first, text_of(first.bound), first.step, first.type) == (
                second.first,
                text_of(second.bound),
                second.step,
                second.type,
            )
            if same and not _touch(first, second) and not leaves(first.node) and not leaves(second.node):
                yield Site("fuse two loops over the same range", _fused(region, first, second))


class Peel:
    """Takes a loop's first iteration out, where its body asks whether it is the first one."""

    name = "peel"
    weight = 2.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """Loops that compare their variable with its first value."""
        for loop in _counted(region):
            asks = f"{loop.name}=={loop.first}" in "".join(text_of(loop.body).split())
            if not asks or leaves(loop.body) or has_barrier(loop.node):
                continue
            pad = region.indent(loop.node)
            rest = f"for ({loop.type} {loop.name} = ({loop.first}) + ({loop.step}); "
            rest += f"{loop.name} < {text_of(loop.bound)}; {loop.name} += {loop.step}) {_decided(loop, 'false')}"
            text = (
                f"if (({loop.first}) < {text_of(loop.bound)}) {{\n"
                f"{pad}  const {loop.type} {loop.name} = {loop.first};\n"
                f"{pad}  {_decided(loop, 'true')}\n"
                f"{pad}}}\n"
                f"{pad}{rest}"
            )
            yield Site(
                "peel the first iteration: the others need not ask whether they are it", (replace(loop.node, text),)
            )


class HoistBound:
    """Reads a loop's bound once: the compiler can't, when the loop writes memory that may alias it."""

    name = "hoist_bound"
    weight = 4.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """Loops whose bound is read from memory."""
        for loop in _counted(region):
            bound = text_of(loop.bound)
            in_memory = "[" in bound or "->" in bound
            if not in_memory or not is_pure(loop.bound) or identifiers(loop.bound) & written(loop.body):
                continue
            if bound in written(loop.body) or _in_loop_header(loop.node) or not _in_block(loop.node):
                continue
            name = region.fresh("bound")
            edits = (
                before(loop.node, f"const {loop.type} {name} = {bound};\n{region.indent(loop.node)}"),
                replace(loop.bound, name),
            )
            yield Site("read the loop's bound once, before the loop", edits)


class HoistInvariant:
    """Reads values that a loop reads each time without changing them once, before the loop."""

    name = "hoist_invariant"
    weight = 3.5

    def sites(self, region: Syntax) -> Iterator[Site]:
        """One a loop, with all its values."""
        for loop in _counted(region):
            if not _in_block(loop.node):
                continue
            changed = written(loop.node)
            uses: dict[str, list[Node]] = defaultdict(list)
            for node in region.all("subscript_expression", "field_expression", under=loop.body):
                if root_name(node) not in region.arrays and _invariant(node, changed):
                    uses[text_of(node)].append(node)
            edits = _hoisted(region, loop, uses)
            if edits:
                yield Site("read once, before the loop, what it does not change", tuple(edits))


def _hoisted(region: Syntax, loop: CountedLoop, uses: Mapping[str, list[Node]]) -> list[Edit]:
    """Longer values first: what stands inside of a hoisted one goes with it."""
    edits: list[Edit] = []
    names, pad = region.fresh_names("kept"), region.indent(loop.node)
    for text, nodes in sorted(uses.items(), key=lambda each: -len(each[0])):
        free = [node for node in nodes if not overlaps(node, edits)]
        if free:
            name = next(names)
            edits.append(before(loop.node, f"const auto {name} = {text};\n{pad}"))
            edits += [replace(node, name) for node in free]
    return edits


def _invariant(node: Node, changed: set[str]) -> bool:
    """Memory that doesn't move with the loop, and isn't written by it under this name."""
    text = text_of(node)
    outer = node.parent
    if "[" not in text and "->" not in text:
        return False
    if outer is not None and outer.type in (
        "subscript_expression",
        "field_expression",
        "call_expression",
        "pointer_expression",
    ):
        whole = outer.child_by_field_name("argument") or outer.child_by_field_name("function")
        if whole is not None and whole.id == node.id:
            return False
    return is_pure(node) and text not in changed and not identifiers(node) & changed


def _counted(region: Syntax) -> Iterator[CountedLoop]:
    return (loop for node in region.all("for_statement") if (loop := counted_loop(node)) is not None)


def _holds_loop(node: Node) -> bool:
    return any(each.type in _LOOPS for each in _tree(node))


def _tree(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _tree(child)


def _has_pragma(node: Node) -> bool:
    sibling = node.prev_sibling
    return sibling is not None and sibling.type.startswith("preproc") and "unroll" in text_of(sibling)


def _in_block(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "compound_statement"


def _in_loop_header(node: Node) -> bool:
    return any(each.type == "condition_clause" for each in ancestors(node))


def _header_text(loop: CountedLoop) -> str:
    return (
        f"for ({loop.type} {loop.name} = {loop.first}; {loop.name} < {text_of(loop.bound)}; {loop.name} += {loop.step})"
    )


def _header(loop: CountedLoop, region: Syntax, text: str) -> Edit:
    """An edit of all before the body."""
    end = region.bytes.rfind(b")", loop.node.start_byte, loop.body.start_byte) + 1
    return Edit(loop.node.start_byte, end, text)


def _header_names(loop: CountedLoop) -> set[str]:
    start = loop.node.child_by_field_name("initializer")
    assert start is not None
    return (identifiers(start) | identifiers(loop.bound)) - {loop.name}


def _touch(first: CountedLoop, second: CountedLoop) -> bool:
    """Whether one loop writes a name that the other mentions."""
    own = {first.name, second.name}
    one, other = written(first.body) - own, written(second.body) - own
    return bool(one & (identifiers(second.body) - own) or other & (identifiers(first.body) - own))


def _fused(region: Syntax, first: CountedLoop, second: CountedLoop) -> tuple[Edit, ...]:
    pad = region.indent(first.node)
    bodies = [text_of(first.body), substitute(second.body, second.name, first.name)]
    text = _header_text(first) + " {\n" + "\n".join(f"{pad}  {body}" for body in bodies) + f"\n{pad}}}"
    return (Edit(first.node.start_byte, second.node.end_byte, text),)


def _decided(loop: CountedLoop, answer: str) -> str:
    """The body with each ``i == first`` decided."""
    edits = tuple(
        Edit(each.start_byte - loop.body.start_byte, each.end_byte - loop.body.start_byte, answer)
        for each in _tree(loop.body)
        if each.type == "binary_expression" and "".join(text_of(each).split()) == f"{loop.name}=={loop.first}"
    )
    return apply_edits(text_of(loop.body), edits)
