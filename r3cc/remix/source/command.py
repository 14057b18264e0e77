"""The device compilation of a recorded module, as clang's own front end (cc1) would be started for it."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from r3cc.errors import R3Error
from r3cc.toolchain.llvm import require_clang

TIMEOUT_S = 60

_WITH_VALUE = frozenset(
    {"-o", "-dependency-file", "-MT", "-serialize-diagnostic-file", "-header-include-file", "-main-file-name", "-x"}
)
"""Options whose value is the next argument and that every compilation sets anew."""
_ALONE = ("-sys-header-deps", "-MP", "-H", "-ftime-trace", "-fcolor-diagnostics", "-fpass-plugin=")
_LOOK_IN = frozenset({"-I", "-isystem", "-iquote", "-internal-isystem", "-internal-externc-isystem", "-resource-dir"})
_SYSTEM = frozenset({"-isystem", "-internal-isystem", "-internal-externc-isystem", "-resource-dir"})


class DeviceCommand(msgspec.Struct, frozen=True):
    """One device compilation without its output, its dependencies and its input."""

    program: str
    options: tuple[str, ...]
    """Arguments of ``clang -cc1``; the action is ``-S``."""
    language: tuple[str, str]
    """``-main-file-name`` and ``-x``."""
    source: str
    """The input, as the command names it."""
    directory: Path

    def line(self, *, action: Sequence[str], output: str, extra: Sequence[str] = ()) -> list[str]:
        """The command with another action; ``extra`` options come last."""
        name, kind = self.language
        options = [part for each in self.options for part in (action if each == "-S" else [each])]
        end = ["-o", output, "-main-file-name", name, "-x", kind, self.source]
        return [self.program, "-cc1", *options, *extra, *end]

    @property
    def source_path(self) -> Path:
        """The input, from the directory."""
        return self.directory / self.source

    def folders(self, *, system: bool) -> list[Path]:
        """Folders in which headers are looked for; with ``system`` only those that are not the user's own."""
        wanted = _SYSTEM if system else _LOOK_IN
        found = []
        for option, value in zip(self.options, (*self.options[1:], ""), strict=True):
            if option in wanted:
                found.append(self.directory / value)
            elif option.startswith("-I") and len(option) > 2 and not system:
                found.append(self.directory / option[2:])
        return found


def device_command(info: Mapping[str, Any]) -> DeviceCommand:
    """The compilation that made a module, from its JSON. Raises R3Error where it cannot be repeated here."""
    directory = Path(info["directory"])
    if info["codegen"].get("relocatable"):
        raise R3Error("kernels of relocatable device code (-fgpu-rdc) cannot be rewritten: build without it")
    if not directory.is_dir():
        raise R3Error(
            f"the build's directory {directory} is not here: run r3 remix in the tree that has the recorded sources"
        )
    if not (directory / info["source"]).is_file():
        raise R3Error(f"the source {info['source']} is not in {directory} any more")
    recorded = info["command"]
    mode = ["--driver-mode=g++"] if "++" in Path(recorded[0]).name else []
    arguments = [each for each in recorded[1:] if not each.startswith("--r3-")]
    command = [str(require_clang().path), *mode, "-###", *arguments]
    done = subprocess.run(
        command, cwd=directory, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False
    )
    for line in done.stderr.splitlines():
        if '"-cc1"' in line:
            found = _parse(shlex.split(line), info, directory)
            if found:
                return found
    raise R3Error(f"the recorded compile command no longer compiles {info['source']} for {info['architecture']}")


def _parse(words: list[str], info: Mapping[str, Any], directory: Path) -> DeviceCommand | None:
    values = dict(zip(words, [*words[1:], ""], strict=True))
    source = words[-1]
    if values.get("-triple") != info["triple"] or values.get("-target-cpu") != info["architecture"]:
        return None
    if source != info["source"] and Path(source).name != Path(info["source"]).name:
        return None
    options, rest = [], iter(words[2:-1])
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith(_ALONE):
            options.append(word)
    if "-S" not in options:
        return None
    language = (values.get("-main-file-name", Path(source).name), values["-x"])
    return DeviceCommand(words[0], tuple(options), language, source, directory)
