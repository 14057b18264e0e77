"""Loads and stores: read-only path, no aliasing, values kept in registers, wide loads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tree_sitter import Node

from r3cc.remix.proposers.rules.rule import Site, counted_loop
from r3cc.remix.proposers.rules.syntax import (
    Edit,
    Syntax,
    ancestors,
    before,
    identifiers,
    is_pure,
    overlaps,
    replace,
    root_name,
    single_expression,
    statement_of,
    text_of,
    written,
)

LOADABLE = (
    "double",
    "float",
    "int",
    "unsigned",
    "unsigned int",
    "long long",
    "unsigned long long",
    "double2",
    "float4",
)


class Restrict:
    """``__restrict__`` on pointer parameters: loads may move across stores. The mangled name stays."""

    name = "restrict"
    weight = 5.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """All pointer parameters at once."""
        function = region.function
        declarator = function.child_by_field_name("declarator") if function is not None else None
        edits = []
        for node in region.all("pointer_declarator", under=declarator) if declarator is not None else ():
            name = node.child_by_field_name("declarator")
            parameter = node.parent is not None and node.parent.type == "parameter_declaration"
            if parameter and name is not None and name.type == "identifier" and "restrict" not in text_of(node):
                edits.append(before(name, "__restrict__ "))
        if edits:
            yield Site(
                "promise that pointer parameters don't alias, so that loads may move across stores", tuple(edits)
            )


class ReadOnlyLoads:
    """``__ldg`` for what a kernel reads through pointers to constants and never writes."""

    name = "read_only_loads"
    weight = 4.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """All such loads of a region at once."""
        changed = written(region.root)
        edits: list[Edit] = []
        for node in region.all("subscript_expression"):
            array = node.child_by_field_name("argument")
            if array is None or array.type != "identifier" or text_of(array) not in region.constant_pointers:
                continue
            name = text_of(array)
            loadable = region.types.get(name, "").removesuffix("*") in LOADABLE
            if loadable and name not in changed and _is_read(node) and not overlaps(node, edits):
                edits.append(replace(node, f"__ldg(&{text_of(node)})"))
        if edits:
            yield Site("read constant inputs through the read-only path", tuple(edits))


class KeepInRegister:
    """Reads memory once that a function reads several times: stores in between may alias, the compiler reads again."""

    name = "keep_in_register"
    weight = 4.5

    def sites(self, region: Syntax) -> Iterator[Site]:
        """All values of a region that are read at least twice and never written under their name."""
        changed = written(region.root)
        uses: dict[str, list[Node]] = defaultdict(list)
        for node in region.all("subscript_expression"):
            in_memory = root_name(node) not in region.arrays and "threadIdx" not in text_of(node)
            if in_memory and text_of(node) not in changed and _is_read(node) and is_pure(node):
                uses[text_of(node)].append(node)
        edits: list[Edit] = []
        names = region.fresh_names("kept")
        for text, nodes in sorted(uses.items(), key=lambda each: -len(each[0])):
            free = [node for node in nodes if not overlaps(node, edits)]
            place = _dominating(free)
            if len(free) < 2 or place is None or _rewritten(region, identifiers(free[0]), free[0]):
                continue
            name = next(names)
            edits.append(before(place, f"const auto {name} = {text};\n{region.indent(place)}"))
            edits += [replace(node, name) for node in free]
        if edits:
            yield Site("read once what the function reads several times", tuple(edits))


class AccumulateInRegister:
    """Sums up in a register what a loop sums up in memory."""

    name = "accumulate_in_register"
    weight = 7.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """Loops that add to one place of memory."""
        for node in region.all("for_statement"):
            loop = counted_loop(node)
            if loop is None or statement_of(node) != node:
                continue
            for target in _memory_targets(region, loop.body):
                text = text_of(target[0])
                if loop.name in identifiers(target[0]) or identifiers(target[0]) & written(loop.body) - {
                    root_name(target[0])
                }:
                    continue
                others = [
                    each
                    for each in region.all("subscript_expression", under=loop.body)
                    if root_name(each) == root_name(target[0]) and text_of(each) != text
                ]
                if not others:
                    yield _in_register(region, node, loop.body, text)


class WideLoads:
    """Four neighbours by two wide loads, where a loop reads ``p[4 * i + c]`` for c from 0 to 3 and p is aligned."""

    name = "wide_loads"
    weight = 2.5

    _WIDE = {"float": ("float4", 1), "int": ("int4", 1), "unsigned": ("uint4", 1), "double": ("double2", 2)}
    _MEMBERS = {"float4": "xyzw", "int4": "xyzw", "uint4": "xyzw", "double2": "xy"}

    def sites(self, region: Syntax) -> Iterator[Site]:
        """Loops of four iterations over a parameter ``const T *``."""
        for node in region.all("for_statement"):
            loop = counted_loop(node)
            if loop is None or (loop.first, text_of(loop.bound), loop.step) != ("0", "4", "1"):
                continue
            for load in region.all("subscript_expression", under=loop.body):
                base = self._base(region, load, loop.name)
                if base is not None and statement_of(node) == node:
                    yield self._site(region, node, load, base, loop.name)
                    break

    def _base(self, region: Syntax, load: Node, variable: str) -> tuple[str, str] | None:
        """Pointer and the group's number ``i`` of ``p[i * 4 + c]`` or ``p[4 * i + c]``."""
        array, index = load.child_by_field_name("argument"), single_expression(load)
        if array is None or index is None or text_of(array) not in region.constant_pointers:
            return None
        left, right = index.child_by_field_name("left"), index.child_by_field_name("right")
        if index.type != "binary_expression" or left is None or right is None or text_of(right) != variable:
            return None
        factors = [left.child_by_field_name("left"), left.child_by_field_name("right")]
        if left.type != "binary_expression" or None in factors or "*" not in text_of(left):
            return None
        groups = [text_of(each) for each in factors if each is not None and text_of(each) != "4"]
        wide = region.types.get(text_of(array), "").removesuffix("*") in self._WIDE
        return (text_of(array), groups[0]) if len(groups) == 1 and wide and _is_read(load) else None

    def _site(self, region: Syntax, loop: Node, load: Node, base: tuple[str, str], variable: str) -> Site:
        pointer, group = base
        element = region.types[pointer].removesuffix("*")
        wide, count = self._WIDE[element]
        name, pad = region.fresh("wide"), region.indent(loop)
        loads = [
            f"const {wide} {name}_{n} = reinterpret_cast<const {wide} *>({pointer})[{count} * ({group}) + {n}];"
            for n in range(count)
        ]
        values = [f"{name}_{n}.{member}" for n in range(count) for member in self._MEMBERS[wide]]
        aligned = f"reinterpret_cast<unsigned long long>({pointer}) % 16 == 0"
        narrow = ", ".join(f"{pointer}[4 * ({group}) + {n}]" for n in range(4))
        text = (
            f"{element} {name}[4];\n"
            f"{pad}if ({aligned}) {{\n"
            + "".join(f"{pad}  {line}\n" for line in loads)
            + "".join(f"{pad}  {name}[{n}] = {value};\n" for n, value in enumerate(values))
            + f"{pad}}} else {{\n"
            + "".join(f"{pad}  {name}[{n}] = {value};\n" for n, value in enumerate(narrow.split(", ")))
            + f"{pad}}}\n{pad}"
        )
        return Site(
            "load four neighbours at once where they are aligned",
            (before(loop, text), replace(load, f"{name}[{variable}]")),
        )


def _in_register(region: Syntax, loop: Node, body: Node, text: str) -> Site:
    name, pad = region.fresh("sum"), region.indent(loop)
    uses = [each for each in region.all("subscript_expression", under=body) if text_of(each) == text]
    edits = (
        before(loop, f"auto {name} = {text};\n{pad}"),
        *(replace(each, name) for each in uses),
        Edit(loop.end_byte, loop.end_byte, f"\n{pad}{text} = {name};"),
    )
    return Site(f"accumulate {' '.join(text.split())} in a register", edits)


def _memory_targets(region: Syntax, body: Node) -> list[list[Node]]:
    """What a loop adds to, grouped by text."""
    found: dict[str, list[Node]] = defaultdict(list)
    for node in region.all("assignment_expression", under=body):
        left, operator = node.child_by_field_name("left"), node.child_by_field_name("operator")
        if left is None or operator is None or left.type != "subscript_expression":
            continue
        if text_of(operator) in ("+=", "-=", "*=") and is_pure(left):
            found[text_of(left)].append(left)
    return list(found.values())


def _is_read(node: Node) -> bool:
    """Whether an element is only read: not assigned to, no address taken, no member of it either."""
    outer = node.parent
    while outer is not None and outer.type in ("field_expression", "subscript_expression", "parenthesized_expression"):
        argument = outer.child_by_field_name("argument")
        if argument is None or argument.id != node.id:
            return True
        node, outer = outer, outer.parent
    if outer is None or outer.type in ("update_expression", "pointer_expression"):
        return False
    left = outer.child_by_field_name("left") if outer.type == "assignment_expression" else None
    return left is None or left.id != node.id


def _dominating(nodes: list[Node]) -> Node | None:
    """The first use's statement, when it is a plain one whose block holds all the other uses."""
    if not nodes:
        return None
    place = statement_of(nodes[0])
    if place is None or place.parent is None or place.type not in ("declaration", "expression_statement"):
        return None
    block = place.parent
    conditional = any(each.type in ("conditional_expression", "lambda_expression") for each in ancestors(nodes[0]))
    inside = all(block.start_byte <= each.start_byte < block.end_byte for each in nodes)
    return place if inside and not conditional else None


def _rewritten(region: Syntax, names: set[str], use: Node) -> bool:
    """Whether a name that a value's address depends on changes after the value is first read."""
    later = set()
    for node in region.all("assignment_expression", "update_expression", "init_declarator"):
        if node.start_byte >= use.start_byte:
            target = (
                node.child_by_field_name("left")
                or node.child_by_field_name("argument")
                or node.child_by_field_name("declarator")
            )
            if target is not None and target.type == "identifier":
                later.add(text_of(target))
    return bool(names & later)
