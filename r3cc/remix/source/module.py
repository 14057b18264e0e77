"""A recorded module's source, opened once for all of its kernels."""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from r3cc.errors import R3Error
from r3cc.remix.model import Region
from r3cc.remix.source.command import DeviceCommand, device_command
from r3cc.remix.source.compiling import Compiled, SourceCompiler
from r3cc.remix.source.inspector import Inspector
from r3cc.remix.source.ir_checks import check_kernel
from r3cc.remix.source.libclang import LibClang
from r3cc.remix.source.locate import SourceIndex, in_folders
from r3cc.remix.source.messages import failure
from r3cc.remix.source.survey import survey
from r3cc.store import Store
from r3cc.toolchain.relocate import relocated


class ModuleSource:
    """The source of one recorded module; safe to use from several threads. Close it.

    Opening compiles the unchanged source, and makes sure that it still gives what was recorded.
    """

    def __init__(self, info: Mapping[str, Any], bitcode: bytes) -> None:
        """``info`` is the module's JSON. Raises R3Error where its source is not here or is another one by now."""
        info = relocated(info, Path.cwd())
        self.info = info
        self.bitcode = bitcode
        command = device_command(info)
        _check_source(command, info)
        self.directory = command.directory
        system = command.folders(system=True)
        with tempfile.TemporaryDirectory(prefix="r3-source-") as folder:
            surveyed = survey(command, Path(folder))
            definitions = LibClang().definitions(
                surveyed.syntax_tree, lambda path: not in_folders(str(command.directory / path), system)
            )
        self._index = SourceIndex(surveyed.graph, command.directory, definitions)
        self.inspector = Inspector()
        self._compiler = SourceCompiler(info, command, surveyed.dependencies)
        self._lock = threading.Lock()
        self._identical: dict[bool, bool] = {}
        self._proven: dict[str, bool] = {}

    @classmethod
    def open(cls, store: Store, module: str) -> Self:
        """The source of a module in a store."""
        return cls(store.module(module).info, store.bitcode(module))

    def regions(self, kernel: str) -> tuple[Region, ...]:
        """What may be rewritten for a kernel. Raises R3Error where it has no text of its own."""
        return self._index.regions(kernel)

    def compile(self, kernel: str, files: Mapping[Path, bytes]) -> Compiled:
        """Compile with these contents in place of those of files, which are named by their real paths."""
        return self._compiler.compile(files, preamble=self.uses_preamble(kernel))

    def uses_preamble(self, kernel: str) -> bool:
        """Whether a precompiled preamble leaves the kernel as it was recorded. Raises R3Error if nothing gives that."""
        with self._lock:
            if kernel not in self._proven:
                self._proven[kernel] = self._prove(kernel)
            return self._proven[kernel]

    def _prove(self, kernel: str) -> bool:
        if any(self._identical.values()):
            return self._identical.get(True, False)
        for preamble in (True, False):
            compiled = self._compiler.compile({}, preamble=preamble)
            if compiled.module is not None and self._gives(kernel, compiled, preamble):
                return preamble
        said = failure(compiled.run, ()).message if compiled.module is None else "its IR differs"
        raise R3Error(
            f"{self.info['source']} does not give the recorded kernel any more ({said}); build and record again"
        )

    def _gives(self, kernel: str, compiled: Compiled, preamble: bool) -> bool:
        module = compiled.module
        assert module is not None
        self._identical[preamble] = hashlib.sha256(module.bitcode).hexdigest() == self.info["module"]
        if self._identical[preamble]:
            return True
        if check_kernel(kernel, self.info, module.info):
            return False
        found, known = (self.inspector.inspect(each, kernel) for each in (module.bitcode, self.bitcode))
        return found.digest == known.digest

    def close(self) -> None:
        """End its process, remove its temporary files."""
        self.inspector.close()
        self._compiler.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _check_source(command: DeviceCommand, info: Mapping[str, Any]) -> None:
    digest = hashlib.sha256(command.source_path.read_bytes()).hexdigest()
    if info["source_sha256"] and digest != info["source_sha256"]:
        raise R3Error(f"{command.source} was changed since it was recorded: build and record again")
