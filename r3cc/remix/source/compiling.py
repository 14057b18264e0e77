"""From rewritten files to device IR at the capture point, by the recorded compile command and R3's own plugin.

The user's tree is never touched: clang sees the new texts through an overlay. What precedes a source's own code
(includes) is compiled once into a precompiled preamble, which leaves the IR the same, bit for bit.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from r3cc.errors import R3Error
from r3cc.remix.source.command import DeviceCommand
from r3cc.remix.source.handoff import CapturedModule, Handoff
from r3cc.remix.source.preamble import preamble_size
from r3cc.remix.source.sandbox import Finished, Sandbox
from r3cc.toolchain.native import native_library

PLUGIN = "libR3Passes.so"
_QUIET = ("-fno-caret-diagnostics", "-fno-diagnostics-show-option", "-w", "-ferror-limit", "3")
_TOOLS_SAY = re.compile(r"^(bwrap:|error: unable to load plugin|\S+: error while loading shared libraries:)")
_ENVIRONMENT = {"LANG": "C", "R3_CAPTURE_ONLY": "1"}


class Compiled(msgspec.Struct, frozen=True):
    """What a compilation gave: a module, or the compiler's messages."""

    module: CapturedModule | None
    run: Finished


class _Preamble(msgspec.Struct, frozen=True):
    """A precompiled preamble."""

    header: Path
    size: int
    """Bytes of the source that it stands for."""
    text: Path
    """Those bytes."""


class SourceCompiler:
    """Compiles one source with changed files; safe to use from several threads. Close it."""

    def __init__(self, info: Mapping[str, Any], command: DeviceCommand, dependencies: Sequence[Path]) -> None:
        """``info`` is the recorded module's JSON; ``dependencies`` are the absolute paths of all it includes."""
        self._info = info
        self._command = command
        self._plugin = native_library(PLUGIN)
        self._scratch = tempfile.TemporaryDirectory(prefix="r3-variants-")
        self._folder = Path(self._scratch.name)
        self._source = command.source_path.read_bytes()
        self._sandbox = Sandbox(
            readable=(*tool_folders(command), self._plugin.parent, self._plugin.resolve().parent, *dependencies),
            folders=tuple(each for each in (command.directory, *command.folders(system=False)) if each.is_dir()),
        )
        self._spellings: dict[Path, set[str]] = {}
        for path in (command.source_path, *dependencies):
            names = self._spellings.setdefault(Path(os.path.realpath(path)), set())
            names.add(os.path.normpath(path))
        self._lock = threading.Lock()
        self._preambles: dict[bool, _Preamble | None] = {}

    def compile(self, files: Mapping[Path, bytes], *, preamble: bool = True) -> Compiled:
        """Compile with these contents in place of those of files, which are named by their real paths."""
        with tempfile.TemporaryDirectory(dir=self._folder) as scratch:
            folder = Path(scratch)
            options = [f"-fpass-plugin={self._plugin}", *_QUIET]
            sandbox, overlay = self._sandbox, self._replaced(folder, files)
            used = self._preamble(files) if preamble else None
            if used:
                options += ["-include-pch", str(used.header), f"-preamble-bytes={used.size},1", "-fno-validate-pch"]
                sandbox = msgspec.structs.replace(sandbox, readable=(*sandbox.readable, used.header.parent))
                overlay[self._preamble_name] = used.text
            options += _overlay(folder, overlay)
            line = self._command.line(action=["-S"], output=str(folder / "out"), extra=options)
            with Handoff(self._info["directory"], self._info["command"]) as handoff:
                environment = _ENVIRONMENT | handoff.environment
                run = sandbox.run(line, self._command.directory, folder, environment, handoff.fd)
                _check_tools(run)
                return Compiled(handoff.module() if run.status == 0 else None, run)

    def _preamble(self, files: Mapping[Path, bytes]) -> _Preamble | None:
        """The precompiled preamble that suits changed files: user's headers are in it unless one of them changed."""
        own_headers = set(files) <= {Path(os.path.realpath(self._command.source_path))}
        with self._lock:
            if own_headers not in self._preambles:
                self._preambles[own_headers] = self._make_preamble(own_headers=own_headers)
            return self._preambles[own_headers]

    def _make_preamble(self, *, own_headers: bool) -> _Preamble | None:
        size = preamble_size(self._source, own_headers=own_headers)
        if size == 0:
            return None
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        made = _Preamble(folder / "preamble.pch", size, folder / "preamble")
        made.text.write_bytes(self._source[:size])
        command = msgspec.structs.replace(self._command, source=self._preamble_name)
        options = [*_QUIET, *_overlay(folder, {self._preamble_name: made.text})]
        line = command.line(action=["-emit-pch"], output=str(made.header), extra=options)
        with Handoff("", []) as handoff:
            run = self._sandbox.run(line, self._command.directory, folder, _ENVIRONMENT, handoff.fd)
        return made if run.status == 0 and made.header.is_file() else None

    @property
    def _preamble_name(self) -> str:
        """A file that is not there, beside the source, where its includes are looked for first."""
        return os.path.normpath(self._command.source_path) + ".r3-preamble"

    def _replaced(self, folder: Path, files: Mapping[Path, bytes]) -> dict[str, Path]:
        """Write contents to a folder; which of the paths that the compiler may use leads to which of them."""
        overlay: dict[str, Path] = {}
        for number, (path, content) in enumerate(sorted(files.items())):
            replacement = folder / f"file{number}"
            replacement.write_bytes(content)
            overlay |= dict.fromkeys({str(path)} | self._spellings.get(path, set()), replacement)
        return overlay

    def close(self) -> None:
        """Remove precompiled preambles and what else was made."""
        self._scratch.cleanup()


def _check_tools(run: Finished) -> None:
    """Raise R3Error where it was not the text that failed."""
    said = next((line for line in run.messages.splitlines() if _TOOLS_SAY.match(line)), None)
    if run.status != 0 and said:
        raise R3Error(f"the compiler cannot be run in its sandbox: {said[:300]}")


def _overlay(folder: Path, files: Mapping[str, Path]) -> list[str]:
    """Options with which clang reads other files in place of those."""
    roots = [{"type": "file", "name": name, "external-contents": str(path)} for name, path in sorted(files.items())]
    document = {"version": 0, "case-sensitive": "true", "use-external-names": False, "roots": roots}
    overlay = folder / "overlay.yaml"
    overlay.write_bytes(msgspec.json.encode(document))
    return ["-ivfsoverlay", str(overlay)] if files else []


def tool_folders(command: DeviceCommand) -> list[Path]:
    """Folders of the compiler, its headers and libdevice."""
    program = Path(shutil.which(command.program) or command.program).resolve()
    found = [program.parent.parent, *command.folders(system=True)]
    for option, value in zip(command.options, (*command.options[1:], ""), strict=True):
        if option in ("-mlink-builtin-bitcode", "-mlink-bitcode-file"):
            found.append(Path(value))
    if not program.is_file():
        raise R3Error(f"the compiler {command.program} is not here")
    return found
