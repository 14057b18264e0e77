"""The form of an answer: a strategy, then new texts or patches of regions in fenced blocks.

::

    STRATEGY: one line

    ```r3 region=NAME
    the region's whole new text
    ```

    ```r3 region=OTHER patch
    <<<<<<< SEARCH
    whole lines of the region, found exactly once
    =======
    what stands there instead
    >>>>>>> REPLACE
    ```
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from r3cc.remix.model import Rejection, Stage

_FENCE = re.compile(r"^(?P<indent> {0,3})(?P<ticks>`{3,})(?P<info>[^`]*)$")
_INFO = re.compile(r"^r3\s+region=(?:(?P<quote>[\"'])(?P<quoted>.+?)(?P=quote)|(?P<name>\S+))(?:\s+(?P<patch>patch))?$")
_THOUGHT = "</think>"
"""Ends what some servers send before the answer: drafts, fenced ones as well."""
_STRATEGY = re.compile(r"^[\s#*_>]*STRATEGY[*_]*:[*_]*\s*(?P<text>.*?)[\s*_]*$")
_LONGEST_STRATEGY = 200
_SEARCH, _DIVIDER, _REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"


class Rewrite(msgspec.Struct, frozen=True):
    """What an answer makes of its parent."""

    strategy: str
    """One line; empty when the answer named none."""
    texts: Mapping[str, str]
    """The text of every region, changed or not."""
    changed: tuple[str, ...]
    """Names of the regions that differ from the parent's, in the parent's order."""


class _Block(msgspec.Struct, frozen=True):
    region: str
    patch: bool
    lines: tuple[str, ...]


def format_answer(strategy: str, texts: Mapping[str, str]) -> str:
    """An answer that gives the whole texts of ``texts``; :func:`parse_answer` gives them back byte by byte."""
    parts = [f"STRATEGY: {' '.join(strategy.split())}"]
    for name, text in texts.items():
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
        label = f'"{name}"' if re.search(r"\s", name) else name
        parts.append(f"{fence}r3 region={label}\n{text}\n{fence}")
    return "\n\n".join(parts) + "\n"


def parse_answer(answer: str, parent: Mapping[str, str]) -> Rewrite | Rejection:
    """The rewrite of ``parent`` (texts by region name) that ``answer`` describes, or what is wrong with it."""
    lines = answer.rpartition(_THOUGHT)[2].replace("\r\n", "\n").split("\n")
    blocks = _blocks(lines)
    if isinstance(blocks, Rejection):
        return blocks
    texts = _applied(blocks, parent)
    if isinstance(texts, Rejection):
        return texts
    changed = tuple(name for name in parent if texts[name] != parent[name])
    if not changed:
        return _rejected("unchanged", "The answer gives the parent's text back without a change.")
    return Rewrite(strategy=_strategy(lines), texts=texts, changed=changed)


def _strategy(lines: Sequence[str]) -> str:
    for line in lines:
        if match := _STRATEGY.match(line):
            return match["text"][:_LONGEST_STRATEGY]
        if _FENCE.match(line):
            break
    return ""


def _blocks(lines: Sequence[str]) -> list[_Block] | Rejection:
    blocks: list[_Block] = []
    others = 0
    position = 0
    while position < len(lines):
        fence = _FENCE.match(lines[position])
        position += 1
        if fence is None:
            continue
        end = _closing(lines, position, fence["ticks"])
        info = _INFO.match(fence["info"].strip())
        if end is None:
            return _rejected(
                "cut_block",
                "The last fenced block has no end: the answer was cut off. Answer more briefly, or with patches.",
            )
        if info is None:
            others += 1
        else:
            content = tuple(line.removeprefix(fence["indent"]) for line in lines[position:end])
            blocks.append(_Block(info["quoted"] or info["name"], info["patch"] is not None, content))
        position = end + 1
    if blocks:
        return blocks
    found = f" {others} fenced block(s) of another kind were ignored." if others else ""
    return _rejected("no_block", f"The answer holds no block that begins with ```r3 region=NAME.{found}")


def _closing(lines: Sequence[str], start: int, ticks: str) -> int | None:
    for position in range(start, len(lines)):
        line = lines[position].strip()
        if len(line) >= len(ticks) and set(line) == {"`"}:
            return position
    return None


def _applied(blocks: Sequence[_Block], parent: Mapping[str, str]) -> dict[str, str] | Rejection:
    texts = dict(parent)
    whole: set[str] = set()
    for block in blocks:
        if block.region not in parent:
            return _rejected(
                "unknown_region", f"There is no region {block.region!r}; the regions are: {', '.join(parent)}."
            )
        if block.region in whole or (not block.patch and texts[block.region] != parent[block.region]):
            return _rejected(
                "region_twice", f"Region {block.region!r} is given twice; give each one once, as a whole or as patches."
            )
        if not block.patch:
            whole.add(block.region)
            texts[block.region] = "\n".join(block.lines)
            continue
        patched = _patched(texts[block.region], block)
        if isinstance(patched, Rejection):
            return patched
        texts[block.region] = patched
    return texts


def _patched(text: str, block: _Block) -> str | Rejection:
    hunks = _hunks(block)
    if isinstance(hunks, Rejection):
        return hunks
    lines = text.split("\n")
    for number, (search, replacement) in enumerate(hunks, start=1):
        found = _places(lines, search)
        if len(found) != 1:
            how = "matches nothing" if not found else f"matches {len(found)} places"
            excerpt = "\n".join(search[:6])
            return _rejected(
                "search_" + ("missing" if not found else "ambiguous"),
                f"SEARCH {number} of region {block.region!r} {how} in the current text; it must match whole lines, "
                f"exactly, once:\n{excerpt}\nGive the region's whole text instead if that is simpler.",
            )
        lines[found[0] : found[0] + len(search)] = replacement
    return "\n".join(lines)


def _places(lines: Sequence[str], search: Sequence[str]) -> list[int]:
    bare = [line.rstrip("\r") for line in lines]
    length = len(search)
    return [at for at in range(len(bare) - length + 1) if bare[at : at + length] == list(search)]


def _hunks(block: _Block) -> list[tuple[list[str], list[str]]] | Rejection:
    hunks: list[tuple[list[str], list[str]]] = []
    expected = _SEARCH
    parts: list[list[str]] = []
    for line in block.lines:
        mark = line.rstrip()
        if mark == expected:
            if expected == _REPLACE:
                hunks.append((parts[0], parts[1]))
            parts = [*parts, []] if expected != _REPLACE else []
            expected = {_SEARCH: _DIVIDER, _DIVIDER: _REPLACE, _REPLACE: _SEARCH}[expected]
        elif parts:
            parts[-1].append(line)
        elif mark:
            return _rejected(
                "patch_form", f"The patch of region {block.region!r} has text outside its blocks: {mark[:80]!r}."
            )
    if parts or not hunks:
        return _rejected(
            "patch_form",
            f"The patch of region {block.region!r} must be made of {_SEARCH}, {_DIVIDER} and {_REPLACE} lines.",
        )
    if any(not "".join(search).strip() for search, _ in hunks):
        return _rejected(
            "search_empty", f"A SEARCH of region {block.region!r} is empty; it must name the lines to replace."
        )
    return hunks


def _rejected(reason: str, message: str) -> Rejection:
    return Rejection(stage=Stage.PARSE, reason=reason, message=message)
