"""Cheaper arithmetic: what a compiler may not do without leave to round differently."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from tree_sitter import Node

from r3cc.remix.proposers.rules.rule import Site, counted_loop
from r3cc.remix.proposers.rules.syntax import (
    Edit,
    Syntax,
    ancestors,
    before,
    call_arguments,
    called,
    identifiers,
    is_pure,
    replace,
    statement_of,
    text_of,
    written,
)

_POWERS = ("pow", "powf", "std::pow")
_ROOTS = ("sqrt", "sqrtf", "std::sqrt")
_LARGEST_POWER = 8


class PowerByMultiplication:
    """``pow(x, 2.0)`` is a product, ``pow(x, 0.5)`` a root: device libraries' pow doesn't look."""

    name = "power_by_multiplication"
    weight = 16.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """All such calls of a region at once."""
        edits: list[Edit] = []
        for call in region.all("call_expression"):
            text = _product(call)
            if text is not None and not _inside(call, edits):
                edits.append(replace(call, text))
        if edits:
            yield Site("powers with a whole exponent by multiplication", tuple(edits))


class PowerByExponential:
    """``pow(x, c)`` as ``exp(c * log(x))``: for positive ``x``, less exact by a few units in the last place."""

    name = "power_by_exponential"
    weight = 2.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """All calls of a region at once."""
        edits: list[Edit] = []
        for call in region.all("call_expression"):
            arguments = call_arguments(call)
            if called(call) in _POWERS and len(arguments) == 2 and not _inside(call, edits):
                base, exponent = map(text_of, arguments)
                suffix = "f" if called(call) == "powf" else ""
                edits.append(replace(call, f"exp{suffix}(({exponent}) * log{suffix}({base}))"))
        if edits:
            yield Site("powers of positive values by exponential and logarithm", tuple(edits))


class HypotenuseByRoot:
    """``hypot(a, b)`` guards against overflow that lengths in a mesh never meet."""

    name = "hypotenuse_by_root"
    weight = 8.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """All calls of a region at once."""
        edits: list[Edit] = []
        for call in region.all("call_expression"):
            arguments = call_arguments(call)
            if called(call) not in ("hypot", "hypotf", "std::hypot") or not all(map(is_pure, arguments)):
                continue
            if len(arguments) == 2 and not _inside(call, edits):
                squares = " + ".join(f"({text_of(each)}) * ({text_of(each)})" for each in arguments)
                edits.append(replace(call, f"{'sqrtf' if called(call) == 'hypotf' else 'sqrt'}({squares})"))
        if edits:
            yield Site("lengths by a plain square root, without hypot's care for overflow", tuple(edits))


class ReciprocalRoot:
    """``1.0 / sqrt(x)`` has an instruction of its own."""

    name = "reciprocal_root"
    weight = 5.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """All such quotients of a region at once."""
        edits = []
        for node in _divisions(region):
            left, right = _sides(node)
            if (
                re.fullmatch(r"1(\.0*)?f?", text_of(left))
                and right.type == "call_expression"
                and called(right) in _ROOTS
            ):
                suffix = "f" if called(right) == "sqrtf" else ""
                edits.append(replace(node, f"rsqrt{suffix}({text_of(call_arguments(right)[0])})"))
        if edits:
            yield Site("reciprocal square roots by rsqrt", tuple(edits))


class ReciprocalInLoop:
    """Divides once before a loop by what the loop divides by each time."""

    name = "reciprocal_in_loop"
    weight = 5.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """One a loop and divisor."""
        for node in region.all("for_statement"):
            loop = counted_loop(node)
            if loop is None or statement_of(node) is None or statement_of(node) != node:
                continue
            changed = written(node)
            inside = [each for each in _divisions(region) if node.start_byte <= each.start_byte < node.end_byte]
            for divisor, uses in _by_divisor(region, inside).items():
                if not identifiers(_sides(uses[0])[1]) & changed and divisor not in changed:
                    yield _reciprocal(region, node, divisor, uses, "one division before the loop, products in it")


class SharedReciprocal:
    """Divides once where a function divides twice or more by the same value."""

    name = "shared_reciprocal"
    weight = 4.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """One a divisor that keeps its value."""
        for divisor, uses in _by_divisor(region, list(_divisions(region))).items():
            if len(uses) < 2 or not _steady(region, divisor, _sides(uses[0])[1]):
                continue
            place = _common_statement(uses)
            if place is not None:
                yield _reciprocal(region, place, divisor, uses, "one division for several quotients")


def _reciprocal(region: Syntax, place: Node, divisor: str, uses: list[Node], why: str) -> Site:
    name = region.fresh("reciprocal")
    one = "1.0f" if region.types.get(divisor) == "float" else "1.0"
    edits = [before(place, f"const auto {name} = {one} / ({divisor});\n{region.indent(place)}")]
    edits += [_times(each, name) for each in uses]
    return Site(f"{why}: by {divisor}", tuple(edits))


def _times(division: Node, name: str) -> Edit:
    """``a / d`` becomes ``a * name``, ``a /= d`` likewise; only the operator and the divisor are touched."""
    _, right = _sides(division)
    operator = division.child_by_field_name("operator")
    assert operator is not None
    sign = "*=" if text_of(operator) == "/=" else "*"
    return Edit(operator.start_byte, right.end_byte, f"{sign} {name}")


def _by_divisor(region: Syntax, divisions: list[Node]) -> dict[str, list[Node]]:
    """Divisions of floating values by a name or a member, grouped; indices and whole numbers are left alone."""
    found: dict[str, list[Node]] = defaultdict(list)
    for node in divisions:
        left, right = _sides(node)
        simple = right.type in ("identifier", "field_expression", "subscript_expression") and is_pure(right)
        floating = region.is_floating(left) or region.is_floating(right) or _looks_floating(region, left, right)
        if simple and floating and not _in_index(node):
            found[text_of(right)].append(node)
    return found


def _looks_floating(region: Syntax, left: Node, right: Node) -> bool:
    """Members and elements of types that the region doesn't declare, where nothing speaks for whole numbers."""
    opaque = any(each.type in ("field_expression", "subscript_expression") for each in (left, right))
    opaque = opaque or next(region.all("field_expression", "subscript_expression", under=left), None) is not None
    return opaque and not region.is_whole(left) and not region.is_whole(right)


def _divisions(region: Syntax) -> Iterator[Node]:
    for node in region.all("binary_expression", "assignment_expression"):
        operator = node.child_by_field_name("operator")
        if operator is not None and text_of(operator) in ("/", "/="):
            yield node


def _sides(node: Node) -> tuple[Node, Node]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    assert left is not None and right is not None
    return left, right


def _in_index(node: Node) -> bool:
    return any(each.type == "subscript_argument_list" for each in ancestors(node))


def _steady(region: Syntax, divisor: str, node: Node) -> bool:
    """Whether a divisor has one value in all of the function, as far as its text says."""
    local = divisor in region.types
    names = {divisor} if local else identifiers(node)
    return all(_assignments(region, name) <= 1 for name in names) and (local or divisor not in written(region.root))


def _assignments(region: Syntax, name: str) -> int:
    """How often a name gets a value; parameters count as one."""
    count = 1 if any(name in identifiers(each) for each in region.all("parameter_declaration")) else 0
    for node in region.all("init_declarator", "assignment_expression", "update_expression"):
        target = node.child_by_field_name("declarator") or node.child_by_field_name("left")
        target = target or node.child_by_field_name("argument")
        count += target is not None and text_of(target) == name
    return count


def _common_statement(nodes: list[Node]) -> Node | None:
    """The first use's statement, when its block holds all the others, and is not left out on some way to them."""
    place = statement_of(nodes[0])
    if place is None or place.parent is None or place.type == "for_statement":
        return None
    block = place.parent
    return place if all(block.start_byte <= each.start_byte < block.end_byte for each in nodes) else None


def _product(call: Node) -> str | None:
    arguments = call_arguments(call)
    if called(call) not in _POWERS or len(arguments) != 2 or not is_pure(arguments[0]):
        return None
    base, exponent = text_of(arguments[0]), text_of(arguments[1]).rstrip("fF")
    if re.fullmatch(r"0?\.50*", exponent):
        return f"{'sqrtf' if called(call) == 'powf' else 'sqrt'}({base})"
    if not re.fullmatch(r"\d+(\.0*)?", exponent) or not 2 <= int(float(exponent)) <= _LARGEST_POWER:
        return None
    return _product_text(f"({base})", int(float(exponent)))


def _product_text(factor: str, power: int) -> str:
    """A product by repeated squaring, as one expression."""
    if power == 1:
        return factor
    half = _product_text(factor, power // 2)
    return f"({half} * {half}{f' * {factor}' if power % 2 else ''})"


def _inside(node: Node, edits: list[Edit]) -> bool:
    return any(edit.begin <= node.start_byte < edit.end for edit in edits)
