"""The ``SourceBuilder`` of a kernel in a capture store."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from r3cc.errors import R3Error
from r3cc.farm.process import Failed, ProcessLost, SupervisedProcess
from r3cc.remix.model import Parameter, Rejection, SourceKernel, Stage, Texts, Variant
from r3cc.remix.source import ir_worker
from r3cc.remix.source.command import DeviceCommand, device_command
from r3cc.remix.source.compiling import Compiled, SourceCompiler
from r3cc.remix.source.handoff import CapturedModule
from r3cc.remix.source.ir_checks import check_ir, check_kernel, check_resources
from r3cc.remix.source.ir_worker import Inspect, IrFacts
from r3cc.remix.source.libclang import LibClang
from r3cc.remix.source.locate import locate
from r3cc.remix.source.messages import Placed, failure
from r3cc.remix.source.parameters import ParameterError, expand, parameters_of
from r3cc.remix.source.rules import check_text
from r3cc.remix.source.survey import survey
from r3cc.remix.source.tokens import source_hash
from r3cc.replay.compile import write_whole
from r3cc.store import Store
from r3cc.store.model import Kernel
from r3cc.store.variants import variant_paths

_INSPECT_S = 60.0


class StoreSourceBuilder:
    """Builds variants of one kernel into a store; safe to use from several threads. Close it.

    Opening compiles the unchanged source, and makes sure that it still is the kernel that was recorded.
    """

    def __init__(self, store: Path, kernel: Kernel, info: Mapping[str, Any], bitcode: bytes) -> None:
        """Use ``open``."""
        self._store = store
        self._kernel = kernel
        self._info = info
        command = device_command(info)
        _check_source(command, info)
        with tempfile.TemporaryDirectory(prefix="r3-source-") as folder:
            surveyed = survey(command, Path(folder))
            regions = locate(
                kernel.name,
                surveyed.graph,
                command.directory,
                command.folders(system=True),
                lambda wanted: LibClang().definitions(surveyed.syntax_tree, wanted),
            )
        self.source = SourceKernel(kernel.id, kernel.name, regions)
        self._files = {each.path: (command.directory / each.path).read_bytes() for each in regions}
        self._real = {path: Path(os.path.realpath(command.directory / path)) for path in self._files}
        self._inspector = _Inspector()
        self._compiler = SourceCompiler(info, command, surveyed.dependencies)
        self._original = self._inspector.inspect(bitcode, kernel.name)
        self._preamble = self._find_identity()

    @classmethod
    def open(cls, store: Store, kernel: Kernel) -> Self:
        """Builder for a kernel of a store. Raises R3Error where its source is not here or is another one by now."""
        return cls(store.path, kernel, store.module(kernel.module).info, store.bitcode(kernel.module))

    def parameters(self, texts: Texts) -> tuple[Parameter, ...]:
        """The parameters that a rewrite leaves open; none where R3_PARAM is used wrongly, which ``build`` rejects."""
        try:
            return parameters_of(texts)
        except ParameterError:
            return ()

    def build(self, texts: Texts, values: Mapping[str, str] = {}) -> Variant | Rejection:
        """Check, compile in a sandbox and check the IR; ``values`` for the rewrite's parameters, else the defaults."""
        known = {region.name: region.text for region in self.source.regions}
        for name, text in texts.items():
            if name not in known:
                return Rejection(Stage.REGIONS, "unknown_region", f"There is no region '{name[:80]}' to rewrite.")
            if wrong := check_text(name, text, known[name]):
                return wrong
        try:
            chosen = _chosen(parameters_of(texts), values)
        except ParameterError as error:
            return error.rejection
        full = {name: expand(texts.get(name, text), chosen) for name, text in known.items()}
        for name in texts:  # a value must not smuggle in what the text may not hold
            if wrong := check_text(name, full[name], known[name]):
                return wrong
        files, placed = self._rewritten(full)
        compiled = self._compiler.compile(files, preamble=self._preamble)
        if compiled.module is None:
            return failure(compiled.run, placed)
        return self._checked(compiled.module, source_hash(full), chosen)

    def _checked(self, module: CapturedModule, source: str, chosen: Mapping[str, str]) -> Variant | Rejection:
        name = self._kernel.name
        if wrong := check_kernel(name, self._info, module.info):
            return wrong
        try:
            facts = self._inspector.inspect(module.bitcode, name)
        except R3Error as error:
            return Rejection(Stage.COMPILE, "compiler_died", f"LLVM cannot read the kernel's IR: {error}")
        wrong = check_ir(self._original, facts) or check_resources(self._kernel, self._original, facts)
        return wrong or self._kept(module, Variant("", source, facts.digest, dict(chosen)))

    def _kept(self, module: CapturedModule, variant: Variant) -> Variant:
        identity = hashlib.sha256(module.bitcode).hexdigest()
        bitcode, info = variant_paths(self._store, identity[:16])
        if not info.is_file():
            write_whole(bitcode, module.bitcode)
            write_whole(info, msgspec.json.encode(module.info))
        return msgspec.structs.replace(variant, id=identity[:16])

    def _rewritten(self, texts: Mapping[str, str]) -> tuple[dict[Path, bytes], list[Placed]]:
        """New contents of the files that change, by real path, and where the regions lie in them."""
        files, placed = {}, []
        for path, content in self._files.items():
            parts, at, lines = [], 0, 1
            for region in sorted((each for each in self.source.regions if each.path == path), key=lambda r: r.begin):
                before, new = content[at : region.begin], texts[region.name].encode(errors="surrogateescape")
                lines += before.count(b"\n")
                placed.append(Placed(region.name, self._real[path], lines, texts[region.name].splitlines()))
                lines += new.count(b"\n")
                parts += [before, new]
                at = region.end
            rewritten = b"".join([*parts, content[at:]])
            if rewritten != content:
                files[self._real[path]] = rewritten
        return files, placed

    def _find_identity(self) -> bool:
        """Whether a precompiled preamble leaves the IR as it was recorded. Raises R3Error if nothing gives that."""
        for preamble in (True, False):
            compiled = self._compiler.compile({}, preamble=preamble)
            if compiled.module is not None and self._is_original(compiled):
                return preamble
        said = failure(compiled.run, ()).message if compiled.module is None else "its IR differs"
        raise R3Error(
            f"{self._info['source']} does not give the recorded kernel any more ({said}); build and record again"
        )

    def _is_original(self, compiled: Compiled) -> bool:
        module = compiled.module
        assert module is not None
        if hashlib.sha256(module.bitcode).hexdigest() == self._info["module"]:
            return True
        if check_kernel(self._kernel.name, self._info, module.info):
            return False
        return self._inspector.inspect(module.bitcode, self._kernel.name).digest == self._original.digest

    def close(self) -> None:
        """End its processes, remove its temporary files."""
        self._inspector.close()
        self._compiler.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Inspector:
    """Asks a process with LLVM in it, and replaces it when it dies."""

    def __init__(self) -> None:
        self._process: SupervisedProcess | None = None
        self._lock = threading.Lock()

    def inspect(self, bitcode: bytes, kernel: str) -> IrFacts:
        """Facts of a kernel's closure. Raises R3Error."""
        with self._lock:
            if self._process is None:
                self._process = SupervisedProcess(ir_worker.MODULE, None)
            try:
                answer: IrFacts | Failed = self._process.ask(Inspect(bitcode, kernel), _INSPECT_S)
            except ProcessLost as error:
                self._process = None
                raise R3Error(f"the process was {error}") from None
        if isinstance(answer, Failed):
            raise R3Error(answer.message)
        return answer

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._process is not None:
                self._process.close()
                self._process = None


def _check_source(command: DeviceCommand, info: Mapping[str, Any]) -> None:
    digest = hashlib.sha256(command.source_path.read_bytes()).hexdigest()
    if info["source_sha256"] and digest != info["source_sha256"]:
        raise R3Error(f"{command.source} was changed since it was recorded: build and record again")


def _chosen(parameters: Sequence[Parameter], values: Mapping[str, str]) -> dict[str, str]:
    """A value for each parameter. Raises ParameterError for one that is not offered."""
    chosen = {}
    for each in parameters:
        value = values.get(each.name, each.values[0])
        if value not in each.values:
            raise ParameterError(f"R3_PARAM({each.name}, …) does not offer the value {value[:40]}.")
        chosen[each.name] = value
    return chosen
