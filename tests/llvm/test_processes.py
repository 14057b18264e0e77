"""Calls of LLVM in processes of their own: what they give, and that none stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.llvm.processes import OwnProcesses, answer_of
from tests.python_path import python_path

ROOT = Path(__file__).parents[2]


def refuse(text: bytes) -> bytes:
    raise R3Error(text.decode())


def abort() -> bytes:
    os.abort()


def sleep_in(file: str) -> bytes:
    Path(file).write_text(str(os.getpid()))
    time.sleep(600)
    return b""


def gone(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def test_answers_and_sentences() -> None:
    with OwnProcesses(2) as processes:
        jobs = [processes.submit(bytes, [number]) for number in range(3)]
        assert [answer_of(job, "it", 60) for job in jobs] == [b"\0", b"\1", b"\2"]
    with OwnProcesses(1) as processes, pytest.raises(R3Error, match="no such kernel"):
        answer_of(processes.submit(refuse, b"no such kernel"), "it", 60)
    with OwnProcesses(1) as processes, pytest.raises(R3Error, match="LLVM aborted on it"):
        answer_of(processes.submit(abort), "it", 60)


def test_what_takes_too_long_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with pytest.raises(R3Error, match=r"did not end within 0.1 s"), OwnProcesses(1) as processes:
        job = processes.submit(sleep_in, str(file))
        while not file.exists() or not file.read_text():
            time.sleep(0.02)
        answer_of(job, "it", 0.1)
    assert gone(int(file.read_text()))


def test_an_interrupt_is_quiet_and_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    text = (
        "from r3cc.llvm.processes import OwnProcesses\n"
        "from tests.llvm.test_processes import sleep_in\n"
        f"with OwnProcesses(1) as processes: processes.submit(sleep_in, {str(file)!r}).result()"
    )
    environment = os.environ | {"PYTHONPATH": python_path()}
    with subprocess.Popen(
        [sys.executable, "-c", text], env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while not file.exists() or not file.read_text():
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, errors = process.communicate(timeout=60)
    assert errors.count("Traceback") == 1, errors  # of the program itself, which has no command line around it
    assert gone(int(file.read_text()))
