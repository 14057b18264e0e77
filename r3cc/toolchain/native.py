"""Where R3's own libraries and programs are."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import r3cc
from r3cc.errors import R3Error

PREFIX_VARIABLE = "R3_PREFIX"


def native_library(name: str) -> Path:
    """Path of ``<prefix>/lib/r3cc/<name>``, such as ``libR3Passes.so`` or ``cpu/cuda13/libcudart.so.13``.

    Raises R3Error when no prefix has it.
    """
    return _find(Path("lib/r3cc") / name)


def native_program(name: str) -> Path:
    """Path of ``<prefix>/bin/<name>``, such as ``r3-clang++``. Raises R3Error when no prefix has it."""
    return _find(Path("bin") / name)


def prefixes() -> Iterator[Path]:
    """R3_PREFIX alone where it is set, so that parts of two builds never mix; else, in order: this Python's prefix,
    beside the package, a build in the source tree.
    """
    if os.environ.get(PREFIX_VARIABLE):
        yield Path(os.environ[PREFIX_VARIABLE])
        return
    yield Path(sys.prefix)
    package = Path(r3cc.__file__).resolve().parent
    yield package.parent
    yield package.parent / "build"
    if package.parent.name in ("site-packages", "dist-packages"):
        yield package.parents[3]


def _find(name: Path) -> Path:
    found = next((prefix / name for prefix in prefixes() if (prefix / name).is_file()), None)
    if found is None:
        raise R3Error(
            f"R3's own {name} was not found; install R3 with `pip install .` or set {PREFIX_VARIABLE} to its build"
        )
    return found
