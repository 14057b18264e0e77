"""The program that gets memory in every way, recorded; on the cpu device and on a GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from r3cc.store import Store
from r3cc.store.model import Kernel

PROGRAM = Path(__file__).parent / "programs/allocations.cu"


class Run:
    """What a recorded run printed, and its store."""

    def __init__(self, done: subprocess.CompletedProcess[str], store: Store) -> None:
        self.ways = dict(line.split(" ", 1) for line in done.stdout.splitlines())
        self.messages = done.stderr
        self.store = store

    def kernel(self, name: str) -> Kernel:
        (found,) = (kernel for kernel in self.store.kernels() if kernel.demangled.startswith(f"{name}("))
        return found


def record(program: Path, *options: str) -> Run:
    """Run the program under ``r3 record``; the store lies beside it."""
    store = program.parent / "store"
    command = [sys.executable, "-c", "from r3cc.cli import main; main()", "record", "--store", str(store), *options]
    done = subprocess.run([*command, "--", str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return Run(done, Store.open(store))
