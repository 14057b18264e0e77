"""What a profile did to a program that is run by a command."""

from __future__ import annotations

import hashlib
import shlex
import shutil
from pathlib import Path

import msgspec

from r3cc.errors import R3Error
from r3cc.record.application import loaded_libraries
from r3cc.record.cpu_device import binaries_with_modules
from r3cc.store.binary import EmbeddedModule, read_binary
from r3cc.store.demangle import demangle
from r3cc.store.elf import is_elf


class TunedProgram(msgspec.Struct, frozen=True):
    """The program in a command, and its kernels by what a profile did to them (docs/binary-format.md)."""

    path: str
    tuned: tuple[str, ...]
    """Demangled names."""
    not_tuned: dict[str, str]
    """Kernels that the profile names and the build left alone: why."""
    same_profile: bool
    """Every tuned module was built with the profile at hand."""


def program_of(command: str) -> Path | None:
    """The first word of a shell command that is a program with R3's note, behind launchers such as srun, or None."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    found = (shutil.which(word) for word in words)
    return next((Path(path) for path in found if path is not None and _modules(Path(path))), None)


def tuned_program(command: str, profile: Path | None) -> TunedProgram | None:
    """What a profile did to the program of a command; None where no program with R3's note is in it."""
    path = program_of(command)
    if path is None:
        return None
    modules = _modules(path)
    digest = hashlib.sha256(profile.read_bytes()).hexdigest() if profile is not None and profile.is_file() else None
    kernels = [kernel for module in modules if module.profile for kernel in module.info.get("kernels", [])]
    return TunedProgram(
        path=str(path),
        tuned=tuple(demangle(kernel["name"]) for kernel in kernels if kernel.get("profile") == "tuned"),
        not_tuned={
            demangle(kernel["name"]): "; ".join([str(kernel["profile"]), *kernel.get("notes", [])])
            for kernel in kernels
            if kernel.get("profile") in ("left out", "changed", "other device")
        },
        same_profile=all(module.profile == digest for module in modules if module.profile),
    )


def _modules(path: Path) -> list[EmbeddedModule]:
    """Modules of a program and of the libraries that it loads at start; empty for what is no program."""
    try:
        if not is_elf(path):
            return []
        return [module for each in binaries_with_modules(path, loaded_libraries(path)) for module in read_binary(each)]
    except (R3Error, OSError):
        return []
