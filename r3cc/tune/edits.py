"""The genotype of a pipeline: a list of edits to ``default<O3>`` (architecture section 8).

Edits name places of the base pipeline (*anchors*), so they mean the same in any order and every winner can be read and
taken apart. An edit that finds nothing to do, such as a change to a dropped pass, does nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property

import msgspec

from r3cc.errors import R3Error
from r3cc.replay.levels import OF_PIPELINE
from r3cc.tune.passes import Level
from r3cc.tune.pipeline import Node, Pipeline, leaves, parse_pipeline, print_pipeline, without_empty_adaptors

DEFAULT = "default<O3>"
EXPANDED_OPTIONS = ((OF_PIPELINE, "300"),)
"""Options with which the text that LLVM prints for ``default<O3>`` does what ``default<O3>`` does.

LLVM prints ``loop-unroll-full`` without its level and reads it back at level 2; the option gives that level the
threshold of level 3, and changes nothing in ``default<O3>`` itself.
"""
PRESETS = ("O1", "O2", "Os", "Oz")
"""LLVM's default pipelines beside O3."""
ADAPTORS = {
    "module": Level.MODULE,
    "cgscc": Level.CGSCC,
    "devirt": Level.CGSCC,
    "function": Level.FUNCTION,
    "loop": Level.LOOP,
    "loop-mssa": Level.LOOP_MSSA,
}
WRAPPERS: dict[Level, dict[Level, tuple[str, ...]]] = {
    Level.MODULE: {
        Level.MODULE: (),
        Level.CGSCC: ("cgscc",),
        Level.FUNCTION: ("function",),
        Level.LOOP: ("function", "loop"),
        Level.LOOP_MSSA: ("function", "loop-mssa"),
    },
    Level.CGSCC: {
        Level.CGSCC: (),
        Level.FUNCTION: ("function",),
        Level.LOOP: ("function", "loop"),
        Level.LOOP_MSSA: ("function", "loop-mssa"),
    },
    Level.FUNCTION: {Level.FUNCTION: (), Level.LOOP: ("loop",), Level.LOOP_MSSA: ("loop-mssa",)},
    Level.LOOP: {Level.LOOP: ()},
    Level.LOOP_MSSA: {Level.LOOP_MSSA: ()},
}
"""Adaptors that bring a pass of the inner level into a place of the outer one; absent where it can't stand."""


class Anchor(msgspec.Struct, frozen=True):
    """The ``occurrence``-th pass of this name in the base pipeline, from 1."""

    name: str
    occurrence: int

    def __str__(self) -> str:
        return f"{self.name}#{self.occurrence}"


class Drop(msgspec.Struct, frozen=True, tag="drop", tag_field="op"):
    """Leave a pass out."""

    anchor: Anchor

    def __str__(self) -> str:
        return f"drop {self.anchor}"


class Insert(msgspec.Struct, frozen=True, tag="insert", tag_field="op"):
    """Run one more pass before the anchor; several before one anchor run in the order of the list."""

    anchor: Anchor
    name: str
    level: Level
    parameters: str | None = None

    def __str__(self) -> str:
        return f"insert {Node(self.name, self.parameters)} before {self.anchor}"


class Swap(msgspec.Struct, frozen=True, tag="swap", tag_field="op"):
    """Exchange two passes of the same level."""

    anchor: Anchor
    other: Anchor

    def __str__(self) -> str:
        return f"swap {self.anchor} and {self.other}"


class Change(msgspec.Struct, frozen=True, tag="change", tag_field="op"):
    """Give a pass other parameters."""

    anchor: Anchor
    parameters: str | None

    def __str__(self) -> str:
        return f"change {self.anchor} to {Node(self.anchor.name, self.parameters)}"


class Preset(msgspec.Struct, frozen=True, tag="preset", tag_field="op"):
    """Run one of LLVM's other default pipelines instead; edits beside it find nothing to do."""

    name: str

    def __str__(self) -> str:
        return f"default<{self.name}>"


Edit = Drop | Insert | Swap | Change | Preset
Edits = tuple[Edit, ...]


class BasePipeline:
    """The text of ``default<O3>`` as LLVM prints it for one target, with its anchors."""

    def __init__(self, text: str) -> None:
        self.nodes: Pipeline = without_empty_adaptors(parse_pipeline(text))

    def __str__(self) -> str:
        return print_pipeline(self.nodes)

    @cached_property
    def places(self) -> dict[Anchor, Level]:
        """Every pass of the text, in order, and the level of the place where it stands."""
        return {anchor: _level(self.nodes, path) for path, anchor in self._anchors.items()}

    @cached_property
    def passes(self) -> dict[Anchor, Node]:
        """Every pass of the text, in order."""
        return {self._anchors[path]: node for path, node in leaves(self.nodes)}

    @cached_property
    def _anchors(self) -> dict[tuple[int, ...], Anchor]:
        seen: Counter[str] = Counter()
        anchors = {}
        for path, node in leaves(self.nodes):
            seen[node.name] += 1
            anchors[path] = Anchor(node.name, seen[node.name])
        return anchors

    def apply(self, edits: Edits) -> str:
        """The pipeline text with the edits made; ``default<O3>`` itself when there are none.

        Raises R3Error for an anchor that this base does not have and for a pass that cannot stand there.
        """
        if not edits:
            return DEFAULT
        preset = next((edit for edit in edits if isinstance(edit, Preset)), None)
        if preset is not None:
            return str(preset)
        slots: dict[Anchor, Node | None] = dict(self.passes)
        before: dict[Anchor, list[Node]] = {}
        for edit in edits:
            assert not isinstance(edit, Preset)
            self._make(edit, slots, before)
        text = print_pipeline(without_empty_adaptors(self._rebuild(self.nodes, (), slots, before)))
        return DEFAULT if text == print_pipeline(self.nodes) else text

    def _make(
        self, edit: Drop | Insert | Swap | Change, slots: dict[Anchor, Node | None], before: dict[Anchor, list[Node]]
    ) -> None:
        level = self._level_of(edit.anchor)
        match edit:
            case Drop(anchor):
                slots[anchor] = None
            case Insert(anchor, name, inner, parameters):
                before.setdefault(anchor, []).append(wrap(Node(name, parameters), inner, level))
            case Swap(anchor, other):
                if self._level_of(other) is not level:
                    raise R3Error(f"cannot {edit}: they stand on different levels")
                slots[anchor], slots[other] = slots[other], slots[anchor]
            case Change(anchor, parameters):
                node = slots[anchor]
                if node is not None and node.name == anchor.name:
                    slots[anchor] = Node(node.name, parameters)

    def _level_of(self, anchor: Anchor) -> Level:
        if anchor not in self.places:
            raise R3Error(f"the base pipeline has no pass {anchor}; the edits were made for another LLVM or target")
        return self.places[anchor]

    def _rebuild(
        self,
        nodes: Pipeline,
        path: tuple[int, ...],
        slots: dict[Anchor, Node | None],
        before: dict[Anchor, list[Node]],
    ) -> Pipeline:
        rebuilt: list[Node] = []
        for index, node in enumerate(nodes):
            here = (*path, index)
            if node.children is not None:
                children = self._rebuild(node.children, here, slots, before)
                rebuilt.append(msgspec.structs.replace(node, children=children))
                continue
            anchor = self._anchors[here]
            slot = slots[anchor]
            rebuilt += [*before.get(anchor, ()), *([slot] if slot is not None else ())]
        return tuple(rebuilt)


def fits(inner: Level, outer: Level) -> bool:
    """Whether a pass of level ``inner`` can stand, within adaptors, in a place of level ``outer``."""
    return inner in WRAPPERS[outer]


def wrap(node: Node, inner: Level, outer: Level) -> Node:
    """``node`` in the adaptors that it needs in a place of level ``outer``; R3Error when it can't stand there."""
    if not fits(inner, outer):
        raise R3Error(f"the {inner} pass {node} cannot stand among {outer} passes")
    for adaptor in reversed(WRAPPERS[outer][inner]):
        node = Node(adaptor, None, (node,))
    return node


def describe(edits: Iterable[Edit]) -> str:
    """The edits as people read them."""
    return ", ".join(map(str, edits)) or "none"


def _level(nodes: Pipeline, path: tuple[int, ...]) -> Level:
    """Level of the place at ``path``: that of its innermost adaptor."""
    level = Level.MODULE
    for index in path:
        node = nodes[index]
        level = ADAPTORS.get(node.name, level) if node.children is not None else level
        nodes = node.children or ()
    return level
