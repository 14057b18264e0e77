"""Code-generation options of a candidate, checked and applied to the recorded build's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from r3cc.llvm import CompileRequest, KernelAttributes, recorded_ptxas_flags

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
    "waves-per-eu": r"[1-9]\d*(,[1-9]\d*)?",
    "flat-work-group-size": r"[1-9]\d*,[1-9]\d*",
    "num-vgpr": r"[1-9]\d*",
    "ptxas-opt": r"[0-4]",
    "maxrregcount": r"[1-9]\d*",
    "ptxas:register-usage-level": r"\d|10",
    "ptxas:def-load-cache": r"ca|cg|cs",
    "ptxas:def-store-cache": r"wb|cg|cs",
    "ptxas:fmad": r"true|false",
}
_NVIDIA_ATTRIBUTES = ("maxntid", "minctasm", "maxnreg")
_AMD_ATTRIBUTES = ("waves-per-eu", "flat-work-group-size", "num-vgpr")
_ATTRIBUTES = _NVIDIA_ATTRIBUTES + _AMD_ATTRIBUTES
_PTXAS_PREFIX = "ptxas:"
_ASSEMBLER = ("ptxas-opt", "maxrregcount", *(key for key in _VALUES if key.startswith(_PTXAS_PREFIX)))


def bad_codegen(options: Options, device_kind: str) -> str | None:
    """What is wrong with options for a kind of device (``cuda``, ``hip``, ``cpu``), in a sentence; or None."""
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
        if device_kind == "hip" and key in _NVIDIA_ATTRIBUTES + _ASSEMBLER:
            return f"{key} does nothing on AMD's GPUs; they have {', '.join(_AMD_ATTRIBUTES)}"
        if device_kind == "cuda" and key in _AMD_ATTRIBUTES:
            return f"{key} does nothing on NVIDIA's GPUs; they have {', '.join(_NVIDIA_ATTRIBUTES)}"
    return None


class BuildOptions(msgspec.Struct, frozen=True):
    """How code is made of IR: what the replay compiler and ptxas are asked for."""

    request: CompileRequest
    ptxas: tuple[str, ...]

    @classmethod
    def recorded(cls, info: Mapping[str, Any]) -> BuildOptions:
        """The recorded build's own, from the JSON that its binary carries (docs/binary-format.md)."""
        if "codegen" not in info:  # code without IR (r3cc.replay.foreign); a cubin needs no ptxas
            return cls(CompileRequest(pipeline="default<O3>"), ("-O3",) if info.get("format") == "ptx" else ())
        codegen = info["codegen"]
        return cls(CompileRequest.from_recorded(codegen), recorded_ptxas_flags(codegen))

    def changed(self, pipeline: str | None, options: Options) -> BuildOptions:
        """These with a candidate's pipeline and options put over them."""
        given = dict(options)
        flags = tuple(f"-{key[len(LLVM_PREFIX) :]}={value}" for key, value in options if key.startswith(LLVM_PREFIX))
        request = msgspec.structs.replace(
            self.request,
            pipeline=self.request.pipeline if pipeline is None else pipeline,
            codegen_level=int(given.get("opt-level", self.request.codegen_level)),
            fp_contract=given.get("fp-contract", self.request.fp_contract),
            mllvm=self.request.mllvm + flags,
            kernel_attributes=KernelAttributes(
                **{key.replace("-", "_"): given[key] for key in _ATTRIBUTES if key in given}
            ),
        )
        return BuildOptions(request, _ptxas_flags(self.ptxas, given))


def _joined(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Flags and values that stand in two arguments, in one: what is replaced goes as a whole."""
    joined: list[str] = []
    for flag in flags:
        if joined and not flag.startswith("-") and "=" not in joined[-1]:
            joined[-1] += f"={flag}"
        else:
            joined.append(flag)
    return tuple(joined)


def _ptxas_flags(recorded: tuple[str, ...], given: Mapping[str, str]) -> tuple[str, ...]:
    """The recorded flags, those that the candidate gives replaced."""
    flags = _joined(recorded)
    if "ptxas-opt" in given:
        flags = (*(flag for flag in flags if not re.match(r"-O\d|--?opt-level", flag)), f"-O{given['ptxas-opt']}")
    if "maxrregcount" in given:
        kept = (flag for flag in flags if not re.match(r"--?maxrregcount", flag))
        flags = (*kept, f"--maxrregcount={given['maxrregcount']}")
    named = {f"--{key[len(_PTXAS_PREFIX) :]}": value for key, value in given.items() if key.startswith(_PTXAS_PREFIX)}
    kept = (flag for flag in flags if flag.split("=")[0] not in named)
    return (*kept, *(f"{flag}={value}" for flag, value in named.items()))
