"""Relocatable device code (-fgpu-rdc): the units of a binary are linked into the module that its device link makes.

A kernel may call functions and use variables of other units, so the module that is recorded, replayed and lowered is
the whole one. The recorder takes it from files: a folder of the store's cache has ``<unit's module>.unit`` with the id
of the whole module, ``<id>.bc`` and ``<id>.json``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from r3cc.errors import R3Error
from r3cc.llvm.inspect import LinkedUnits, link_units
from r3cc.store import Store
from r3cc.store.binary import EmbeddedModule, read_binary
from r3cc.store.whole_file import write_whole
from r3cc.toolchain.native import native_library

LINKED_VARIABLE = "R3_LINKED_MODULES"
_UNITS_OWN = ("kernels", "globals", "module")
"""Fields of a unit's description that are not those of the whole module."""


def whole_modules(binary: Path, store: Store) -> list[EmbeddedModule]:
    """A binary's modules, units of relocatable device code as one for each architecture. Raises R3Error."""
    modules = read_binary(binary)
    whole = [module for module in modules if not module.relocatable]
    return [*whole, *(_linked(units, store) for units in _programs(modules))]


class LinkedPrograms(msgspec.Struct, frozen=True):
    """What the recorder needs of the whole modules of binaries."""

    environment: dict[str, str]
    """The variable under which it finds them; none where all units are whole."""
    problems: tuple[str, ...]
    """A sentence for each binary whose units don't fit together: they are taken one by one."""


def link_programs(binaries: Iterable[Path], store: Store) -> LinkedPrograms:
    """Link the units of relocatable device code in each of ``binaries``."""
    linked, problems = [], []
    for units in (units for binary in binaries for units in _programs(read_binary(binary))):
        try:
            linked.append((units, _linked(units, store)))
        except R3Error as error:
            problems.append(str(error))
    if not linked:
        return LinkedPrograms({}, tuple(problems))
    folder = store.cache / "linked" / _key(unit for units, _ in linked for unit in units)
    for units, module in linked:
        identity = str(module.info["module"])
        write_whole(folder / f"{identity}.bc", module.bitcode)
        write_whole(folder / f"{identity}.json", msgspec.json.encode(module.info))
        for unit in units:
            write_whole(folder / f"{unit.info['module']}.unit", identity.encode())
    return LinkedPrograms({LINKED_VARIABLE: str(folder.resolve())}, tuple(problems))


def _programs(modules: Sequence[EmbeddedModule]) -> list[list[EmbeddedModule]]:
    """The relocatable units of a binary by architecture; units without IR (tuned builds) can't be linked."""
    by_architecture: dict[str, list[EmbeddedModule]] = {}
    for module in modules:
        if module.relocatable and module.bitcode:
            by_architecture.setdefault(str(module.info["architecture"]), []).append(module)
    return list(by_architecture.values())


def _linked(units: Sequence[EmbeddedModule], store: Store) -> EmbeddedModule:
    if len(units) == 1:
        return units[0]
    path = store.cache / "linked" / "modules" / _key(units)
    try:
        linked = msgspec.msgpack.decode(path.read_bytes(), type=LinkedUnits)
    except (OSError, msgspec.DecodeError):
        linked = _link(units)
        write_whole(path, msgspec.msgpack.encode(linked))
    first = next((unit for unit in units if unit.info["kernels"]), units[0])
    shared = {key: value for key, value in first.info.items() if key not in _UNITS_OWN}
    info = shared | {
        "module": hashlib.sha256(linked.bitcode).hexdigest(),
        "kernels": _kernels(units, linked),
        "globals": msgspec.to_builtins(linked.description.globals),
        "units": [_unit(unit.info) for unit in units],
        "undefined": list(linked.undefined),
    }
    return EmbeddedModule(linked.bitcode, info, True, any(unit.tuned for unit in units), None, first.fat_binary_digest)


def _link(units: Sequence[EmbeddedModule]) -> LinkedUnits:
    try:
        return link_units([unit.bitcode for unit in units])
    except R3Error as error:
        sources = ", ".join(str(unit.info.get("source", "")) for unit in units)
        raise R3Error(f"the units of relocatable device code ({sources}) cannot be linked: {error}") from None


def _kernels(units: Sequence[EmbeddedModule], linked: LinkedUnits) -> list[dict[str, Any]]:
    """What units say of their kernels, with the variables that each reaches in the whole module."""
    reached = {kernel.name: list(kernel.globals) for kernel in linked.description.kernels}
    own = {str(kernel["name"]): kernel for unit in units for kernel in unit.info["kernels"]}
    return [kernel | {"globals": reached[name]} for name, kernel in own.items() if name in reached]


def _unit(info: Mapping[str, Any]) -> dict[str, Any]:
    return {key: info.get(key) for key in ("module", "source", "source_sha256", "directory", "command")}


def _key(units: Iterable[EmbeddedModule]) -> str:
    """Names units, in order, and what links them."""
    library = hashlib.sha256(native_library("libR3Passes.so").read_bytes()).hexdigest()
    named = [f"{unit.info['module']} {unit.info['architecture']} {unit.info['codegen']}" for unit in units]
    return hashlib.sha256("\n".join([library, *named]).encode()).hexdigest()[:32]
