"""Specialisation: which launches a specialised kernel is right for, and what the replay compiler is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from r3cc.errors import R3Error
from r3cc.llvm.model import SpecialiseRequest
from r3cc.replay.geometry import derive
from r3cc.replay.model import Candidate, Dim3, LaunchConfiguration, Specialisation
from r3cc.store.arguments import FORMATS
from r3cc.store.model import Launch

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


def fixed(
    words: Sequence[str],
    kernel: str,
    parameters: Sequence[Mapping[str, Any]],
    launches: Sequence[Launch],
    block: Dim3 | None,
) -> Specialisation:
    """What recorded launches share of what ``words`` name: arguments by index or name, ``block``, ``grid``.

    ``parameters`` are the kernel's in its module's JSON, ``block`` is launched instead of the recorded one. Raises
    R3Error for what is no scalar, isn't there, or is not the same in all launches.
    """
    launched = [derive(launch, LaunchConfiguration(block=block)) for launch in launches]
    arguments = sorted(_fixed_argument(word, kernel, parameters, launches) for word in words if word not in DIMENSIONS)
    return Specialisation(
        tuple(arguments),
        _one("the block", kernel, {each.block for each in launched}) if "block" in words else None,
        _one("the grid", kernel, {each.grid for each in launched}) if "grid" in words else None,
    )


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
