"""Specialisation: which launches a specialised kernel is right for, and what the replay compiler is asked for."""

from __future__ import annotations

from r3cc.llvm.model import SpecialiseRequest
from r3cc.replay.geometry import derive
from r3cc.replay.model import Candidate, Dim3, Specialisation
from r3cc.store.model import Launch


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


def argument_bytes(launch: Launch, index: int) -> str:
    """A launch's argument in hex, lowest byte first; empty where it has none."""
    if index >= len(launch.parameters):
        return ""
    parameter = launch.parameters[index]
    return launch.arguments[parameter.offset : parameter.offset + parameter.size].hex()


def _text(dimensions: Dim3 | None) -> str | None:
    return None if dimensions is None else ",".join(map(str, dimensions))
