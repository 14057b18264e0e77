"""Specialisation: which launches a specialised kernel is right for, and what the replay compiler is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from r3cc.errors import R3Error
from r3cc.llvm.inspect import kernel_tables
from r3cc.llvm.model import SpecialiseRequest, TablesFound
from r3cc.replay.geometry import derive
from r3cc.replay.model import Candidate, Dim3, Specialisation
from r3cc.replay.tables import RecordedTable, recorded_tables
from r3cc.store import Store
from r3cc.store.arguments import FORMATS, kernel_info
from r3cc.store.demangle import base_name, demangle
from r3cc.store.model import Kernel, Launch

DIMENSIONS = ("block", "grid")
Value = TypeVar("Value")


def request_of(kernel: str, specialisation: Specialisation) -> SpecialiseRequest:
    """The replay compiler's request for a specialisation."""
    return SpecialiseRequest(
        kernel,
        tuple(f"{index}={value}" for index, value in specialisation.arguments),
        _text(specialisation.block),
        _text(specialisation.grid),
        tuple(map(str, specialisation.tables)),
    )


def guard_problem(candidate: Candidate, launch: Launch) -> str | None:
    """Why a candidate's code is not right for a recorded launch, in a sentence; None when its guard holds."""
    wanted = candidate.specialisation
    geometry = derive(launch, candidate.launch)
    if wanted.block not in (None, geometry.block):
        return f"the code is specialised for block {_text(wanted.block)}, {launch.launch} has {_text(geometry.block)}"
    if wanted.grid not in (None, geometry.grid):
        return f"the code is specialised for grid {_text(wanted.grid)}, {launch.launch} has {_text(geometry.grid)}"
    for index, value in wanted.arguments:
        own = argument_bytes(launch, index)
        if own != value:
            return f"the code is specialised for argument {index} = {value}, {launch.launch} has {own or 'none'}"
    return None


def with_constants(
    candidate: Candidate, words: Sequence[str], store: Store, kernel: Kernel, recording: str | None
) -> Candidate:
    """A candidate whose code takes for granted what ``words`` name.

    Words are arguments by index or name, variables, ``block`` and ``grid``. A pointer's name means the fixed places
    behind it that the kernel reads. Values are those of the recorded launches, block and grid as the candidate
    launches them. Raises R3Error for what can be no constant, isn't there, or is not the same in all launches.
    """
    if not words:
        return candidate
    known = _Known(store, kernel, recording)
    launched = [derive(launch, candidate.launch) for launch in known.launches]
    chosen = [known.constant(word) for word in words if word not in DIMENSIONS]
    special = Specialisation(
        tuple(sorted(each for each in chosen if not isinstance(each, RecordedTable))),
        _one("the block", known.name, {each.block for each in launched}) if "block" in words else None,
        _one("the grid", known.name, {each.grid for each in launched}) if "grid" in words else None,
        tuple(part for each in chosen if isinstance(each, RecordedTable) for part in each.parts),
    )
    return msgspec.structs.replace(candidate, specialisation=special)


class _Known:
    """What the recording tells of a kernel's arguments and memory."""

    def __init__(self, store: Store, kernel: Kernel, recording: str | None) -> None:
        self.name = base_name(kernel.demangled)
        self.launches = store.launches(kernel, recording)
        self._parameters = kernel_info(store.module(kernel.module), kernel.name).get("parameters") or ()
        self._names = [str(parameter.get("name", "")) for parameter in self._parameters]
        self._store, self._kernel = store, kernel

    def constant(self, word: str) -> tuple[int, str] | RecordedTable:
        """An argument with its bytes in hex, or a table."""
        index = int(word) if word.isdecimal() else self._names.index(word) if word in self._names else -1
        if not 0 <= index < len(self._parameters):
            return self._variable(word)
        if self._parameters[index].get("type") not in FORMATS:
            found = self._find()
            if index not in found.values:
                return self._behind(index, word, found)
        values = {argument_bytes(launch, index) for launch in self.launches}
        return index, _one(f"argument {word}", self.name, values)

    def _find(self) -> TablesFound:
        return kernel_tables(self._store.bitcode(self._kernel.module), self._kernel.name)

    def _variable(self, word: str) -> RecordedTable:
        found = self._find()
        names = [each.name for each in found.variables if word in (each.name, demangle(each.name))]
        if not names:
            raise R3Error(
                f"{self.name} has no argument '{word}' (its {len(self._parameters)} are numbered from 0) and reads no "
                "small variable of that name that no launch changes"
            )
        return self._recorded(found, f"@{names[0]}", f"{word}, which {self.name} reads,")

    def _behind(self, index: int, word: str, found: TablesFound) -> RecordedTable:
        if not any(each.argument == index for each in found.memory):
            kind = self._parameters[index].get("type")
            raise R3Error(
                f"argument {word} of {self.name} is no scalar: it is a {kind}, and there is nothing at fixed places "
                "behind it that every launch surely reads and leaves alone"
            )
        return self._recorded(found, f"*{index}", f"what {self.name} reads behind argument {word}")

    def _recorded(self, found: TablesFound, place: str, what: str) -> RecordedTable:
        tables = recorded_tables(found, self._names, self.launches, self._store)
        for table in tables:
            if table.place == place:
                return table
        raise R3Error(f"{what} is not the same in all recorded launches")


def _one(what: str, kernel: str, values: set[Value]) -> Value:
    if len(values) != 1:
        raise R3Error(f"{what} of {kernel} is not the same in all recorded launches")
    return values.pop()


def argument_bytes(launch: Launch, index: int) -> str:
    """A launch's argument in hex, lowest byte first; empty where it has none."""
    if index >= len(launch.parameters):
        return ""
    parameter = launch.parameters[index]
    return launch.arguments[parameter.offset : parameter.offset + parameter.size].hex()


def _text(dimensions: Dim3 | None) -> str | None:
    return None if dimensions is None else ",".join(map(str, dimensions))
