"""What a kernel's code may take for granted: what all recorded launches share of arguments, dimensions and tables."""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence

import msgspec

from r3cc.llvm import KernelDescription
from r3cc.replay.model import Specialisation
from r3cc.replay.specialise import argument_bytes
from r3cc.replay.tables import RecordedTable
from r3cc.store.arguments import FORMATS
from r3cc.store.model import Dim3, Launch
from r3cc.tune.blocks import Shape
from r3cc.tune.knobs import Knob, Scope

PREFIX = "specialise:"
BLOCK, GRID = f"{PREFIX}block", f"{PREFIX}grid"
RECORDED = "recorded"
"""The value of an argument's knob: what every recorded launch has."""
LAUNCHED = "launched"


class Constants(msgspec.Struct, frozen=True):
    """What can be specialised for; nothing by default."""

    arguments: tuple[tuple[int, str, str], ...] = ()
    """Parameter index, bytes in hex, and how people read it: ``n = 4096``."""
    tables: tuple[RecordedTable, ...] = ()
    block: bool = False
    grid: bool = False

    def knobs(self) -> tuple[Knob, ...]:
        """One for each constant, so that a search takes only what pays."""
        knobs = [
            Knob(f"{PREFIX}{index}", Scope.KERNEL, (RECORDED,), f"argument {text} as a constant")
            for index, _, text in self.arguments
        ]
        if self.block:
            knobs.append(Knob(BLOCK, Scope.KERNEL, (LAUNCHED,), "the block's size as a constant"))
        if self.grid:
            knobs.append(Knob(GRID, Scope.KERNEL, (LAUNCHED,), "the grid's size as a constant"))
        knobs += [
            Knob(f"{PREFIX}{table.place}", Scope.KERNEL, (RECORDED,), f"{table.text} as constants, behind a guard")
            for table in self.tables
        ]
        return tuple(knobs)

    def text(self, key: str) -> str:
        """How people read a chosen knob."""
        texts = {f"{PREFIX}{index}": text for index, _, text in self.arguments}
        texts |= {f"{PREFIX}{table.place}": table.text for table in self.tables}
        return texts.get(key, key.removeprefix(PREFIX))

    def chosen(self, keys: Sequence[str], shapes: Sequence[Shape], block: Dim3 | None) -> Specialisation:
        """The specialisation of the chosen knobs when ``block`` (None: the recorded one) is launched."""
        launched = block or (shapes[0].block if shapes else None)
        return Specialisation(
            tuple((index, value) for index, value, _ in self.arguments if f"{PREFIX}{index}" in keys),
            launched if BLOCK in keys else None,
            covering(shapes[0], launched) if GRID in keys and launched else None,
            tuple(part for table in self.tables if f"{PREFIX}{table.place}" in keys for part in table.parts),
        )


def constants(
    facts: KernelDescription,
    launches: Sequence[Launch],
    structs: Collection[int] = (),
    tables: tuple[RecordedTable, ...] = (),
) -> Constants:
    """What all recorded launches, held-out ones among them, have in common and the kernel's code depends on.

    ``structs`` are the arguments passed by value that may be constants, ``tables`` what the launches hold in memory.
    Arguments are equal when their bytes are: a floating-point zero is not its negative.
    """
    if not launches:
        return Constants()
    arguments = []
    for index, parameter in enumerate(facts.parameters):
        values = {argument_bytes(launch, index) for launch in launches}
        form = FORMATS.get(parameter.type)
        size = struct.calcsize(form) if form else parameter.size
        if (form is None and index not in structs) or len(values) != 1 or len(value := values.pop()) != 2 * size:
            continue
        name = parameter.name or str(index)
        number = struct.unpack(form, bytes.fromhex(value))[0] if form else None
        arguments.append((index, value, f"{name} ({size} bytes)" if number is None else f"{name} = {number}"))
    blocks = {launch.block for launch in launches}
    grids = {launch.grid for launch in launches}
    return Constants(
        tuple(arguments),
        tables,
        facts.reads_block_size and len(blocks) == 1,
        facts.reads_grid_size and len(blocks) == len(grids) == 1,
    )


def covering(shape: Shape, block: Dim3) -> Dim3:
    """Blocks per axis that hold a recorded shape's threads, as a derived grid does."""
    if block == shape.block:
        return shape.grid
    x, y, z = (-(-g * b // w) for g, b, w in zip(shape.grid, shape.block, block, strict=True))
    return x, y, z
