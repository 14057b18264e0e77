"""What a kernel's code may take for granted: scalars and launch dimensions that all recorded launches share."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import msgspec

from r3cc.llvm import KernelDescription
from r3cc.replay.model import Specialisation
from r3cc.replay.specialise import argument_bytes
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
        return tuple(knobs)

    def chosen(self, keys: Sequence[str], shapes: Sequence[Shape], block: Dim3 | None) -> Specialisation:
        """The specialisation of the chosen knobs when ``block`` (None: the recorded one) is launched."""
        launched = block or (shapes[0].block if shapes else None)
        return Specialisation(
            tuple((index, value) for index, value, _ in self.arguments if f"{PREFIX}{index}" in keys),
            launched if BLOCK in keys else None,
            covering(shapes[0], launched) if GRID in keys and launched else None,
        )


def constants(facts: KernelDescription, launches: Sequence[Launch]) -> Constants:
    """What all recorded launches, held-out ones among them, have in common and the kernel's code depends on.

    Arguments are equal when their bytes are: a floating-point zero is not its negative.
    """
    if not launches:
        return Constants()
    arguments = []
    for index, parameter in enumerate(facts.parameters):
        values = {argument_bytes(launch, index) for launch in launches}
        form = FORMATS.get(parameter.type)
        if form is None or len(values) != 1 or len(value := values.pop()) != 2 * struct.calcsize(form):
            continue
        number = struct.unpack(form, bytes.fromhex(value))[0]
        arguments.append((index, value, f"{parameter.name or index} = {number}"))
    blocks = {launch.block for launch in launches}
    grids = {launch.grid for launch in launches}
    return Constants(
        tuple(arguments),
        facts.reads_block_size and len(blocks) == 1,
        facts.reads_grid_size and len(blocks) == len(grids) == 1,
    )


def covering(shape: Shape, block: Dim3) -> Dim3:
    """Blocks per axis that hold a recorded shape's threads, as a derived grid does."""
    if block == shape.block:
        return shape.grid
    x, y, z = (-(-g * b // w) for g, b, w in zip(shape.grid, shape.block, block, strict=True))
    return x, y, z
