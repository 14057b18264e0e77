"""The process that launches imported kernels once: what they compute is what candidates have to give."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import numpy as np

from r3cc.devices import Device, open_device
from r3cc.devices.base import Arguments, Code, DeviceError, Geometry, Properties, Range
from r3cc.farm.process import Failed, open_line


class Memory(msgspec.Struct, frozen=True):
    """Memory of a launch: an address and its content, or a variable by name."""

    content: bytes
    address: int = 0
    name: str = ""


class RunRequest(msgspec.Struct, frozen=True):
    """A launch of a code object's kernel."""

    code: Path
    kernel: str
    geometry: Geometry
    arguments: Arguments
    regions: tuple[Memory, ...]
    globals: tuple[str, ...]
    """Variables whose content belongs to the launch."""


class RunAnswer(msgspec.Struct, frozen=True):
    """Memory after the launch, in the request's order, and variables before and after it."""

    properties: Properties
    time_ns: float
    regions: tuple[bytes, ...]
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]


def main() -> None:
    """Answer one request."""
    line = open_line(sys.argv)
    name: str = line.receive()
    request: RunRequest = line.receive()
    try:
        line.answer(run(open_device(name), request))
    except DeviceError as error:
        line.answer(Failed(str(error)))


def run(device: Device, request: RunRequest) -> RunAnswer:
    """Launch it on memory at its addresses."""
    granule = device.granule
    spans = [Range(each.address, -(-len(each.content) // granule) * granule) for each in request.regions]
    device.reserve(spans)
    device.map(spans)
    for each in request.regions:
        device.upload(each.address, np.frombuffer(each.content, np.uint8))
    code = device.load(request.code)
    function = code.function(request.kernel)
    before = _variables(device, code, request.globals)
    start = device.mark()
    function.launch(request.geometry, request.arguments)
    end = device.mark()
    device.synchronise()
    regions = tuple(device.download(each.address, len(each.content)) for each in request.regions)
    after = _variables(device, code, request.globals)
    return RunAnswer(device.properties, end.nanoseconds_since(start), regions, before, after)


def _variables(device: Device, code: Code, names: tuple[str, ...]) -> tuple[Memory, ...]:
    places = {name: place for name in names if (place := code.global_range(name)) is not None}
    return tuple(
        Memory(device.download(place.address, place.size), place.address, name) for name, place in places.items()
    )
