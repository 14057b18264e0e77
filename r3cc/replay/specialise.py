"""Specialisation: which launches a specialised kernel is right for, and what the replay compiler is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from r3cc.errors import R3Error
from r3cc.llvm.model import SpecialiseRequest
from r3cc.replay.geometry import derive
from r3cc.replay.model import Candidate, Dim3, Specialisation
from r3cc.store import Store
from r3cc.store.arguments import FORMATS, kernel_info
from r3cc.store.demangle import base_name
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
    """A candidate whose code takes for granted what ``words`` name: arguments by index or name, ``block``, ``grid``.

    Their values are those of the recorded launches, block and grid as the candidate launches them. Raises R3Error for
    what is no scalar, isn't there, or is not the same in all launches.
    """
    if not words:
        return candidate
    name = base_name(kernel.demangled)
    parameters = kernel_info(store.module(kernel.module), kernel.name).get("parameters") or ()
    launches = store.launches(kernel, recording)
    launched = [derive(launch, candidate.launch) for launch in launches]
    arguments = sorted(_fixed_argument(word, name, parameters, launches) for word in words if word not in DIMENSIONS)
    special = Specialisation(
        tuple(arguments),
        _one("the block", name, {each.block for each in launched}) if "block" in words else None,
        _one("the grid", name, {each.grid for each in launched}) if "grid" in words else None,
    )
    return msgspec.structs.replace(candidate, specialisation=special)


def _fixed_argument(
    word: str, kernel: str, parameters: Sequence[Mapping[str, Any]], launches: Sequence[Launch]
) -> tuple[int, str]:
    names = [str(parameter.get("name", "")) for parameter in parameters]
    index = int(word) if word.isdecimal() else names.index(word) if word in names else -1
    if not 0 <= index < len(parameters):
        raise R3Error(f"{kernel} has no argument '{word}'; its {len(parameters)} are numbered from 0")
    if parameters[index].get("type") not in FORMATS:
        raise R3Error(f"argument {word} of {kernel} is no scalar: it is a {parameters[index].get('type')}")
    return index, _one(f"argument {word}", kernel, {argument_bytes(launch, index) for launch in launches})


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
