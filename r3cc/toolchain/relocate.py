"""A recorded compile command on another machine, or after the tree was moved."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from r3cc.toolchain.cuda import find_cuda

_CUDA_PATH = "--cuda-path="


def relocated(info: Mapping[str, Any], here: Path) -> Mapping[str, Any]:
    """A module's JSON with the folders of this machine, where its source lies at another place than recorded.

    The tree's new root is ``here`` or a folder above it: the first below which the end of the source's recorded path
    leads to a file with the recorded digest. What stays unknown is left as it is.
    """
    if "source" not in info:
        return info
    recorded = Path(os.path.normpath(Path(info["directory"]) / info["source"]))
    roots = None if recorded.is_file() else _roots(recorded, str(info.get("source_sha256", "")), here)
    moved = dict(info) if roots is None else _moved(info, *roots)
    return moved | {"command": [_with_cuda(each) for each in moved["command"]]}


def _roots(recorded: Path, digest: str, here: Path) -> tuple[Path, Path] | None:
    """The old root and the new one; the longest common end of a path is the surest."""
    for cut in range(1, len(recorded.parts) - 1):
        end = Path(*recorded.parts[cut + 1 :])
        for root in (here, *here.parents):
            found = root / end
            if found.is_file() and hashlib.sha256(found.read_bytes()).hexdigest() == digest:
                return Path(*recorded.parts[: cut + 1]), root
    return None


def _moved(info: Mapping[str, Any], old: Path, new: Path) -> dict[str, Any]:
    beginning = re.compile(re.escape(str(old)) + r"(?=/|$)")

    def move(text: str) -> str:
        return beginning.sub(lambda _: str(new), text)

    directory = move(info["directory"])
    source = move(info["source"])
    if not Path(directory).is_dir() and Path(source).is_absolute():
        directory = str(new)  # a build folder that was not taken along: nothing but relative paths would need it
    return {**info, "directory": directory, "source": source, "command": [move(each) for each in info["command"]]}


def _with_cuda(argument: str) -> str:
    """The CUDA tree of this machine where the recorded one is missing."""
    if not argument.startswith(_CUDA_PATH) or Path(argument.removeprefix(_CUDA_PATH)).is_dir():
        return argument
    found = find_cuda()
    return argument if found is None else f"{_CUDA_PATH}{found.path}"
