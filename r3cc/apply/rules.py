"""From a candidate to what a build does to launches, and which launches that reaches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from r3cc.apply.profile import Constant, FixedTable, Guard, LaunchRule, Scalar, Shape, ShapeBlock, Specialised
from r3cc.devices.base import Limits
from r3cc.errors import R3Error
from r3cc.replay.model import LaunchConfiguration, Specialisation, Table
from r3cc.store.model import Launch

SHARED_WITHOUT_ASKING = 48 * 1024
"""Dynamic shared bytes that a build's second version gets: more of it the application asks for by the kernel's name."""


def launch_rule(
    wanted: LaunchConfiguration, launches: Sequence[Launch], scalars: tuple[Scalar, ...] = ()
) -> LaunchRule | None:
    """The rule that gives the recorded launches a candidate's dimensions; None where it has none of its own.

    Raises R3Error where no one rule says it.
    """
    if wanted.block is None and wanted.grid is None:
        return None
    served = [each for each in launches if not wanted.shapes or (each.grid, each.block, each.shared) in wanted.shapes]
    shapes = {Shape(each.grid, each.block, each.shared): None for each in served}
    blocks = {shape.block for shape in shapes}
    block = wanted.block or (blocks.pop() if len(blocks) == 1 else None)
    if block is None or wanted.shared is not None:
        raise R3Error("the launch configuration cannot be written as one rule")
    own = dict(wanted.by_shape)
    by_shape = [ShapeBlock(each, own[key]) for each in shapes if (key := (each.grid, each.block, each.shared)) in own]
    rule = LaunchRule(block, wanted.grid or "derived", Guard(tuple(shapes), scalars), tuple(by_shape))
    fitting = tuple(shape for shape in shapes if launched(rule, shape) is not None)
    return msgspec.structs.replace(rule, guard=Guard(fitting, scalars))


def specialised(wanted: Specialisation, launches: Sequence[Launch]) -> Specialised | None:
    """What a second version takes for granted; None where a candidate takes nothing."""
    if wanted == Specialisation():
        return None
    places = launches[0].parameters
    arguments = tuple(
        Constant(index, places[index].offset, places[index].size, value) for index, value in wanted.arguments
    )
    return Specialised(arguments, wanted.block, wanted.grid, tuple(map(_fixed_table, wanted.tables)))


def _fixed_table(table: Table) -> FixedTable:
    if table.variable:
        return FixedTable(table.size, table.content, variable=table.variable)
    return FixedTable(table.size, table.content, argument=table.argument, offset=table.offset)


def launched(rule: LaunchRule | None, shape: Shape) -> Shape | None:
    """The dimensions that a launch gets under a rule; None where it keeps its own.

    That is where its shape is not one of the guard's, and where no device takes the grid that would be derived.
    """
    if rule is None:
        return shape
    if shape not in rule.guard.shapes:
        return None
    grid, block = rule.grid, rule.block_for(shape)
    if grid == "derived":
        pairs = zip(shape.grid, shape.block, block, strict=True)
        x, y, z = (-(-g * b // w) for g, b, w in pairs)
        grid = (x, y, z)
        if any(extent > most for extent, most in zip(grid, Limits().grid, strict=True)):
            return None
    return Shape(grid, block, shape.shared)


def takes(special: Specialised | None, bounds: str | None, shape: Shape) -> bool:
    """Whether a second version, with these ``maxntid`` bounds, serves launches of these dimensions."""
    if special is None:
        return True
    return (
        special.block in (None, shape.block)
        and special.grid in (None, shape.grid)
        and (bounds is None or math.prod(shape.block) <= _threads(bounds))
        and shape.shared <= SHARED_WITHOUT_ASKING
    )


def has_values(rule: LaunchRule | None, special: Specialised | None, launch: Launch) -> bool:
    """Whether a launch has the scalar arguments that a rule and a version ask for."""
    scalars = rule.guard.scalars if rule is not None else ()
    constants = special.arguments if special is not None else ()
    wanted = [(each.offset, each.size, each.values) for each in scalars]
    wanted += [(each.offset, each.size, (each.value,)) for each in constants]
    return all(launch.arguments[offset : offset + size].hex() in values for offset, size, values in wanted)


def shape_of(launch: Launch) -> Shape:
    """What the application asked for."""
    return Shape(launch.grid, launch.block, launch.shared)


def _threads(bounds: str) -> int:
    return math.prod(int(extent) for extent in bounds.split(","))


def beyond(bounds: str, most: int | None) -> bool:
    """Whether ``maxntid`` bounds forbid blocks that the source, with ``most`` threads (None: any), allows."""
    return most is None or most > _threads(bounds)
