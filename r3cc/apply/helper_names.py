"""Names that rewrites bring into a file: two of them may call different helpers alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

_LANGUAGE = Language(tree_sitter_cuda.language())
_NAMES = ("identifier", "type_identifier")
_NAMED = ("struct_specifier", "class_specifier", "union_specifier", "enum_specifier", "alias_declaration")
_MACROS = ("preproc_def", "preproc_function_def")
_OUTER = ("template_declaration", "preproc_if", "preproc_ifdef", "preproc_else", "linkage_specification")


def defined(text: bytes) -> frozenset[bytes]:
    """Names of functions, variables, types and macros that a piece of a file defines at its outermost level."""
    return frozenset(_defined(Parser(_LANGUAGE).parse(text).root_node))


def renamed(text: bytes, names: Mapping[bytes, bytes]) -> bytes:
    """The text with other names for its own; members of the same name stay."""
    for node in reversed(list(_walk(Parser(_LANGUAGE).parse(text).root_node))):
        found = _text(node)
        if node.type in _NAMES and found in names:
            text = text[: node.start_byte] + names[found] + text[node.end_byte :]
        elif node.type == "preproc_arg":  # a macro's text is not taken apart
            other = re.sub(rb"\w+", lambda word: names.get(word[0], word[0]), found)
            text = text[: node.start_byte] + other + text[node.end_byte :]
    return text


def _defined(node: Node) -> Iterator[bytes]:
    for child in node.children:
        if child.type in _OUTER:
            yield from _defined(child)
        elif child.type in (*_NAMED, *_MACROS) and (name := child.child_by_field_name("name")):
            yield _text(name)
        elif child.type in ("function_definition", "declaration"):
            yield from _declared(child)


def _declared(node: Node) -> Iterator[bytes]:
    """Names of a declaration's declarators, and of a type that it defines beside them."""
    kind = node.child_by_field_name("type")
    if kind is not None and kind.type in _NAMED and (name := kind.child_by_field_name("name")):
        yield _text(name)
    for declarator in node.children_by_field_name("declarator"):
        while (inner := declarator.child_by_field_name("declarator")) is not None:
            declarator = inner
        if declarator.type in _NAMES:
            yield _text(declarator)


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _text(node: Node) -> bytes:
    return node.text or b""
