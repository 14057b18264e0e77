"""JSON documents of a pack, turned into the values of ``r3cc.store.model``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import msgspec

from r3cc.errors import R3Error
from r3cc.store.model import Dim3, Launch, Module, NotRecordable, Process, Shape

Value = TypeVar("Value")


class KernelDocument(msgspec.Struct, frozen=True):
    """A kernel's counts in one process."""

    module: str
    name: str
    launches: int
    total_ns: int
    timed: int
    recorded: int
    not_recordable: tuple[NotRecordable, ...]
    shapes: tuple[Shape, ...]
    device: str | None = None
    """None: the process's."""


class EndDocument(msgspec.Struct, frozen=True):
    """Totals of a process that ended by itself; times in nanoseconds."""

    launches: int
    recorded: int
    recording_ns: int
    """Time spent on snapshots."""
    wall_ns: int
    copied_bytes: int = 0
    """Device memory that recorded launches had copied to the host: what was stored before is not copied again."""


Address = Annotated[str, msgspec.Meta(pattern="^0x[0-9a-fA-F]+$")]


class _RegionDocument(msgspec.Struct, frozen=True):
    address: Address
    size: int
    before: str
    after: str
    name: str = ""


class _LaunchDocument(msgspec.Struct, frozen=True):
    launch: str
    device: str
    grid: Dim3
    block: Dim3
    arguments: str
    regions: tuple[_RegionDocument, ...]
    globals: tuple[_RegionDocument, ...]


def identity(document: dict[str, Any]) -> tuple[str, str]:
    """Kind and identity: of one pack's documents with equal ones the last counts."""
    kind = str(document.get("kind"))
    match kind:
        case "module":
            return kind, str(document.get("module"))
        case "kernel":
            return kind, f"{kernel_identity(document)}:{document.get('device', '')}"
        case "launch":
            return kind, str(document.get("launch"))
        case _:
            return kind, ""


def kernel_identity(document: dict[str, Any]) -> str:
    """The kernel that a document is about: ``module:name``; ``None:None`` if it is about none."""
    return f"{document.get('module')}:{document.get('name')}"


def kernel(document: dict[str, Any]) -> KernelDocument:
    """A ``kernel`` document; raises R3Error when it is malformed."""
    return _converted(document, lambda: msgspec.convert(document, KernelDocument))


def end(document: dict[str, Any]) -> EndDocument:
    """An ``end`` document; raises R3Error when it is malformed."""
    return _converted(document, lambda: msgspec.convert(document, EndDocument))


def module(document: dict[str, Any]) -> Module:
    """A ``module`` document; raises R3Error when it is malformed."""
    return _converted(document, lambda: msgspec.convert(document, Module))


def process(document: dict[str, Any], pack: str, complete: bool) -> Process:
    """A ``process`` document of the pack with that stem; raises R3Error when it is malformed."""
    fields = document | {
        "pack": pack,
        "complete": complete,
        "arena_base": int(str(document.get("arena_base", "0")), 0),
    }
    return _converted(document, lambda: msgspec.convert(fields, Process))


def launch(document: dict[str, Any]) -> Launch:
    """A ``launch`` document; raises R3Error when it is malformed."""
    return _converted(document, lambda: msgspec.convert(_launch_fields(document), Launch))


def _launch_fields(document: dict[str, Any]) -> dict[str, Any]:
    wire = msgspec.convert(document, _LaunchDocument)
    return document | {
        "arguments": bytes.fromhex(wire.arguments),
        "regions": [_region_fields(region) for region in wire.regions],
        "globals": [_region_fields(image) for image in wire.globals],
    }


def _region_fields(region: _RegionDocument) -> dict[str, Any]:
    return {
        "name": region.name,
        "address": int(region.address, 16),
        "size": region.size,
        "before": region.before,
        "after": region.after,
    }


def _converted(document: dict[str, Any], convert: Callable[[], Value]) -> Value:
    try:
        return convert()
    except (msgspec.ValidationError, ValueError) as error:
        kind, name = identity(document)
        raise R3Error(f"the store's {kind} document '{name}' is malformed: {error}") from None
