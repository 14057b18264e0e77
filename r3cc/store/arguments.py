"""A launch's arguments as people read them."""

from __future__ import annotations

import struct
from typing import Any

import msgspec

from r3cc.store.model import Launch, Module

FORMATS = {"i1": "<?", "i8": "<b", "i16": "<h", "i32": "<i", "i64": "<q", "half": "<e", "float": "<f", "double": "<d"}
SHOWN_BYTES = 16


class Argument(msgspec.Struct, frozen=True):
    """One argument of one launch."""

    name: str
    type: str
    """LLVM type; empty when the module does not tell."""
    offset: int
    size: int
    """Bytes."""
    value: str


def arguments(launch: Launch, module: Module) -> list[Argument]:
    """Arguments of a launch; names and types come from the module where it has them."""
    known = {parameter.get("offset"): parameter for parameter in kernel_info(module, launch.name).get("parameters", [])}
    return [
        _argument(launch, known.get(parameter.offset, {}), parameter.offset, parameter.size)
        for parameter in launch.parameters
    ]


def kernel_info(module: Module, name: str) -> dict[str, Any]:
    """What a module's JSON says about a kernel; empty if nothing."""
    kernels = module.info.get("kernels", [])
    return next((kernel for kernel in kernels if kernel.get("name") == name), {})


def _argument(launch: Launch, known: dict[str, Any], offset: int, size: int) -> Argument:
    content = launch.arguments[offset : offset + size]
    kind = str(known.get("type", ""))
    return Argument(str(known.get("name", "")), kind, offset, size, _value(launch, kind, content))


def _value(launch: Launch, kind: str, content: bytes) -> str:
    form = FORMATS.get(kind)
    if form is not None and struct.calcsize(form) == len(content):
        return str(struct.unpack(form, content)[0])
    if kind.startswith("ptr") and len(content) == 8:
        return _pointer(launch, int.from_bytes(content, "little"))
    shown = content[:SHOWN_BYTES].hex(" ", 4)
    return shown + (" …" if len(content) > SHOWN_BYTES else "")


def _pointer(launch: Launch, address: int) -> str:
    """An address, and where in which captured region it points."""
    for region in launch.regions:
        if region.address <= address < region.address + region.size:
            inside = address - region.address
            return f"{address:#x} ({region.size} bytes" + (f" + {inside})" if inside else ")")
    return f"{address:#x}"
