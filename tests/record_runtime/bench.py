"""Runs of programs, with and without the recorder."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from r3cc.store import Store
from r3cc.store.model import Kernel, Launch
from tests.record_runtime.build_programs import Programs
from tests.store.pack_writer import add_recording


@dataclass
class Recorded:
    """How one recorded run ended, and what it left."""

    status: int
    output: str
    messages: str
    store: Store

    def kernel(self, name: str) -> Kernel:
        """The only kernel of that name."""
        (found,) = (kernel for kernel in self.store.kernels() if kernel.name == name)
        return found

    def launches(self, name: str) -> list[Launch]:
        """The kernel's recorded launches, held-out ones included, by ordinal."""
        return sorted(self.store.launches(self.kernel(name)), key=lambda launch: launch.ordinal)

    def refusals(self, name: str) -> dict[str, int]:
        """Why launches of the kernel were not recorded, and how many."""
        return {refusal.reason: refusal.launches for refusal in self.kernel(name).not_recordable}


@dataclass
class Bench:
    """Runs programs, with and without the recorder."""

    recorder: Path
    programs: Programs
    folder: Path
    stores: list[Store] = field(default_factory=list)

    def environment(self, **variables: str) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(self.programs.libraries), **variables}

    def plain(self, *command: str | Path, **variables: str) -> str:
        """What the command prints without the recorder."""
        environment = self.environment(**variables)
        return subprocess.run(command, env=environment, check=True, text=True, stdout=subprocess.PIPE).stdout

    def start(self, store: Path, *command: str | Path, **variables: str) -> subprocess.Popen[str]:
        """Starts the command with the recorder, which writes into a new store at ``store``."""
        Store.create(store).close()
        folder = add_recording(store)
        environment = self.environment(LD_PRELOAD=str(self.recorder), R3_RECORD_DIR=str(folder), **variables)
        return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def record(self, *command: str | Path, **variables: str) -> Recorded:
        """Runs the command with the recorder to its end."""
        path = self.folder / f"store{len(self.stores)}"
        with self.start(path, *command, **variables) as process:
            output, messages = process.communicate(timeout=60)
        return Recorded(process.returncode, output, messages, self.open(path))

    def open(self, path: Path) -> Store:
        store = Store.open(path)
        self.stores.append(store)
        return store
