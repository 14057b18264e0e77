"""Running the compiler on hostile text: no network, no files but those it needs, an empty environment, and limits."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import msgspec

_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives")
_LIMITED = 'ulimit -St "$1"; ulimit -Ht $(($1 + 2)); ulimit -v "$2"; ulimit -f "$3"; ulimit -c 0; shift 3; exec "$@"'
_LIBRARIES = "LD_LIBRARY_PATH"
_SAID = 64 << 10
"""Bytes of messages that are kept."""


class Limits(msgspec.Struct, frozen=True):
    """What one run may use."""

    wall_s: float = 60.0
    cpu_s: int = 20
    memory: int = 4 << 30
    """Bytes of address space."""
    output: int = 256 << 20
    """Bytes of any file it writes."""


class Finished(msgspec.Struct, frozen=True):
    """How a run ended."""

    status: int
    """Exit status, minus the signal's number if one ended it."""
    messages: str
    timed_out: bool


class Sandbox(msgspec.Struct, frozen=True):
    """What a run can see, all of it read-only but for its own scratch folder."""

    readable: tuple[Path, ...]
    """Files and folders; missing ones are left out."""
    folders: tuple[Path, ...] = ()
    """Folders that must exist, empty but for what is readable, for paths that lead through them."""
    limits: Limits = Limits()

    def run(
        self, command: Sequence[str], directory: Path, scratch: Path, environment: Mapping[str, str], fd: int
    ) -> Finished:
        """Run a command to its end, or kill it. ``fd`` is a file that it inherits."""
        limits = (str(self.limits.cpu_s), str(self.limits.memory >> 10), str(self.limits.output >> 9))
        line = ["/bin/sh", "-c", _LIMITED, "sh", *limits, *command]
        if confinement():
            line = [*self._walls(directory, scratch), *line]
        with (scratch / "messages").open("wb+") as messages:
            process = subprocess.Popen(
                line,
                cwd=directory,
                env={**environment, _LIBRARIES: ":".join(_library_folders())},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=messages,
                pass_fds=[fd],
                start_new_session=True,
            )
            timed_out = _ended_late(process, self.limits.wall_s)
            messages.seek(0)
            said = messages.read(_SAID).decode(errors="replace")
        status = process.returncode
        return Finished(status if status < 128 else 128 - status, said, timed_out)

    def _walls(self, directory: Path, scratch: Path) -> list[str]:
        line = [str(confinement()), "--unshare-all", "--die-with-parent", "--new-session"]
        line += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
        readable = [*self.readable, *map(Path, _library_folders())]
        for path in [*map(Path, _SYSTEM), *_outermost(readable)]:
            line += ["--ro-bind-try", str(path), str(path)]
        for path in self.folders:
            line += ["--dir", str(path)] if not path.exists() or not _covered(path, self.readable) else []
        return [*line, "--bind", str(scratch), str(scratch), "--chdir", str(directory), "--"]


@cache
def confinement() -> str | None:
    """The program that builds the walls, None where there is none that works: limits alone hold then."""
    program = shutil.which("bwrap")
    if program is None:
        return None
    trial = [program, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--", "/bin/true"]
    try:
        done = subprocess.run(trial, capture_output=True, timeout=20, check=False, env={})
    except (OSError, subprocess.TimeoutExpired):
        return None
    return program if done.returncode == 0 else None


def _library_folders() -> list[str]:
    """Where a compiler from a site's module finds its libraries: all that is kept of this process's environment."""
    return [folder for folder in os.environ.get(_LIBRARIES, "").split(":") if Path(folder).is_absolute()]


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Paths that lie in no other one of them, nor in the system's folders."""
    kept: list[Path] = []
    for path in sorted({Path(os.path.normpath(path)) for path in paths}):
        if not _covered(path, [*kept, *map(Path, _SYSTEM)]):
            kept.append(path)
    return kept


def _covered(path: Path, folders: Iterable[Path]) -> bool:
    return any(path == folder or folder in path.parents for folder in folders)


def _ended_late(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
        return False
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
