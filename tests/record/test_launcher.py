"""The launcher stands in for the program: status, signals, environment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.record.launcher import run_program

SHELL = Path("/bin/sh")


def run_shell(script: str, **environment: str) -> int:
    return run_program(SHELL, ["sh", "-c", script], {"PATH": os.environ["PATH"]} | environment)


@pytest.mark.parametrize("status", [0, 1, 77, 255])
def test_the_exit_status_is_the_programs(status: int) -> None:
    assert run_shell(f"exit {status}") == status


@pytest.mark.parametrize("name", ["TERM", "KILL", "SEGV"])
def test_a_signal_that_ends_the_program_is_128_and_its_number(name: str) -> None:
    assert run_shell(f"kill -{name} $$") == 128 + signal.Signals[f"SIG{name}"]


def test_the_environment_is_the_one_given(tmp_path: Path) -> None:
    assert run_shell(f'echo "$GREETING" >{tmp_path}/out', GREETING="hello") == 0
    assert (tmp_path / "out").read_text() == "hello\n"


def test_the_program_starts_with_plain_signals(tmp_path: Path) -> None:
    assert run_shell(f"grep -E 'Sig(Blk|Ign)' /proc/self/status >{tmp_path}/out") == 0
    ignored = {line.split(":")[0]: int(line.split()[1], 16) for line in (tmp_path / "out").read_text().splitlines()}
    assert ignored["SigBlk"] == 0
    assert not ignored["SigIgn"] & 1 << signal.SIGPIPE - 1


def test_a_program_that_cannot_start_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "app").write_text("no program")
    (tmp_path / "app").chmod(0o755)
    with pytest.raises(R3Error, match="cannot run"):
        run_program(tmp_path / "app", ["app"], {})


@pytest.mark.parametrize("name", ["SIGTERM", "SIGUSR1", "SIGINT"])
def test_signals_are_passed_on(tmp_path: Path, name: str) -> None:
    short = name.removeprefix("SIG")
    script = f"trap 'exit 42' {short}; touch {tmp_path}/ready; while :; do sleep 0.05; done"
    code = (
        "from pathlib import Path; from r3cc.record.launcher import run_program; "
        f"raise SystemExit(run_program(Path('/bin/sh'), ['sh', '-c', {script!r}], {{'PATH': '/usr/bin:/bin'}}))"
    )
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as launcher:
        while not (tmp_path / "ready").exists():
            assert launcher.poll() is None
            time.sleep(0.02)
        launcher.send_signal(signal.Signals[name])
        assert launcher.wait(timeout=60) == 42
