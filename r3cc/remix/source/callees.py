"""Who calls whom, from the text of unoptimised device IR with line tables: exact for templates, operators, macros."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

import msgspec

_NAME = r'@("(?:[^"\\]|\\.)*"|[\w.$-]+)'
_DEFINE = re.compile(rf"^define .*?{_NAME}\(.*!dbg (!\d+) .*{{$|^define .*?{_NAME}\(.*{{$")
_SUBPROGRAM = re.compile(r'^(!\d+) = distinct !DISubprogram\(.*?name: "((?:[^"\\]|\\.)*)".*?file: (!\d+), line: (\d+)')
_FILE = re.compile(r'^(!\d+) = !DIFile\(filename: "((?:[^"\\]|\\.)*)", directory: "((?:[^"\\]|\\.)*)"')
_BYTE = re.compile(rb"\\([0-9A-Fa-f]{2})")


class Place(msgspec.Struct, frozen=True):
    """Where a function's name stands in the source."""

    path: str
    """As the compiler reached it, from ``directory`` where it is relative."""
    directory: str
    line: int


class CallGraph(msgspec.Struct, frozen=True):
    """Functions of a device module by mangled name."""

    callees: Mapping[str, tuple[str, ...]]
    """What each body names, in order of first use."""
    places: Mapping[str, Place]

    def reached_from(self, name: str) -> Iterator[str]:
        """The function itself, then all that it reaches, in the order in which a run would first use them."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                yield current
                waiting += reversed(self.callees.get(current, ()))


def call_graph(ir: str) -> CallGraph:
    """Read a module's text."""
    bodies: dict[str, dict[str, None]] = {}
    programs: dict[str, str] = {}
    subprograms: dict[str, tuple[str, int]] = {}
    files: dict[str, tuple[str, str]] = {}
    current: dict[str, None] | None = None
    for line in ir.splitlines():
        if line.startswith("define "):
            found = _DEFINE.match(line)
            if found:
                name = _plain(found[1] or found[3])
                current = bodies.setdefault(name, {})
                if found[2]:
                    programs[name] = found[2]
        elif line == "}":
            current = None
        elif current is not None:
            current.update(dict.fromkeys(_plain(name) for name in re.findall(_NAME, line)))
        elif line.startswith("!"):
            if subprogram := _SUBPROGRAM.match(line):
                subprograms[subprogram[1]] = (subprogram[3], int(subprogram[4]))
            elif file := _FILE.match(line):
                files[file[1]] = (_unescaped(file[2]), _unescaped(file[3]))
    places = {}
    for name, program in programs.items():
        if program in subprograms and subprograms[program][0] in files:
            file_id, number = subprograms[program]
            places[name] = Place(*files[file_id], number)
    callees = {name: tuple(each for each in named if each in bodies) for name, named in bodies.items()}
    return CallGraph(callees, places)


def _plain(name: str) -> str:
    return _unescaped(name[1:-1]) if name.startswith('"') else name


def _unescaped(text: str) -> str:
    """LLVM writes bytes beyond ASCII in hex, one by one."""
    return os.fsdecode(
        re.sub(rb"\\([0-9A-Fa-f]{2})", lambda found: bytes.fromhex(found[1].decode()), os.fsencode(text))
    )
