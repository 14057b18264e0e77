"""The kernel and the device functions that it calls, as regions of the user's own files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from r3cc.errors import R3Error
from r3cc.remix.model import Region
from r3cc.remix.source.callees import CallGraph
from r3cc.remix.source.libclang import Definition


class _Found(msgspec.Struct, frozen=True):
    path: str
    """As a region gives it."""
    definition: Definition
    kernel: bool


class SourceIndex:
    """The functions of the user's own files."""

    def __init__(self, graph: CallGraph, directory: Path, definitions: Sequence[Definition]) -> None:
        """``definitions``: those of the user's own files, with paths from ``directory`` and offsets in bytes."""
        self._graph = graph
        self._directory = directory
        self._definitions: dict[tuple[str, int], list[Definition]] = {}
        for each in definitions:
            self._definitions.setdefault((os.path.realpath(directory / each.path), each.line), []).append(each)

    def regions(self, kernel: str) -> tuple[Region, ...]:
        """The kernel first, then its device functions in the order of first use.

        Raises R3Error where the kernel has no text of its own.
        """
        if kernel not in self._graph.places:
            raise R3Error(f"the source no longer defines the kernel {kernel}; build and record again")
        contents: dict[str, bytes] = {}
        found: list[_Found] = []
        for name in self._graph.reached_from(kernel):
            place = self._graph.places.get(name)
            if place is None:
                continue
            real = os.path.realpath(self._directory / place.directory / place.path)
            for definition in self._definitions.get((real, place.line), []):
                content = contents.setdefault(real, Path(real).read_bytes())
                if b"{" in content[definition.begin : definition.end]:
                    found.append(_Found(_shown(self._directory, real), definition, name == kernel))
                elif name == kernel:
                    raise R3Error(
                        f"{definition.name} is made by a macro ({Path(real).name}:{place.line}); write it as a "
                        "function or a template to have it rewritten"
                    )
        if not any(each.kernel for each in found):
            raise R3Error(f"the definition of {kernel} was not found in the source; build and record again")
        return _regions(_distinct(found), contents, self._directory)


def in_folders(path: str, folders: Sequence[Path]) -> bool:
    """Whether a file lies below one of some folders, links resolved."""
    real = Path(os.path.realpath(path))
    return any(Path(os.path.realpath(folder)) in real.parents for folder in folders)


def _distinct(found: Sequence[_Found]) -> list[_Found]:
    """Each definition once (a template has several instances), without those that lie inside of another one."""
    once = list({(each.path, each.definition.begin): each for each in reversed(found)}.values())[::-1]

    def inside(each: _Found) -> bool:
        return any(
            other is not each
            and other.path == each.path
            and other.definition.begin <= each.definition.begin
            and each.definition.end <= other.definition.end
            for other in once
        )

    return sorted((each for each in once if not inside(each)), key=lambda each: not each.kernel)


def _regions(found: Sequence[_Found], contents: dict[str, bytes], directory: Path) -> tuple[Region, ...]:
    counts: Counter[str] = Counter()
    regions = []
    for each in found:
        base = each.definition.name.split("<")[0].strip()
        counts[base] += 1
        name = base if counts[base] == 1 else f"{base}#{counts[base]}"
        begin, end = each.definition.begin, each.definition.end
        text = contents[os.path.realpath(directory / each.path)][begin:end].decode(errors="surrogateescape")
        regions.append(Region(name, each.path, begin, end, text, each.kernel))
    return tuple(regions)


def _shown(directory: Path, real: str) -> str:
    """Relative to the build's directory where that is no detour."""
    relative = os.path.relpath(real, os.path.realpath(directory))
    shared = os.path.commonpath([real, os.path.realpath(directory)])
    return real if shared == os.sep else relative
