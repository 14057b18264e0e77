"""Read-only tables: what the recorded launches hold where a kernel reads what no launch of it changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from r3cc.llvm.model import MemoryTable, TablesFound, VariableTable
from r3cc.replay.model import Table
from r3cc.store import Store
from r3cc.store.demangle import demangle
from r3cc.store.model import Launch


class RecordedTable(msgspec.Struct, frozen=True):
    """A table of which all recorded launches have the same content, before they ran and after."""

    place: str
    """``@name`` of a variable, ``*2`` for what lies behind argument 2."""
    text: str
    """How people read it."""
    parts: tuple[Table, ...]


def recorded_tables(
    found: TablesFound, names: Sequence[str], launches: Sequence[Launch], store: Store
) -> tuple[RecordedTable, ...]:
    """What may be taken for constant, with its content; ``names`` are the kernel's parameters'."""
    tables = []
    for variable in found.variables:
        content = _one(variable_contents(variable, launches, store))
        if content is not None:
            text = f"the {variable.size} bytes of {demangle(variable.name)}"
            tables.append(RecordedTable(f"@{variable.name}", text, (Table(content, variable.name),)))
    for index in sorted({each.argument for each in found.memory}):
        parts = []
        for each in (each for each in found.memory if each.argument == index):
            content = _one(memory_contents(each, launches, store))
            if content is not None:
                parts.append(Table(content, argument=index, offset=each.offset))
        if parts:
            size = sum(part.size for part in parts)
            text = f"{size} bytes behind argument {names[index] or index}"
            tables.append(RecordedTable(f"*{index}", text, tuple(parts)))
    return tuple(tables)


def variable_contents(variable: VariableTable, launches: Sequence[Launch], store: Store) -> Iterator[str | None]:
    """What a variable holds before and after each launch, in hex; None where it was not recorded."""
    for launch in launches:
        image = next((each for each in launch.globals if each.name == variable.name), None)
        if image is None or image.size != variable.size:
            yield None
            return
        for key in dict.fromkeys((image.before, image.after)):
            yield store.image(key, image.size).tobytes().hex()


def memory_contents(memory: MemoryTable, launches: Sequence[Launch], store: Store) -> Iterator[str | None]:
    """The same for bytes behind an argument."""
    for launch in launches:
        place = launch.parameters[memory.argument]
        address = int.from_bytes(launch.arguments[place.offset : place.offset + place.size], "little") + memory.offset
        region = next((r for r in launch.regions if r.address <= address <= r.address + r.size - memory.size), None)
        if region is None:
            yield None
            return
        for key in dict.fromkeys((region.before, region.after)):
            yield store.part(key, region.size, address - region.address, memory.size).tobytes().hex()


def _one(contents: Iterator[str | None]) -> str | None:
    """The one content; None where there are several, or none, without reading on."""
    first = next(contents, None)
    return first if first is not None and all(content == first for content in contents) else None
