"""The tutorial, typed: every command block of the page runs, in order, in a folder that looks like a clone.

Tests may not take minutes: the search, the mesh and the number of runs are smaller, nothing else differs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_program

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/tutorial.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
END = "---- end of block ----"


def tool(name: str) -> Path | None:
    try:
        return native_program(name)
    except R3Error:
        return None


COMPILER, CUDA = tool("r3-clang++"), find_cuda()
needs_all = pytest.mark.skipif(
    COMPILER is None or CUDA is None or shutil.which("cmake") is None or shutil.which("ninja") is None,
    reason="needs r3-clang++, a CUDA tree, CMake and Ninja",
)


def blocks() -> list[str]:
    return BLOCK.findall(PAGE.read_text())


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What the page needs of the repository, and a program `r3`."""
    for name in ("examples", "cmake"):
        (tmp_path / name).symlink_to(ROOT / name)
    shim = tmp_path / "bin/r3"
    shim.parent.mkdir()
    shim.write_text(f"#!/bin/sh\nPYTHONPATH={ROOT} exec python3 -c 'from r3cc.cli import main; main()' \"$@\"\n")
    shim.chmod(0o755)
    return tmp_path


def shortened(block: str) -> str:
    """The block with a smaller search, mesh and number of runs."""
    return (
        block.replace("--budget 40 --time 30s", "--budget 1 --time 10s")
        .replace(" 64 8", " 16 2")
        .replace("--runs 6", "--runs 2")
    )


@needs_all
@pytest.mark.timeout(600)  # a minute or two; a busy machine takes longer
def test_every_command_of_the_page_works(clone: Path) -> None:
    assert COMPILER is not None
    assert CUDA is not None
    script = "\n".join(f"{shortened(block)}\necho '{END}'" for block in blocks())
    path = os.pathsep.join([str(clone / "bin"), str(COMPILER.parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "CUDAToolkit_ROOT": str(CUDA.path)}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=clone,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    finished = done.stdout.count(END)
    assert done.returncode == 0, f"block {finished + 1}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    outputs = done.stdout.split(END)
    assert "update_zones" in outputs[0]
    assert "tuned: pipeline, block 128,1,1" in next(each for each in outputs if "tuned by" in each or "tuned:" in each)
    assert "application:" in done.stdout
    assert (clone / "build/tutorial/report.html").stat().st_size > 5000


def test_the_page_has_no_command_outside_of_its_blocks() -> None:
    """Nothing that a reader would type is left unrun."""
    text = BLOCK.sub("", PAGE.read_text())
    assert "```" not in text
    assert len(blocks()) >= 9
