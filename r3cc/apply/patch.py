"""Source winners as one unified diff that ``git apply`` takes, with the reasons in its header.

The tree is read and never touched. Paths are those of the git repository that holds the sources, else of the folder
that holds all of them.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from r3cc.apply.helper_names import defined, renamed
from r3cc.errors import R3Error
from r3cc.replay.events import KernelPlan, RegionChange, Result
from r3cc.store.model import Module
from r3cc.store.whole_file import replace_whole
from r3cc.toolchain.relocate import relocated

NO_NEWLINE = "\\ No newline at end of file\n"


class SourceWinner(msgspec.Struct, frozen=True):
    """A kernel whose winner rewrites its source."""

    plan: KernelPlan
    module: Module
    result: Result


class Rewrite(msgspec.Struct, frozen=True):
    """One region of one file, old and new; ``kernel`` is whose winner it belongs to."""

    path: Path
    begin: int
    end: int
    before: bytes
    after: bytes
    kernel: str


class Patch(msgspec.Struct, frozen=True):
    """The diff, and which kernels' rewrites are in it."""

    text: str
    kernels: tuple[str, ...]
    """Kernel ids."""
    left_out: dict[str, str]
    """Kernel id and reason: another winner rewrites the same lines in another way."""


def source_patch(winners: Sequence[SourceWinner], heading: Sequence[str]) -> Patch:
    """The patch of all winners, those with the larger share of time first where two disagree.

    Raises R3Error where a source is gone, or is no longer what was recorded.
    """
    taken: list[Rewrite] = []
    kept: list[SourceWinner] = []
    left_out: dict[str, str] = {}
    for winner in sorted(winners, key=_share, reverse=True):
        own = _rewrites(winner)
        rival = next((other for rewrite in own for other in taken if _disagree(rewrite, other)), None)
        if rival is not None:
            left_out[winner.plan.kernel] = f"it rewrites lines of {rival.path.name} that {rival.kernel} rewrites, too"
            continue
        own = [rewrite for rewrite in own if not any(_is_same(rewrite, other) for other in taken)]
        taken += _with_own_names(own, taken)
        kept.append(winner)
    root = _root([rewrite.path for rewrite in taken])
    head = [*heading, *(line for winner in kept for line in _reasons(winner))]
    text = "".join(f"# {line}\n" for line in head) + "\n" if kept else ""
    for path in sorted({rewrite.path for rewrite in taken}):
        text += _file_diff(root, path, [rewrite for rewrite in taken if rewrite.path == path])
    return Patch(text, tuple(winner.plan.kernel for winner in kept), left_out)


def write_patch(path: Path, patch: Patch) -> None:
    """Write a patch; the file appears whole or not at all."""
    replace_whole(path, patch.text.encode("utf-8", "surrogateescape"))


def _share(winner: SourceWinner) -> float:
    return winner.plan.share


def _reasons(winner: SourceWinner) -> Iterator[str]:
    """What a reviewer wants to know of a rewrite."""
    result, gain = winner.result, winner.result.speedup
    measured = f"{gain.median:.3f}x [{gain.low:.3f}, {gain.high:.3f}], n={gain.samples}" if gain else "not measured"
    yield f"{winner.plan.demangled}: {measured}, {winner.plan.share:.1%} of the device time"
    if result.strategy:
        yield f"  why: {' '.join(result.strategy.split())}"
    for name, value in sorted(result.parameters.items()):
        yield f"  {name} = {value}"
    yield f"  outputs equal to the recorded ones at numerics '{winner.plan.numerics}'"
    others = [change for change in result.changes if change]
    if others:
        yield f"  measured together with: {', '.join(others)}"


def _rewrites(winner: SourceWinner) -> list[Rewrite]:
    directory = Path(relocated(winner.module.info, Path.cwd())["directory"])
    return [_rewrite(directory, change, winner.plan.demangled) for change in winner.result.regions]


def _rewrite(directory: Path, change: RegionChange, kernel: str) -> Rewrite:
    path = Path(os.path.normpath(directory / change.path))
    before, after = (text.encode(errors="surrogateescape") for text in (change.before, change.after))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise R3Error(f"cannot read the source {path} of {kernel}, which the patch changes: {error.strerror}") from None
    if content[change.begin : change.end] != before:
        raise R3Error(
            f"{path} has changed since {kernel} was recorded: go back to that version, or record and search again"
        )
    return Rewrite(path, change.begin, change.end, before, after, kernel)


def _with_own_names(own: Sequence[Rewrite], taken: Sequence[Rewrite]) -> list[Rewrite]:
    """A winner's rewrites, with other names for helpers that another winner has brought into the same file.

    Nothing that was validated changes: a kernel's digest does not know what its helpers are called.
    """
    theirs = {(rewrite.path, name) for rewrite in taken for name in _new_names(rewrite)}
    ours = {name for rewrite in own for name in _new_names(rewrite) if (rewrite.path, name) in theirs}
    if not ours:
        return [*own]
    kernel = re.sub(r"\W+", "_", own[0].kernel.partition("(")[0]).strip("_").encode()
    names = {name: b"_".join((name, b"of", kernel)) for name in ours}
    return [msgspec.structs.replace(rewrite, after=renamed(rewrite.after, names)) for rewrite in own]


def _new_names(rewrite: Rewrite) -> frozenset[bytes]:
    return defined(rewrite.after) - defined(rewrite.before)


def _is_same(one: Rewrite, other: Rewrite) -> bool:
    return (one.path, one.begin, one.end, one.after) == (other.path, other.begin, other.end, other.after)


def _disagree(one: Rewrite, other: Rewrite) -> bool:
    overlap = one.path == other.path and one.begin < other.end and other.begin < one.end
    return overlap and not _is_same(one, other)


def _root(paths: Sequence[Path]) -> Path:
    """The git repository of the sources, else the folder that holds them all."""
    if not paths:
        return Path()
    common = Path(os.path.commonpath([path.parent for path in paths]))
    return next((folder for folder in (common, *common.parents) if (folder / ".git").exists()), common)


def _file_diff(root: Path, path: Path, rewrites: Sequence[Rewrite]) -> str:
    old = path.read_bytes()
    new = old
    for rewrite in sorted(rewrites, key=_begin, reverse=True):
        new = new[: rewrite.begin] + rewrite.after + new[rewrite.end :]
    name = path.relative_to(root).as_posix()
    before, after = (_lines(content) for content in (old, new))
    lines = difflib.unified_diff(before, after, f"a/{name}", f"b/{name}")
    body = "".join(line if line.endswith("\n") else f"{line}\n{NO_NEWLINE}" for line in lines)
    return f"diff --git a/{name} b/{name}\n{body}" if body else ""


def _begin(rewrite: Rewrite) -> int:
    return rewrite.begin


def _lines(content: bytes) -> list[str]:
    """Lines with their ends: a newline alone ends a line, as git sees it."""
    parts = content.decode(errors="surrogateescape").split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
