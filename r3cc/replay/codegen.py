"""Code-generation options of a candidate, checked and applied to the recorded build's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

Options = tuple[tuple[str, str], ...]
"""Sorted (key, value) pairs of a candidate."""

LLVM_PREFIX = "mllvm:"
_GPU_ONLY = "knobs of a GPU's code generation"

_VALUES: dict[str, str] = {
    "opt-level": r"[0-3]",
    "fp-contract": r"off|on|fast|never",
    "maxntid": r"[1-9]\d*(,[1-9]\d*){0,2}",
    "minctasm": r"[1-9]\d*",
    "maxnreg": r"[1-9]\d*",
    "ptxas-opt": r"[0-4]",
    "maxrregcount": r"[1-9]\d*",
}
_ATTRIBUTES = ("maxntid", "minctasm", "maxnreg")
_ASSEMBLER = ("ptxas-opt", "maxrregcount")


def bad_codegen(options: Options, device_kind: str) -> str | None:
    """What is wrong with options for a kind of device (``cuda``, ``cpu``), in a sentence; None if nothing is."""
    for key, value in options:
        if key.startswith(LLVM_PREFIX) and re.fullmatch(r"[\w.-]+", key[len(LLVM_PREFIX) :]):
            continue
        if key not in _VALUES:
            known = ", ".join(_VALUES)
            return f"'{key}' is not a code-generation option; there are {known} and {LLVM_PREFIX}<option of LLVM>"
        if not re.fullmatch(_VALUES[key], value):
            return f"'{value}' is not a value of {key}; it takes {_VALUES[key]}"
        if device_kind == "cpu" and key in _ATTRIBUTES + _ASSEMBLER:
            return f"{key} does nothing on the cpu device: {key} is one of the {_GPU_ONLY}"
    return None


class BuildOptions(msgspec.Struct, frozen=True):
    """How code is made of IR: what r3_compile and the assembler are asked for."""

    pipeline: str
    codegen_level: int
    fp_contract: str
    vectorize_loops: bool
    vectorize_slp: bool
    unroll_loops: bool
    mllvm: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]
    """Launch bounds put on the kernel."""
    assembler_level: int
    assembler: tuple[str, ...]
    """Further flags of the assembler."""

    @classmethod
    def recorded(cls, info: Mapping[str, Any]) -> BuildOptions:
        """The recorded build's own, from the JSON that its binary carries (docs/binary-format.md)."""
        codegen = info["codegen"]
        return cls(
            pipeline=codegen["pipeline"],
            codegen_level=codegen["codegen_level"],
            fp_contract=codegen["fp_contract"],
            vectorize_loops=codegen["vectorize_loops"],
            vectorize_slp=codegen["vectorize_slp"],
            unroll_loops=codegen["unroll_loops"],
            mllvm=tuple(codegen["mllvm"]),
            attributes=(),
            assembler_level=codegen["opt_level"],
            assembler=tuple(codegen["ptxas"]),
        )

    def changed(self, pipeline: str | None, options: Options) -> BuildOptions:
        """These with a candidate's pipeline and options put over them."""
        given = dict(options)
        flags = tuple(f"-{key[len(LLVM_PREFIX) :]}={value}" for key, value in options if key.startswith(LLVM_PREFIX))
        registers = (f"--maxrregcount={given['maxrregcount']}",) if "maxrregcount" in given else ()
        return msgspec.structs.replace(
            self,
            pipeline=pipeline or self.pipeline,
            codegen_level=int(given.get("opt-level", self.codegen_level)),
            fp_contract=given.get("fp-contract", self.fp_contract),
            mllvm=self.mllvm + flags,
            attributes=tuple((key, given[key]) for key in _ATTRIBUTES if key in given),
            assembler_level=int(given.get("ptxas-opt", self.assembler_level)),
            assembler=self.assembler + registers,
        )

    def request(self, emit: str) -> dict[str, Any]:
        """The JSON object that r3_compile takes, for the module's own processor."""
        return {
            "pipeline": self.pipeline,
            "codegen_level": self.codegen_level,
            "fp_contract": self.fp_contract,
            "vectorize_loops": self.vectorize_loops,
            "vectorize_slp": self.vectorize_slp,
            "unroll_loops": self.unroll_loops,
            "mllvm": list(self.mllvm),
            "kernel_attributes": dict(self.attributes),
            "emit": emit,
        }
