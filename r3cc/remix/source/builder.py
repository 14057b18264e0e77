"""The ``SourceBuilder`` of a kernel in a capture store."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from r3cc.errors import R3Error
from r3cc.remix.model import Built, Parameter, Rejection, SourceKernel, Stage, Texts, Variant
from r3cc.remix.source.handoff import CapturedModule
from r3cc.remix.source.ir_checks import check_generality, check_ir, check_kernel, check_resources, entry
from r3cc.remix.source.messages import Placed, failure
from r3cc.remix.source.module import ModuleSource
from r3cc.remix.source.parameters import ParameterError, expand, parameters_of
from r3cc.remix.source.rules import check_text
from r3cc.remix.source.tokens import source_hash
from r3cc.store.model import Kernel
from r3cc.store.variants import variant_paths
from r3cc.store.whole_file import write_whole


class StoreSourceBuilder:
    """Builds variants of one kernel into a store; safe to use from several threads."""

    def __init__(self, store: Path, kernel: Kernel, module: ModuleSource) -> None:
        """Builder for a kernel of an open module, which it does not close.

        Raises R3Error where the kernel has no text of its own, or its source no longer gives what was recorded.
        """
        self._store = store
        self._kernel = kernel
        self._module = module
        regions = module.regions(kernel.name)
        self.source = SourceKernel(kernel.id, kernel.name, regions)
        self._files = {each.path: (module.directory / each.path).read_bytes() for each in regions}
        self._real = {path: Path(os.path.realpath(module.directory / path)) for path in self._files}
        module.uses_preamble(kernel.name)
        self._original = module.inspector.inspect(module.bitcode, kernel.name)

    def parameters(self, texts: Texts) -> tuple[Parameter, ...]:
        """The parameters that a rewrite leaves open; none where R3_PARAM is used wrongly, which ``build`` rejects."""
        try:
            return parameters_of(texts)
        except ParameterError:
            return ()

    def build(self, texts: Texts, values: Mapping[str, str] = {}) -> Built | Rejection:
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
        compiled = self._module.compile(self._kernel.name, files)
        if compiled.module is None:
            return failure(compiled.run, placed)
        return self._checked(compiled.module, source_hash(full), chosen)

    def rebuild(self, variant: Variant, texts: Texts) -> None:
        """Build again what a log tells of, under its name; nothing is kept where the kernel's code is another one."""
        built = self.build(texts, variant.parameters)
        if isinstance(built, Rejection) or built.variant.ir_hash != variant.ir_hash:
            return
        here, there = variant_paths(self._store, built.variant.id), variant_paths(self._store, variant.id)
        for source, copy in zip(here, there, strict=True):
            write_whole(copy, source.read_bytes())

    def _checked(self, module: CapturedModule, source: str, chosen: Mapping[str, str]) -> Built | Rejection:
        name = self._kernel.name
        if wrong := check_kernel(name, self._module.info, module.info):
            return wrong
        try:
            facts = self._module.inspector.inspect(module.bitcode, name)
        except R3Error as error:
            return Rejection(Stage.COMPILE, "compiler_died", f"LLVM cannot read the kernel's IR: {error}")
        parameters = (entry(self._module.info, name) or {})["parameters"]
        wrong = (
            check_ir(self._original, facts)
            or check_generality(self._original, facts, parameters)
            or check_resources(self._kernel, self._original, facts)
        )
        return wrong or Built(Variant(self._keep(module), source, facts.digest, dict(chosen)), facts.artefact)

    def _keep(self, module: CapturedModule) -> str:
        """Write a variant into the store; its id."""
        identity = hashlib.sha256(module.bitcode).hexdigest()
        bitcode, info = variant_paths(self._store, identity[:16])
        if not info.is_file():
            write_whole(bitcode, module.bitcode)
            write_whole(info, msgspec.json.encode(module.info))
        return identity[:16]

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


def _chosen(parameters: Sequence[Parameter], values: Mapping[str, str]) -> dict[str, str]:
    """A value for each parameter. Raises ParameterError for one that is not offered."""
    chosen = {}
    for each in parameters:
        value = values.get(each.name, each.values[0])
        if value not in each.values:
            raise ParameterError(f"R3_PARAM({each.name}, …) does not offer the value {value[:40]}.")
        chosen[each.name] = value
    return chosen
