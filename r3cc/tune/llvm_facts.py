"""What LLVM and a kernel's IR say about its search space, asked in a process of its own."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from r3cc.errors import R3Error
from r3cc.farm.process import ProcessLost, SupervisedProcess
from r3cc.llvm import KernelDescription
from r3cc.llvm.model import TablesFound
from r3cc.tune.edits import DEFAULT, BasePipeline
from r3cc.tune.llvm_worker import KernelRequest, Refused, TablesRequest, TargetAnswer, TargetRequest
from r3cc.tune.passes import Vocabulary, vocabulary

MODULE = "r3cc.tune.llvm_worker"
DEADLINE_S = 60.0


class TargetFacts(msgspec.Struct, frozen=True):
    """The base pipeline and the vocabulary of one target."""

    base: BasePipeline
    vocabulary: Vocabulary
    llvm: str
    """LLVM's version."""


class LLVMDied(R3Error):
    """LLVM ended its process, as it does at what it calls a fatal error."""


class LLVMFacts:
    """Asks LLVM; closes its process at the end of the ``with`` block. Methods raise R3Error."""

    def __init__(self) -> None:
        self._process = SupervisedProcess(MODULE, None)
        self._targets: dict[tuple[str, str], TargetFacts] = {}

    @property
    def version(self) -> str:
        """LLVM's version, once a target was asked for; else empty."""
        return next((facts.llvm for facts in self._targets.values()), "")

    def target(self, info: Mapping[str, Any], device: str) -> TargetFacts:
        """Base pipeline and passes for a module (its JSON) on a device: the GPU's, or this machine's on ``cpu``."""
        triple, cpu = (host_triple(), "native") if device == "cpu" else (info["triple"], info["architecture"])
        if (triple, cpu) not in self._targets:
            answer = self._ask(TargetRequest(triple, cpu, DEFAULT))
            assert isinstance(answer, TargetAnswer)
            passes = vocabulary(msgspec.to_builtins(answer.passes))
            self._targets[triple, cpu] = TargetFacts(BasePipeline(answer.pipeline), passes, answer.version)
        return self._targets[triple, cpu]

    def kernel(self, bitcode: Path, kernel: str) -> KernelDescription:
        """What the module's IR says about launches of a kernel, by mangled name."""
        answer = self._ask(KernelRequest(bitcode, kernel))
        assert isinstance(answer, KernelDescription)
        return answer

    def tables(self, bitcode: Path, kernel: str) -> TablesFound:
        """What the kernel's code could take for constant, beside scalars; nothing where LLVM dies of the question."""
        try:
            answer = self._ask(TablesRequest(bitcode, kernel))
        except LLVMDied:
            return TablesFound()
        assert isinstance(answer, TablesFound)
        return answer

    def _ask(self, request: object) -> object:
        try:
            answer = self._process.ask(request, DEADLINE_S)
        except ProcessLost as lost:
            self._process.close()
            self._process = SupervisedProcess(MODULE, None)
            raise LLVMDied(f"the replay compiler died while it described the search space: {lost}") from None
        if isinstance(answer, Refused):
            raise R3Error(answer.message)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.close()


def host_triple() -> str:
    """LLVM's triple of this machine."""
    return f"{platform.machine()}-unknown-linux-gnu"
