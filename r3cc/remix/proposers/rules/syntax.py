"""CUDA C++ text as a syntax tree, and edits of the text by byte positions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import count

import msgspec
import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

_LANGUAGE = Language(tree_sitter_cuda.language())

_MATH = """fabs fmin fmax min max abs sqrt exp log pow floor ceil fma rsqrt cbrt hypot sin cos tan exp2 log2
fabsf fminf fmaxf sqrtf expf logf powf"""
PURE_CALLS = frozenset(_MATH.split())
ASSIGNMENTS = ("assignment_expression", "update_expression")
_FLOATING = re.compile(r"double|float|real|scalar", re.IGNORECASE)
_WHOLE = re.compile(r"int|index|unsigned|long|short|char|bool|size_t|ptrdiff_t", re.IGNORECASE)
_LAUNCH_VALUES = ("threadIdx", "blockIdx", "blockDim", "gridDim")


class Edit(msgspec.Struct, frozen=True, order=True):
    """Bytes from ``begin`` to ``end`` become ``text``."""

    begin: int
    end: int
    text: str


class Syntax:
    """One region's text and its tree."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.bytes = text.encode()
        self.root: Node = Parser(_LANGUAGE).parse(self.bytes).root_node

    @property
    def broken(self) -> bool:
        """Whether the parser didn't understand all of it: no rule should touch such text."""
        return bool(self.root.has_error)

    def all(self, *types: str, under: Node | None = None) -> Iterator[Node]:
        """Nodes of the given types in the order of the text."""
        return (node for node in _walk(under or self.root) if node.type in types)

    @cached_property
    def function(self) -> Node | None:
        """The region's function: the kernel, else the last one, since helpers stand above what they help."""
        functions = list(self.all("function_definition"))
        kernels = [each for each in functions if "__global__" in text_of(each).partition("{")[0]]
        return next(reversed(kernels or functions), None)

    @cached_property
    def body(self) -> Node | None:
        """Its compound statement."""
        return self.function.child_by_field_name("body") if self.function else None

    @cached_property
    def types(self) -> dict[str, str]:
        """Declared type by name of parameters and local variables, without qualifiers; ``*`` ends a pointer's."""
        found: dict[str, str] = {}
        for node in self.all("declaration", "parameter_declaration", "optional_parameter_declaration"):
            base = node.child_by_field_name("type")
            for declarator in node.children_by_field_name("declarator"):
                stars, name = _declared(declarator)
                if base is not None and name:
                    found[name] = text_of(base) + stars
        return found

    @cached_property
    def constant_pointers(self) -> frozenset[str]:
        """Parameters of the form ``const T *p``."""
        return frozenset(
            _declared(declarator)[1]
            for node in self.all("parameter_declaration")
            if any(text_of(child) == "const" for child in node.children)
            for declarator in node.children_by_field_name("declarator")
            if _declared(declarator)[0] == "*"
        )

    @cached_property
    def arrays(self) -> frozenset[str]:
        """Names declared with brackets: arrays of a thread or a block, or parts of them, and nothing in memory."""
        return frozenset(
            text_of(inner)
            for node in self.all("array_declarator")
            if (inner := node.child_by_field_name("declarator")) is not None
        )

    def fresh_names(self, prefix: str) -> Iterator[str]:
        """All the names that :meth:`fresh` could give."""
        return (name for number in count(1) if (name := f"{prefix}_{number}") not in self.text)

    def fresh(self, prefix: str) -> str:
        """``prefix_1`` or the first number after it that the text doesn't have."""
        return next(self.fresh_names(prefix))

    def indent(self, node: Node) -> str:
        """White space before the line that ``node`` begins in."""
        start = self.bytes.rfind(b"\n", 0, node.start_byte) + 1
        line = self.bytes[start : node.start_byte].decode()
        return line[: len(line) - len(line.lstrip())]

    def is_floating(self, node: Node) -> bool:
        """Whether an expression is known to be of a floating type, from literals and declarations."""
        for each in _walk(node):
            if each.type == "number_literal" and _is_floating_literal(text_of(each)):
                return True
            if each.type == "identifier" and self._floating_value(each):
                return True
        return False

    def is_whole(self, node: Node) -> bool:
        """Whether an expression is known to be of an integer type; what stands in an index says nothing."""
        if node.type == "subscript_argument_list":
            return False
        if node.type == "identifier" and text_of(node) in _LAUNCH_VALUES:
            return True
        if node.type == "identifier" and is_whole_type(self.types.get(text_of(node), "")):
            return True
        return any(self.is_whole(child) for child in node.children)

    def _floating_value(self, node: Node) -> bool:
        declared = self.types.get(text_of(node), "")
        indexed = node.parent is not None and node.parent.type == "subscript_expression"
        return is_floating_type(declared.rstrip("*") if indexed else declared)


def is_floating_type(name: str) -> bool:
    """Whether a type's name is that of a floating-point value: applications have names of their own for them."""
    return _FLOATING.search(name) is not None and not name.endswith("*")


def is_whole_type(name: str) -> bool:
    """Whether a type's name is that of a whole number."""
    return _WHOLE.search(name) is not None and not name.endswith("*") and not is_floating_type(name)


def apply_edits(text: str, edits: tuple[Edit, ...]) -> str:
    """``text`` with all edits, which must not overlap."""
    data = text.encode()
    last = len(data) + 1
    for edit in sorted(edits, reverse=True):
        if edit.end > last:
            raise ValueError(f"edits overlap at byte {edit.begin}")
        last = edit.begin
        data = data[: edit.begin] + edit.text.encode() + data[edit.end :]
    return data.decode()


def replace(node: Node, text: str) -> Edit:
    """An edit that puts ``text`` in the place of ``node``."""
    return Edit(node.start_byte, node.end_byte, text)


def before(node: Node, text: str) -> Edit:
    """An edit that puts ``text`` before ``node``."""
    return Edit(node.start_byte, node.start_byte, text)


def overlaps(node: Node, edits: list[Edit]) -> bool:
    """Whether an edit replaces a part of ``node``, or all of it."""
    return any(edit.begin < node.end_byte and node.start_byte < edit.end for edit in edits if edit.begin < edit.end)


def text_of(node: Node) -> str:
    """The text of a node."""
    assert node.text is not None
    return node.text.decode()


def identifiers(node: Node) -> set[str]:
    """Names that an expression mentions, members left out."""
    return {text_of(each) for each in _walk(node) if each.type == "identifier"}


def is_pure(node: Node) -> bool:
    """Whether evaluating an expression twice is as good as once."""
    for each in _walk(node):
        if each.type in ASSIGNMENTS or each.type in ("new_expression", "delete_expression", "lambda_expression"):
            return False
        if each.type == "call_expression" and called(each) not in PURE_CALLS:
            return False
    return True


def called(node: Node) -> str:
    """The name that a call expression calls."""
    function = node.child_by_field_name("function")
    return text_of(function) if function is not None else ""


def call_arguments(node: Node) -> list[Node]:
    """Arguments of a call."""
    arguments = node.child_by_field_name("arguments")
    return arguments.named_children if arguments is not None else []


def written(node: Node) -> set[str]:
    """Texts of what is assigned in a tree, and the names at their root; declared names as well."""
    targets: set[str] = set()
    for each in _walk(node):
        if each.type in ASSIGNMENTS:
            target = each.child_by_field_name("left") or each.child_by_field_name("argument")
            if target is not None:
                targets |= {text_of(target), root_name(target)}
        elif each.type == "init_declarator":
            targets.add(_declared(each)[1])
        elif each.type == "pointer_expression" and text_of(each).startswith("&"):
            targets |= identifiers(each)
    return targets


def root_name(node: Node) -> str:
    """``a`` of ``a.b[i].c``, ``*a`` and ``a[i]``."""
    while node.type != "identifier" and node.named_children:
        inner = node.child_by_field_name("argument")
        node = inner if inner is not None else node.named_children[0]
    return text_of(node)


def ancestors(node: Node) -> Iterator[Node]:
    """Parents from the inside out."""
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def statement_of(node: Node) -> Node | None:
    """The statement that ``node`` stands in and that stands in a block itself."""
    for each in (node, *ancestors(node)):
        if each.parent is not None and each.parent.type == "compound_statement":
            return each
    return None


def substitute(node: Node, name: str, text: str) -> str:
    """The text of ``node`` with each identifier ``name`` replaced."""
    edits = tuple(
        Edit(each.start_byte - node.start_byte, each.end_byte - node.start_byte, text)
        for each in _walk(node)
        if each.type == "identifier" and text_of(each) == name
    )
    return apply_edits(text_of(node), edits)


def statements(node: Node) -> list[Node]:
    """Statements of a block without comments, or the one that stands in its place."""
    inner = node.named_children if node.type == "compound_statement" else [node]
    return [each for each in inner if each.type != "comment"]


def expression_of(statement: Node) -> Node | None:
    """The expression of an expression statement."""
    return (
        statement.named_children[0] if statement.type == "expression_statement" and statement.named_children else None
    )


def single_expression(subscript: Node) -> Node | None:
    """The index of ``a[index]``."""
    indices = subscript.child_by_field_name("indices")
    return indices.named_children[0] if indices is not None and len(indices.named_children) == 1 else None


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _declared(node: Node) -> tuple[str, str]:
    """Stars (and brackets as stars) and the name of a declarator."""
    stars = ""
    while node.type not in ("identifier", "field_identifier"):
        if node.type in ("pointer_declarator", "array_declarator"):
            stars += "*"
        inner = node.child_by_field_name("declarator")
        if inner is None:
            return stars, text_of(node.named_children[-1]) if node.type == "reference_declarator" else ""
        node = inner
    return stars, text_of(node)


def _is_floating_literal(text: str) -> bool:
    return not text.lower().startswith("0x") and any(mark in text.lower() for mark in (".", "e", "f"))
