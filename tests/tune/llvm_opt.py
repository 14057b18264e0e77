"""LLVM's own opt as the source of pipelines and passes, and a small kernel to run it on."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

KERNEL = Path(__file__).parent / "inputs" / "kernel.ll"


def find_opt() -> str:
    opt = shutil.which("opt-22") or shutil.which("/usr/lib/llvm-22/bin/opt")
    if opt is None:
        pytest.skip("needs opt of LLVM 22")
    return opt


def run_opt(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([find_opt(), *arguments], capture_output=True, text=True, timeout=60)


def run_pipeline(pipeline: str, *options: str) -> subprocess.CompletedProcess[str]:
    return run_opt("-mcpu=sm_90", f"-passes={pipeline}", *options, str(KERNEL), "-S", "-o", "-")


def list_passes() -> dict[str, Any]:
    """What r3_list_passes reports, from opt's own list; a loop pass that needs MemorySSA stands under loop-mssa."""
    titles = {"Module": "module", "CGSCC": "cgscc", "Function": "function", "LoopNest": "loop", "Loop": "loop"}
    listing: dict[str, Any] = {level: [] for level in ("module", "cgscc", "function", "loop", "loop-mssa")}
    listing["parameters"] = {}
    level = None
    for line in run_opt("--print-passes").stdout.splitlines():
        if not line.startswith(" "):
            title = re.fullmatch(r"(\w+) passes( with params)?:", line)
            level = titles.get(title[1]) if title else None
            continue
        name, _, parameters = line.strip().partition("<")
        if level is None or "><" in parameters:
            continue
        if not name.startswith("print") and parameters:
            listing["parameters"][name] = parameters.removesuffix(">")
        listing["loop-mssa" if name in ("licm", "lnicm") else level].append(name)
    return listing


def o3_text() -> str:
    done = run_opt("-mcpu=sm_90", "-passes=default<O3>", "-print-pipeline-passes", "-disable-output", str(KERNEL))
    return done.stdout.strip().removesuffix(",verify")
