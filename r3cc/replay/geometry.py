"""Launch dimensions of a candidate: derived from the recorded ones, and checked against the device."""

from __future__ import annotations

from r3cc.devices.base import Dim3, Geometry, Limits
from r3cc.replay.model import LaunchConfiguration
from r3cc.store.model import Launch


def derive(launch: Launch, configuration: LaunchConfiguration) -> Geometry:
    """The geometry with which a recorded launch is replayed.

    A block without a grid derives the grid per axis so that the recorded threads are covered. A launch of a shape that
    the configuration is not for stays as recorded.
    """
    shape = launch.grid, launch.block, launch.shared
    if configuration.shapes and shape not in configuration.shapes:
        configuration = LaunchConfiguration()
    block = dict(configuration.by_shape).get(shape, configuration.block) or launch.block
    grid = configuration.grid or (cover(launch, block) if configuration.block else launch.grid)
    shared = launch.shared if configuration.shared is None else configuration.shared
    return Geometry(grid, block, shared)


def cover(launch: Launch, block: Dim3) -> Dim3:
    """Blocks per axis that hold at least the recorded threads."""
    x, y, z = (
        -(-blocks * threads // max(wanted, 1))
        for blocks, threads, wanted in zip(launch.grid, launch.block, block, strict=True)
    )
    return x, y, z


def problem(geometry: Geometry, limits: Limits) -> str | None:
    """Why a device cannot launch this geometry, in a sentence; None if it can."""
    threads = geometry.block[0] * geometry.block[1] * geometry.block[2]
    if min(geometry.block + geometry.grid) < 1:
        block, grid = dimensions_text(geometry.block), dimensions_text(geometry.grid)
        return f"block {block} and grid {grid} must be at least 1 on every axis"
    if threads > limits.threads:
        return (
            f"block {dimensions_text(geometry.block)} has {threads} threads, the device takes at most {limits.threads}"
        )
    for what, given, most in (("block", geometry.block, limits.block), ("grid", geometry.grid, limits.grid)):
        for axis, value, limit in zip("xyz", given, most, strict=True):
            if value > limit:
                return f"{what} {dimensions_text(given)} is too large: the device takes at most {limit} on axis {axis}"
    if not 0 <= geometry.shared <= limits.shared:
        return f"{geometry.shared} dynamic shared bytes are too many: the device has {limits.shared} a block"
    return None


def dimensions_text(dimensions: Dim3) -> str:
    """As options and messages have them, such as ``16,16,1``."""
    return ",".join(map(str, dimensions))
