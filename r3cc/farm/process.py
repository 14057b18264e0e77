"""A process of our own that answers one request at a time, and may die or hang at any of them."""

from __future__ import annotations

import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from r3cc.replay.stages import Stage


class StageBegan(msgspec.Struct, frozen=True):
    """From the process: it entered a stage, which must end within ``seconds``."""

    stage: Stage
    seconds: float


class StageEnded(msgspec.Struct, frozen=True):
    """From the process: it left the stage."""


class Answer(msgspec.Struct, frozen=True):
    """From the process: what the request gave."""

    value: Any


class Failed(msgspec.Struct, frozen=True):
    """A value of an answer: nothing can be done here, and a person has to mend it."""

    message: str


class ProcessLost(Exception):
    """The process ended or was ended before it answered."""

    def __init__(self, stage: Stage | None, text: str) -> None:
        super().__init__(text)
        self.stage = stage
        """What it was doing."""


class ProcessDied(ProcessLost):
    """It ended by itself, or somebody killed it."""

    def __init__(self, stage: Stage | None, text: str, exit_code: int) -> None:
        super().__init__(stage, text)
        self.exit_code = exit_code
        """As ``subprocess`` gives it: minus the signal's number if one ended it."""


class DeadlineMissed(ProcessLost):
    """It did not answer in time, and was killed."""


_NEEDED = re.compile(
    r"(PATH|LD_LIBRARY_PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TMP|TEMP|TZ|LANG|VIRTUAL_ENV|CONDA_PREFIX|"
    r"(LC|PYTHON|R3|CUDA|CUDAToolkit|NVIDIA|HIP|HSA|ROCM|ROCR|GPU|AMD|OMP|SLURM|FLUX)_?\w*)"
)
_SECRET = re.compile(r"(?i)(key|token|secret|passw|credential)")


def harmless_environment() -> dict[str, str]:
    """The variables that a worker may need. What runs there is not to be trusted, and keys are not for it."""
    return {name: value for name, value in os.environ.items() if _NEEDED.fullmatch(name) and not _SECRET.search(name)}


class SupervisedProcess:
    """Runs ``main`` of a module of ours; requests and answers are pickled over a socket.

    The module's ``main`` opens the connection with :func:`serve`. What the process prints goes nowhere, its standard
    error to a file whose end explains a death.
    """

    def __init__(self, module: str, setup: object) -> None:
        """Start it; ``setup`` is its first message."""
        ours, theirs = socket.socketpair()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            # Not `-m`: the module's classes must have its name, not __main__, to be pickled.
            [sys.executable, "-c", f"from {module} import main; main()", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            start_new_session=True,  # killed with its children; an interrupt at the terminal is ours alone
            env=harmless_environment() | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        theirs.close()
        self._connection = Connection(ours.detach())
        with suppress(OSError):  # a process that died at once is found out at the first request
            self._connection.send(setup)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def ask(self, request: object, seconds: float) -> Any:
        """Its answer. ``seconds`` hold outside of stages, within them their own deadlines.

        Raises :class:`ProcessDied` or :class:`DeadlineMissed`; the process is gone then.
        """
        with suppress(OSError):
            self._connection.send(request)
        stage: Stage | None = None
        deadline = time.monotonic() + seconds
        while True:
            if not self._connection.poll(max(deadline - time.monotonic(), 0.0)):
                self.kill()
                raise DeadlineMissed(stage, f"no answer in time while at '{stage or 'work'}'")
            message = self._receive(stage)
            if isinstance(message, Answer):
                return message.value
            stage = message.stage if isinstance(message, StageBegan) else None
            deadline = time.monotonic() + (message.seconds if isinstance(message, StageBegan) else seconds)

    def _receive(self, stage: Stage | None) -> Answer | StageBegan | StageEnded:
        try:
            message: Answer | StageBegan | StageEnded = self._connection.recv()
            return message
        except (EOFError, OSError, pickle.UnpicklingError):
            self.kill()
            code = self._process.returncode
            raise ProcessDied(stage, self._last_words(code), code) from None

    def _last_words(self, code: int) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").splitlines()
        fatal = [line.strip() for line in lines if "error:" in line.lower() or "assertion" in line.lower()]
        ended = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return f"{ended}: {fatal[0][:500]}" if fatal else ended

    def end(self) -> None:
        """Kill it, from any thread: one that waits for its answer gets :class:`ProcessDied`."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """Kill it and close the connection; for the thread that asks it."""
        self.end()
        self._process.wait()
        self._connection.close()

    def close(self) -> None:
        """End it, and forget what it wrote."""
        self.kill()
        self._errors.close()


class Line:
    """The process's end of the connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def receive(self) -> Any:
        """The next request. Raises EOFError when the supervisor is gone."""
        return self._connection.recv()

    def answer(self, value: object) -> None:
        """Answer the request."""
        self._connection.send(Answer(value))

    @contextmanager
    def stage(self, stage: Stage, seconds: float) -> Iterator[None]:
        """Tell the supervisor what happens, and how long it may take (a ``Watch``)."""
        self._connection.send(StageBegan(stage, seconds))
        yield
        self._connection.send(StageEnded())


def open_line(arguments: list[str]) -> Line:
    """The connection that the supervisor gave this process; the process will not outlive it."""
    _die_with_parent()
    return Line(Connection(int(arguments[1])))


def _die_with_parent() -> None:
    """A process that hangs in a kernel or in LLVM must not be left over when its supervisor is killed."""
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
