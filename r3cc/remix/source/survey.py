"""What the recorded compile command says about the unchanged source: its call graph, syntax tree and headers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from r3cc.errors import R3Error
from r3cc.remix.source.callees import CallGraph, call_graph
from r3cc.remix.source.command import DeviceCommand

TIMEOUT_S = 300
_LINES = ("-disable-llvm-passes", "-debug-info-kind=line-tables-only", "-dwarf-version=4")
_PREFIX_MAPS = ("-ffile-prefix-map=", "-fdebug-prefix-map=", "-fmacro-prefix-map=")


class Survey(msgspec.Struct, frozen=True):
    """The unchanged source."""

    graph: CallGraph
    syntax_tree: Path
    """A precompiled header of the whole source, which libclang reads."""
    dependencies: tuple[Path, ...]
    """The files that it includes, absolute, as the compiler reached them."""


def survey(command: DeviceCommand, folder: Path) -> Survey:
    """Compile the source twice, into ``folder``. Raises R3Error where it no longer compiles."""
    plain = msgspec.structs.replace(
        command, options=tuple(each for each in command.options if not each.startswith(_PREFIX_MAPS))
    )
    tree, ir, dependencies = folder / "source.pch", folder / "source.ll", folder / "source.d"
    listed = ("-dependency-file", str(dependencies), "-MT", "source", "-sys-header-deps")
    lines = [
        plain.line(action=["-emit-llvm"], output=str(ir), extra=["-w", *_LINES, *listed]),
        plain.line(action=["-emit-pch"], output=str(tree), extra=["-w"]),
    ]
    with ThreadPoolExecutor(len(lines)) as pool:
        list(pool.map(lambda line: _compile(line, command), lines))
    graph = call_graph(ir.read_text(errors="surrogateescape"))
    return Survey(graph, tree, tuple(_listed(dependencies, command.directory)))


def _compile(line: Sequence[str], command: DeviceCommand) -> None:
    done = subprocess.run(
        line, cwd=command.directory, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        said = next((each for each in done.stderr.splitlines() if "error:" in each), "the compiler failed")
        raise R3Error(f"{command.source} no longer compiles by its recorded command: {said}")


def _listed(file: Path, directory: Path) -> list[Path]:
    """The paths of a dependency file for make."""
    text = file.read_text(errors="surrogateescape").replace("\\\n", " ")
    names = re.findall(r"(?:\\.|[^\s\\])+", text.split(":", 1)[1])
    return [directory / re.sub(r"\\(.)", r"\1", name).replace("$$", "$") for name in names]
