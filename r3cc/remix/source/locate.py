"""The kernel and the device functions that it calls, as regions of the user's own files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
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


def locate(
    kernel: str,
    graph: CallGraph,
    directory: Path,
    system: Sequence[Path],
    definitions: Callable[[Callable[[str], bool]], list[Definition]],
) -> tuple[Region, ...]:
    """The kernel first, then its device functions in the order of first use. Offsets are bytes.

    ``definitions`` lists the functions that the files chosen by its argument define. Raises R3Error where the
    kernel has no text of its own.
    """
    if kernel not in graph.places:
        raise R3Error(f"the source no longer defines the kernel {kernel}; build and record again")
    places = []
    for name in graph.reached_from(kernel):
        place = graph.places.get(name)
        if place is not None:
            real = _real(directory, place.directory, place.path)
            if not _lies_in(real, system):
                places.append((name, place, real))
    wanted = {real for _, _, real in places}
    by_line: dict[tuple[str, int], list[Definition]] = {}
    for each in definitions(lambda path: os.path.realpath(directory / path) in wanted):
        by_line.setdefault((os.path.realpath(directory / each.path), each.line), []).append(each)
    found: list[_Found] = []
    contents = {real: Path(real).read_bytes() for real in wanted}
    for name, place, real in places:
        for definition in by_line.get((real, place.line), []):
            if b"{" not in contents[real][definition.begin : definition.end]:
                if name == kernel:
                    raise R3Error(
                        f"{definition.name} is made by a macro ({Path(real).name}:{place.line}); write it as a "
                        "function or a template to have it rewritten"
                    )
                continue
            found.append(_Found(_shown(directory, real), definition, name == kernel))
    if not any(each.kernel for each in found):
        raise R3Error(f"the definition of {kernel} was not found in the source; build and record again")
    return _regions(_distinct(found), contents, directory)


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


def _real(directory: Path, base: str, path: str) -> str:
    return os.path.realpath(directory / base / path)


def _lies_in(path: str, folders: Sequence[Path]) -> bool:
    return any(Path(os.path.realpath(folder)) in Path(path).parents for folder in folders)


def _shown(directory: Path, real: str) -> str:
    """Relative to the build's directory where that is no detour."""
    relative = os.path.relpath(real, os.path.realpath(directory))
    shared = os.path.commonpath([real, os.path.realpath(directory)])
    return real if shared == os.sep else relative
