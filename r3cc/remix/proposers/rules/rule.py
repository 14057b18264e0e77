"""What a rule is: it finds places in a region, and says how each is rewritten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec
from tree_sitter import Node

from r3cc.remix.proposers.rules.syntax import Edit, Syntax, statements, text_of


class Site(msgspec.Struct, frozen=True):
    """A place where a rule applies, with the edits that apply it."""

    strategy: str
    """One line: what is done, and why it may help."""
    edits: tuple[Edit, ...]


class Rule(Protocol):
    """A kernel transformation at source level: deterministic, from the text alone.

    A rule may be wrong about what it can't see (types in headers, aliases): R3 compiles and checks every rewrite.
    """

    @property
    def name(self) -> str:
        """Word for logs."""
        ...

    @property
    def weight(self) -> float:
        """How soon it is tried, relative to others."""
        ...

    def sites(self, region: Syntax) -> Iterator[Site]:
        """Every place, in the order of the text."""
        ...


class CountedLoop(msgspec.Struct, frozen=True):
    """``for (T i = first; i < bound; i += step) body``, in any of its spellings."""

    node: Node
    type: str
    name: str
    first: str
    bound: Node
    step: str
    body: Node


def counted_loop(node: Node) -> CountedLoop | None:
    """The loop as counted upwards, when it is one and its variable and bound are not written in it."""
    start, condition, update = (node.child_by_field_name(each) for each in ("initializer", "condition", "update"))
    body = node.child_by_field_name("body")
    if start is None or condition is None or update is None or body is None or start.type != "declaration":
        return None
    declarators = start.children_by_field_name("declarator")
    kind = start.child_by_field_name("type")
    if len(declarators) != 1 or declarators[0].type != "init_declarator" or kind is None:
        return None
    name, first = declarators[0].child_by_field_name("declarator"), declarators[0].child_by_field_name("value")
    left, right = condition.child_by_field_name("left"), condition.child_by_field_name("right")
    operator = condition.child_by_field_name("operator")
    if None in (name, first, left, right, operator) or name is None or first is None or right is None or left is None:
        return None
    step = _step(update, text_of(name))
    if text_of(left) != text_of(name) or operator is None or text_of(operator) != "<" or step is None:
        return None
    return CountedLoop(node, text_of(kind), text_of(name), text_of(first), right, step, body)


def has_barrier(node: Node) -> bool:
    """Whether threads wait for one another in it."""
    text = text_of(node)
    return "__sync" in text or "_sync(" in text


def leaves(node: Node) -> bool:
    """Whether it may end early."""
    return any(word in text_of(node) for word in ("return", "break", "continue", "goto"))


def single_statement(node: Node) -> Node | None:
    """The only statement of a body."""
    inner = statements(node)
    return inner[0] if len(inner) == 1 else None


def _step(update: Node, name: str) -> str | None:
    text = "".join(text_of(update).split())
    if text in (f"++{name}", f"{name}++"):
        return "1"
    right = update.child_by_field_name("right")
    if right is not None and text.startswith(f"{name}+="):
        return text_of(right)
    return None
