"""Branches that become selections: no thread of a warp waits for the others."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from r3cc.remix.proposers.rules.rule import Site
from r3cc.remix.proposers.rules.syntax import Edit, Syntax, expression_of, is_pure, replace, statements, text_of


class SelectReturn:
    """``if (c) return a; return b;`` becomes ``return c ? a : b;``."""

    name = "select_return"
    weight = 2.5

    def sites(self, region: Syntax) -> Iterator[Site]:
        """Pairs of returns without effects."""
        for node in region.all("if_statement"):
            follower = node.next_named_sibling
            condition, action = _parts(node)
            if condition is None or action is None or follower is None:
                continue
            values = [_returned(action), _returned(follower)]
            if all(each is not None and is_pure(each) for each in values) and is_pure(condition):
                first, second = (text_of(each) for each in values if each is not None)
                text = f"return {text_of(condition)} ? ({first}) : ({second});"
                yield Site("select instead of branching", (Edit(node.start_byte, follower.end_byte, text),))


class SelectValue:
    """``if (c) x = e;`` becomes ``x = c ? e : x;`` for local variables."""

    name = "select_value"
    weight = 2.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """All single assignments without effects of a region at once."""
        edits: list[Edit] = []
        for node in region.all("if_statement"):
            condition, action = _parts(node)
            assignment = expression_of(action) if action is not None else None
            if condition is None or assignment is None or assignment.type != "assignment_expression":
                continue
            left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
            operator = assignment.child_by_field_name("operator")
            if left is None or right is None or operator is None or left.type != "identifier":
                continue
            plain = text_of(operator) == "=" and text_of(left) in region.types and "[" not in text_of(right)
            if plain and is_pure(right) and is_pure(condition):
                text = f"{text_of(left)} = {text_of(condition)} ? ({text_of(right)}) : {text_of(left)};"
                edits.append(replace(node, text))
        if edits:
            yield Site("select instead of branching", tuple(edits))


def _parts(node: Node) -> tuple[Node | None, Node | None]:
    """Condition and only statement of an if without else."""
    if node.child_by_field_name("alternative") is not None:
        return None, None
    condition, action = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
    inner = statements(action) if action is not None else []
    return condition, inner[0] if len(inner) == 1 else None


def _returned(statement: Node) -> Node | None:
    """The value of a return statement."""
    return statement.named_children[0] if statement.type == "return_statement" and statement.named_children else None
