"""The text of an LLVM pass pipeline as a tree: parse, print, walk.

The text is what ``opt -passes=`` takes: ``name``, ``name<parameters>``, ``adaptor(pass,…)``.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from r3cc.errors import R3Error

STOPS = "(),<"


class Node(msgspec.Struct, frozen=True):
    """One pass, or an adaptor with its passes.

    ``parameters`` is the text between the outer angle brackets; None without brackets (``gvn<>`` has ``""``).
    """

    name: str
    parameters: str | None = None
    children: tuple[Node, ...] | None = None
    """None for a pass; an adaptor may be empty, which LLVM prints but does not parse."""

    def __str__(self) -> str:
        parameters = "" if self.parameters is None else f"<{self.parameters}>"
        children = "" if self.children is None else f"({print_pipeline(self.children)})"
        return f"{self.name}{parameters}{children}"


Pipeline = tuple[Node, ...]


def parse_pipeline(text: str) -> Pipeline:
    """The tree of a pipeline text; raises R3Error with the position of what cannot be read."""
    nodes, end = _parse_list(text, 0)
    if end != len(text):
        raise _error(text, end)
    return nodes


def print_pipeline(nodes: Pipeline) -> str:
    """The text of a tree: the inverse of parse_pipeline."""
    return ",".join(map(str, nodes))


def without_empty_adaptors(nodes: Pipeline) -> Pipeline:
    """The same passes in a text that LLVM parses again: it prints ``function()`` but refuses to read it."""
    kept = (
        node if node.children is None else msgspec.structs.replace(node, children=without_empty_adaptors(node.children))
        for node in nodes
    )
    return tuple(node for node in kept if node.children != ())


def leaves(nodes: Pipeline, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Node]]:
    """Passes (not adaptors) in order, each with its path of child indices."""
    for index, node in enumerate(nodes):
        if node.children is None:
            yield (*path, index), node
        else:
            yield from leaves(node.children, (*path, index))


def _parse_list(text: str, at: int) -> tuple[Pipeline, int]:
    nodes = []
    while True:
        node, at = _parse_node(text, at)
        nodes.append(node)
        if not text.startswith(",", at):
            return tuple(nodes), at
        at += 1


def _parse_node(text: str, at: int) -> tuple[Node, int]:
    end = at
    while end < len(text) and text[end] not in STOPS and text[end] != ">":
        end += 1
    if end == at:
        raise _error(text, at)
    name = text[at:end]
    parameters, end = _parse_parameters(text, end)
    if not text.startswith("(", end):
        return Node(name, parameters), end
    if text.startswith(")", end + 1):
        return Node(name, parameters, ()), end + 2
    children, end = _parse_list(text, end + 1)
    if not text.startswith(")", end):
        raise _error(text, end)
    return Node(name, parameters, children), end + 1


def _parse_parameters(text: str, at: int) -> tuple[str | None, int]:
    """All of ``<a><b<c>>`` is one text: LLVM's printers have passes with two bracketed lists."""
    if not text.startswith("<", at):
        return None, at
    depth, end = 0, at
    while depth or text.startswith("<", end):
        if end == len(text):
            raise _error(text, at)
        depth += {"<": 1, ">": -1}.get(text[end], 0)
        end += 1
    return text[at + 1 : end - 1], end


def _error(text: str, at: int) -> R3Error:
    found = f"'{text[at : at + 12]}'" if at < len(text) else "its end"
    return R3Error(f"cannot read the pipeline at character {at}, {found}; write it as opt -passes= takes it")
