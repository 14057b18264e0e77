"""Runs a program to its end and stands in for it: passes signals on, takes over its exit status."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from r3cc.errors import R3Error

FORWARDED = {
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGCONT,
}
RESET = {signal.SIGPIPE, signal.SIGXFSZ}
"""Signals that Python ignores; the program shall not inherit that."""

FROM_USER = 0
"""si_code is at most this when a process sent the signal; a terminal's reaches the program by itself."""

POLL_S = 1.0


def run_program(program: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run ``arguments`` (the program's name first) and wait.

    Returns its exit status, 128 + signal if one ended it. Raises R3Error when it cannot be started.
    """
    watched = FORWARDED | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        return _wait(_start(program, arguments, environment, before), watched)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(
    program: Path, arguments: Sequence[str], environment: Mapping[str, str], mask: set[signal.Signals | int]
) -> int:
    try:
        return os.posix_spawn(program, list(arguments), environment, setsigmask=mask, setsigdef=RESET)
    except OSError as error:
        raise R3Error(f"cannot run {program}: {error.strerror}") from None


def _wait(process: int, watched: set[signal.Signals]) -> int:
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        received = signal.sigtimedwait(watched, POLL_S)
        if received is not None and received.si_signo != signal.SIGCHLD and received.si_code <= FROM_USER:
            os.kill(process, received.si_signo)
