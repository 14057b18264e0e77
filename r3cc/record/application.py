"""The program that a user wants recorded: where it is, what it loads, whether a library can be preloaded into it."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from r3cc.errors import R3Error
from r3cc.store.binary import read_binary
from r3cc.store.elf import ElfFile, is_elf

LIST_TIMEOUT_S = 60


@dataclass(frozen=True)
class LoadedLibrary:
    """A library that the dynamic loader would load at start; ``path`` is None when it finds none."""

    name: str
    path: Path | None


def find_program(name: str) -> Path:
    """Path of the program a shell would run; raises R3Error when there is none."""
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    if Path(name).is_file():
        raise R3Error(f"{name} cannot be run: it is not executable")
    raise R3Error(f"there is no program '{name}'" + ("" if "/" in name else " on the PATH"))


def find_application(command: Sequence[str]) -> Path:
    """The program in a command line that carries device code.

    That is the command's own, or one that it is given to start, as mpirun, srun, env and time are.
    """
    program = find_program(command[0])
    paths = [program, *(Path(found) for argument in command[1:] if (found := shutil.which(argument)) is not None)]
    return next((path for path in paths if is_elf(path) and read_binary(path)), program)


def check_preloadable(program: Path) -> None:
    """Raise R3Error when the dynamic loader would not preload the recorder; a script passes."""
    if program.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        raise R3Error(f"{program} is a set-user-id program: nothing can be preloaded into it; record a plain copy")
    if not is_elf(program):
        return
    with ElfFile(program) as file:
        if file.interpreter is None:
            raise R3Error(
                f"{program} is a fully static executable: the recorder cannot be preloaded into it; "
                "link it without -static"
            )


def loaded_libraries(program: Path) -> list[LoadedLibrary]:
    """Every library that the dynamic loader loads at start, by asking it; empty for a script."""
    if not is_elf(program):
        return []
    with ElfFile(program) as file:
        loader = file.interpreter
    if loader is None:
        return []
    try:
        answer = subprocess.run(
            [loader, program.absolute()],
            env=os.environ | {"LD_TRACE_LOADED_OBJECTS": "1"},  # as ldd does: missing libraries are listed, too
            capture_output=True,
            text=True,
            timeout=LIST_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise R3Error(f"cannot list the libraries of {program}: {error}") from None
    return [library for line in answer.stdout.splitlines() if (library := _parse(line)) is not None]


def _parse(line: str) -> LoadedLibrary | None:
    """``libm.so.6 => /lib/libm.so.6 (0x7f…)`` or ``libx.so => not found``."""
    name, arrow, target = line.strip().partition(" => ")
    if not arrow:
        return None
    path = target.rsplit(" (", 1)[0]
    return LoadedLibrary(name, Path(path) if path.startswith("/") else None)
