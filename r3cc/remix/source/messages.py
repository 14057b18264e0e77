"""The compiler's messages as a proposer may read them: by region and line, without paths of this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from r3cc.remix.model import Rejection, Stage
from r3cc.remix.source.sandbox import Finished

_ERROR = re.compile(r"^(?P<path>.*?):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
_PATH = re.compile(r"(?<![\w.])(?:/[\w.+-]+){2,}")
_LONGEST = 400


class Placed(msgspec.Struct, frozen=True):
    """A region's text in a rewritten file."""

    name: str
    path: Path
    first_line: int
    """Number in the file, from 1."""
    lines: Sequence[str]


def failure(run: Finished, placed: Sequence[Placed]) -> Rejection:
    """Why a compilation that gave no module failed."""
    if run.timed_out or run.status == -24:
        return Rejection(Stage.COMPILE, "compile_time", "The compiler did not end in the time that it is given.")
    error = _ERROR.search(run.messages)
    if error:
        said = without_paths(error["text"])[:_LONGEST]
        return Rejection(
            Stage.COMPILE, "compile_error", f"The compiler says: {said}{_where(error.groupdict(), placed)}"
        )
    if run.status < 0 or "out of memory" in run.messages or "LLVM ERROR" in run.messages:
        return Rejection(Stage.COMPILE, "compiler_died", "The compiler crashed or ran out of memory on this text.")
    return Rejection(Stage.COMPILE, "compile_error", "The compiler refused this text without a message.")


def without_paths(text: str) -> str:
    """Names of files in place of their paths."""
    return _PATH.sub(lambda found: Path(found[0]).name, text)


def _where(error: Mapping[str, str], placed: Sequence[Placed]) -> str:
    number = int(error["line"])
    for region in placed:
        inside = number - region.first_line
        if Path(error["path"]).name == region.path.name and 0 <= inside < len(region.lines):
            return f" (in '{region.name}', line {inside + 1}: `{region.lines[inside].strip()[:200]}`)"
    return " (at code outside of the regions, which uses them)"
