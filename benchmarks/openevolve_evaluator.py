"""What OpenEvolve runs for each candidate: build the application, run it, compare what it prints.

Each of OpenEvolve's worker processes takes a build tree of its own, so that only the changed file is compiled.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from r3cc.record.cpu_device import cpu_environment
from r3cc.store import Store

RELATIVE = 1e-9
"""How far a printed number may be from the original's."""
TIME_LIMIT_S = 120
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
T = TypeVar("T")
_locks: list[int] = []
"""Of this process's tree: held until it ends."""


def evaluate(program_path: str, task: str) -> dict[str, float]:
    """OpenEvolve's metrics of a candidate; ``task`` is the file that the benchmark wrote."""
    known = json.loads(Path(task).read_text())
    folder = Path(known["folder"])
    tree = own_tree(str(folder), known["trees"])
    began = time.time()
    stages: dict[str, float] = {}
    (tree / "app.cu").write_bytes(Path(program_path).read_bytes())
    end = "compile_error"
    if timed(stages, "build", lambda: built(tree, known)):
        environment = timed(stages, "prepare", lambda: prepared(tree, known["device"]))
        printed = timed(stages, "run", lambda: ran(tree, known["arguments"], environment))
        end = "crash" if printed is None else "correct" if agrees(printed, known["expected"]) else "mismatch"
    line = {"began": began, "ended": time.time(), "end": end, "stages": stages}
    with (folder / "evaluations.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    return {"combined_score": 1.0 / stages["run"] if end == "correct" else 0.0}


@lru_cache(maxsize=1)
def own_tree(folder: str, trees: int) -> Path:
    """The first tree that no other process holds."""
    for number in range(trees):
        tree = Path(folder) / f"tree{number}"
        lock = os.open(tree / "lock", os.O_CREAT | os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        _locks.append(lock)
        return tree
    raise RuntimeError("there are more processes than trees")


def timed(stages: dict[str, float], name: str, work: Callable[[], T]) -> T:
    start = time.monotonic()
    try:
        return work()
    finally:
        stages[name] = time.monotonic() - start


def built(tree: Path, known: dict[str, Any]) -> bool:
    return all(
        subprocess.run(known[step], cwd=tree, capture_output=True, timeout=TIME_LIMIT_S).returncode == 0
        for step in ("compile", "link")
    )


def prepared(tree: Path, device: str) -> dict[str, str]:
    """On the cpu device the program's kernels are compiled for the host first."""
    if device != "cpu":
        return {}
    with Store.create(tree / "store") as store:
        return cpu_environment(tree / "app", store)


def ran(tree: Path, arguments: list[str], environment: dict[str, str]) -> str | None:
    try:
        done = subprocess.run(
            [str(tree / "app"), *arguments],
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_S,
            env=os.environ | environment,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


def agrees(printed: str, expected: str) -> bool:
    """Equal words, and numbers that differ by rounding."""
    ours, theirs = (_NUMBER.findall(text) for text in (printed, expected))
    if _NUMBER.sub("#", printed) != _NUMBER.sub("#", expected) or len(ours) != len(theirs):
        return False
    return all(
        abs(float(one) - float(other)) <= RELATIVE * max(1.0, abs(float(other)))
        for one, other in zip(ours, theirs, strict=True)
    )
