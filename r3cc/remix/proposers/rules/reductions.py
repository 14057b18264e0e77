"""Reductions of a block over a shared array, and of a thread over a loop."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from tree_sitter import Node

from r3cc.remix.proposers.rules.rule import CountedLoop, Site, counted_loop, has_barrier
from r3cc.remix.proposers.rules.syntax import (
    Syntax,
    call_arguments,
    called,
    expression_of,
    identifiers,
    is_floating_type,
    is_pure,
    is_whole_type,
    replace,
    statements,
    substitute,
    text_of,
    written,
)

ALL_LANES = "0xffffffffu"
_OPERATORS = {"+=": "+", "*=": "*", "|=": "|", "&=": "&", "^=": "^"}
_EXTREMES = ("fmin", "fmax", "min", "max", "fminf", "fmaxf")


class Tree(msgspec.Struct, frozen=True):
    """``for (h = first; h > 0; h /= 2) { if (t < h) a[t] = a[t] OP a[t + h]; __syncthreads(); }``."""

    loop: Node
    type: str
    half: str
    first: str
    thread: str
    array: str
    operator: str
    """``+`` and the like, or the name of a function of two values."""

    def combined(self, one: str, other: str) -> str:
        """The reduction of two values."""
        return f"{one} {self.operator} {other}" if len(self.operator) == 1 else f"{self.operator}({one}, {other})"


def trees(region: Syntax) -> Iterator[Tree]:
    """Tree reductions of a region."""
    for node in region.all("for_statement"):
        tree = _tree(node)
        if tree is not None:
            yield tree


class ReductionTail:
    """The last levels of a tree by one thread: fewer barriers, in another order of summation."""

    name = "reduction_tail"
    weight = 24.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """One a tree."""
        for tree in trees(region):
            tail, index = region.fresh("tail"), region.fresh("element")
            pad = region.indent(tree.loop)
            text = (
                f"const {tree.type} {tail} = R3_PARAM({tail}, 1024, 256, 64, 16);\n"
                f"{pad}{_tree_text(tree, f'{tree.half} >= {tail}', pad)}\n"
                f"{pad}if ({tree.thread} == 0)\n"
                f"{pad}  for ({tree.type} {index} = 1; {index} < 2 * ({tree.first}) && {index} < {tail}; ++{index})\n"
                f"{pad}    {tree.array}[0] = {tree.combined(f'{tree.array}[0]', f'{tree.array}[{index}]')};"
            )
            if not _only_first_thread_follows(tree):
                text += f"\n{pad}__syncthreads();"
            yield Site(
                "finish the block reduction in one thread: a barrier less for each level of the tree",
                (replace(tree.loop, text),),
            )


class ReductionByShuffle:
    """The last levels of a tree inside one warp, through registers."""

    name = "reduction_by_shuffle"
    weight = 6.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """One a tree whose array's type is declared in the region."""
        for tree in trees(region):
            element = region.types.get(tree.array, "").removesuffix("*")
            if not element or element.endswith("*"):
                continue
            value, lane = region.fresh("value"), region.fresh("offset")
            pad = region.indent(tree.loop)
            inner = pad + "  "
            shuffled = f"__shfl_down_sync({ALL_LANES}, {value}, {lane})"
            text = (
                f"if (2 * ({tree.first}) >= 32) {{\n"
                f"{inner}{_tree_text(tree, f'{tree.half} >= 32', inner)}\n"
                f"{inner}if ({tree.thread} < 32) {{\n"
                f"{inner}  {element} {value} = {tree.array}[{tree.thread}];\n"
                f"{inner}  for (unsigned {lane} = 16; {lane} > 0; {lane} /= 2)\n"
                f"{inner}    {value} = {tree.combined(value, shuffled)};\n"
                f"{inner}  if ({tree.thread} == 0)\n"
                f"{inner}    {tree.array}[0] = {value};\n"
                f"{inner}}}\n"
                f"{inner}__syncthreads();\n"
                f"{pad}}} else {{\n"
                f"{inner}{_tree_text(tree, f'{tree.half} > 0', inner)}\n"
                f"{pad}}}"
            )
            yield Site(
                "finish the block reduction with warp shuffles: no shared memory, no barrier in its last levels",
                (replace(tree.loop, text),),
            )


class SplitAccumulators:
    """Several partial results instead of one: the chain of dependent additions becomes shorter."""

    name = "split_accumulators"
    weight = 6.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """Four and two partial results for each loop that only accumulates."""
        for node in region.all("for_statement"):
            loop = counted_loop(node)
            if loop is None or has_barrier(node):
                continue
            sums = [_accumulation(region, loop, each) for each in statements(loop.body)]
            known = [each for each in sums if each is not None]
            if known and len(known) == len(sums) and _independent(loop, known):
                for ways in (4, 2):
                    yield _split(region, loop, known, ways)


class _Sum(msgspec.Struct, frozen=True):
    name: str
    type: str
    operator: str
    value: Node

    def start(self) -> str:
        """What a further partial result begins with: nothing to add, or the same extreme."""
        return {"+": "0", "*": "1"}.get(self.operator, self.name)

    def add(self, into: str, value: str) -> str:
        return (
            f"{into} {self.operator}= {value};"
            if len(self.operator) == 1
            else f"{into} = {self.operator}({into}, {value});"
        )

    def join(self, other: str) -> str:
        return self.add(self.name, other)


def _only_first_thread_follows(tree: Tree) -> bool:
    """Whether the thread that finishes the tree is the only one that goes on: it needs no barrier for itself."""
    block = tree.loop.parent
    rest = [each for each in statements(block) if each.start_byte > tree.loop.end_byte] if block is not None else []
    top = block is not None and block.parent is not None and block.parent.type == "function_definition"
    if not top or len(rest) != 1 or rest[0].type != "if_statement" or rest[0].child_by_field_name("alternative"):
        return False
    condition = rest[0].child_by_field_name("condition")
    return condition is not None and "".join(text_of(condition).split()) in (f"({tree.thread}==0)", f"(!{tree.thread})")


def _split(region: Syntax, loop: CountedLoop, sums: list[_Sum], ways: int) -> Site:
    pad, number = region.indent(loop.node), region.fresh("part").rpartition("_")[2]
    inner = pad + "  "

    def part(each: _Sum, way: int) -> str:
        return each.name if way == 0 else f"{each.name}_part_{number}_{way}"

    def ahead(way: int) -> str:
        return loop.name if way == 0 else f"({loop.name} + {way} * ({loop.step}))"

    lines = [f"{each.type} {part(each, way)} = {each.start()};" for each in sums for way in range(1, ways)]
    lines += [
        f"{loop.type} {loop.name} = {loop.first};",
        f"for (; {ahead(ways - 1)} < {text_of(loop.bound)}; {loop.name} += {ways} * ({loop.step})) {{",
    ]
    lines += [
        "  " + each.add(part(each, way), substitute(each.value, loop.name, ahead(way)))
        for way in range(ways)
        for each in sums
    ]
    lines += ["}", f"for (; {loop.name} < {text_of(loop.bound)}; {loop.name} += {loop.step})"]
    body = [each.add(each.name, text_of(each.value)) for each in sums]
    lines += ["{", *("  " + line for line in body), "}"]
    lines += [each.join(part(each, way)) for each in sums for way in range(1, ways)]
    text = "{\n" + "\n".join(inner + line for line in lines) + f"\n{pad}}}"
    return Site(
        f"accumulate in {ways} partial results, so that additions need not wait for one another",
        (replace(loop.node, text),),
    )


def _accumulation(region: Syntax, loop: CountedLoop, statement: Node) -> _Sum | None:
    assignment = expression_of(statement)
    if assignment is None or assignment.type != "assignment_expression":
        return None
    left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
    operator = assignment.child_by_field_name("operator")
    if left is None or right is None or operator is None or left.type != "identifier":
        return None
    name, declared = text_of(left), region.types.get(text_of(left), "")
    if not (is_floating_type(declared) or is_whole_type(declared)) or name == loop.name:
        return None
    sign = {"+=": "+", "*=": "*"}.get(text_of(operator))
    if sign is not None and is_pure(right) and name not in identifiers(right):
        return _Sum(name, declared, sign, right)
    if text_of(operator) == "=" and right.type == "call_expression" and called(right) in _EXTREMES:
        values = [each for each in call_arguments(right) if text_of(each) != name]
        if len(values) == 1 and len(call_arguments(right)) == 2 and name not in identifiers(values[0]):
            return _Sum(name, declared, called(right), values[0]) if is_pure(values[0]) else None
    return None


def _independent(loop: CountedLoop, sums: list[_Sum]) -> bool:
    names = {each.name for each in sums}
    mentioned = set().union(*(identifiers(each.value) for each in sums), identifiers(loop.bound))
    return len(names) == len(sums) and not names & mentioned and loop.name not in written(loop.body)


def _tree_text(tree: Tree, condition: str, pad: str) -> str:
    update = tree.combined(f"{tree.array}[{tree.thread}]", f"{tree.array}[{tree.thread} + {tree.half}]")
    return (
        f"for ({tree.type} {tree.half} = {tree.first}; {condition}; {tree.half} /= 2) {{\n"
        f"{pad}  if ({tree.thread} < {tree.half})\n"
        f"{pad}    {tree.array}[{tree.thread}] = {update};\n"
        f"{pad}  __syncthreads();\n"
        f"{pad}}}"
    )


def _tree(node: Node) -> Tree | None:
    start, condition, update = (node.child_by_field_name(each) for each in ("initializer", "condition", "update"))
    body = node.child_by_field_name("body")
    if start is None or condition is None or update is None or body is None or start.type != "declaration":
        return None
    declarator, kind = start.child_by_field_name("declarator"), start.child_by_field_name("type")
    name = declarator.child_by_field_name("declarator") if declarator is not None else None
    first = declarator.child_by_field_name("value") if declarator is not None else None
    if kind is None or name is None or first is None:
        return None
    half = text_of(name)
    if not _halves(half, condition, update):
        return None
    inner = statements(body)
    if len(inner) != 2 or inner[0].type != "if_statement" or text_of(inner[1]).replace(" ", "") != "__syncthreads();":
        return None
    level = _level(inner[0], half)
    return None if level is None else Tree(node, text_of(kind), half, text_of(first), *level)


def _halves(half: str, condition: Node, update: Node) -> bool:
    runs = "".join(text_of(condition).split()) in (f"{half}>0", f"{half}>=1", f"{half}!=0", half)
    shrinks = "".join(text_of(update).split()) in (f"{half}/=2", f"{half}>>=1", f"{half}={half}/2", f"{half}={half}>>1")
    return runs and shrinks


def _level(branch: Node, half: str) -> tuple[str, str, str] | None:
    """Thread, array and operator of ``if (t < half) a[t] OP= a[t + half];``."""
    condition, action = branch.child_by_field_name("condition"), branch.child_by_field_name("consequence")
    if condition is None or action is None or branch.child_by_field_name("alternative") is not None:
        return None
    thread, less, bound = text_of(condition).strip("() \n").partition("<")
    inner = statements(action)
    assignment = expression_of(inner[0]) if len(inner) == 1 else None
    if not less or bound.strip() != half or assignment is None or assignment.type != "assignment_expression":
        return None
    return _combination(assignment, thread.strip(), half)


def _combination(assignment: Node, thread: str, half: str) -> tuple[str, str, str] | None:
    left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
    sign = assignment.child_by_field_name("operator")
    array = left.child_by_field_name("argument") if left is not None else None
    if left is None or right is None or sign is None or array is None or array.type != "identifier":
        return None
    own, other = f"{text_of(array)}[{thread}]", f"{text_of(array)}[{thread}+{half}]"
    value = "".join(text_of(right).split())
    if "".join(text_of(left).split()) != own:
        return None
    if text_of(sign) in _OPERATORS and value == other:
        return thread, text_of(array), _OPERATORS[text_of(sign)]
    if text_of(sign) != "=":
        return None
    if value == f"{own}+{other}":
        return thread, text_of(array), "+"
    if right.type == "call_expression" and called(right) in _EXTREMES and value == f"{called(right)}({own},{other})":
        return thread, text_of(array), called(right)
    return None
