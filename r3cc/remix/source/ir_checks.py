"""Whether a variant's IR is still the kernel that was recorded, as seen from outside."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from r3cc.remix.model import Rejection, Stage
from r3cc.remix.source.ir_worker import IrFacts
from r3cc.store.demangle import base_name, demangle
from r3cc.store.model import Kernel

ALLOWED_EXTERNALS = frozenset({"vprintf", "__assertfail"})
"""Of the device runtime, and without a memory of their own."""
_CACHE_HINTS = re.compile(r"(?:ld|st)\.global(?:\.(?:ca|cg|cs|lu|cv|nc|wb|wt))?(?:\.v[24])?\.[usbf]\d+ .*", re.DOTALL)
"""Assembly behind CUDA's own __ldcg, __stcs and their like."""
MOST_STATIC_SHARED = 48 << 10
"""Bytes of static shared memory that every device takes."""


def check_kernel(name: str, original: Mapping[str, Any], variant: Mapping[str, Any]) -> Rejection | None:
    """Compare modules' JSON: the kernel's name and parameters, and the globals."""
    known, found = entry(original, name), entry(variant, name)
    if known is None or found is None:
        shown = base_name(demangle(name))
        message = f"There is no kernel {shown} with the recorded signature any more: keep its name, parameter types, "
        return _abi("signature_changed", message + "namespace and template parameters as they were.")
    layouts = [[(p["offset"], p["size"], p["type"]) for p in each["parameters"]] for each in (known, found)]
    if layouts[0] != layouts[1]:
        return _abi("parameters_changed", "The kernel's parameters lie otherwise in memory than the recorded ones.")
    return _check_globals(known, found, original, variant)


def _check_globals(
    known: Mapping[str, Any], found: Mapping[str, Any], original: Mapping[str, Any], variant: Mapping[str, Any]
) -> Rejection | None:
    before = {each["name"]: each for each in original["globals"]}
    after = {each["name"]: each for each in variant["globals"]}
    for name, each in after.items():
        if name not in before:
            if each["mutable"]:
                why = "A kernel must keep no state of its own between launches."
                return _abi("new_global", f"The variable {_shown(name)} is new and can be written. {why}")
        elif any(each[field] != before[name][field] for field in ("size", "space")):
            return _abi("global_changed", f"The variable {_shown(name)} has another size or memory space.")
    for name in found["globals"]:
        if name in before and name not in known["globals"] and after[name]["mutable"]:
            why = "its content was not recorded with this kernel"
            return _abi("other_global", f"The kernel now uses the variable {_shown(name)}; {why}.")
    return None


def check_ir(original: IrFacts, variant: IrFacts) -> Rejection | None:
    """Compare what the closures call and hold."""
    unknown = sorted(variant.externals - original.externals - ALLOWED_EXTERNALS)
    if unknown:
        why = "only functions of the source and CUDA's device functions can be called"
        return _abi("unknown_external", f"{_shown(unknown[0])} is declared but not defined: {why}.")
    for text in sorted(variant.assembly - original.assembly):
        if not _CACHE_HINTS.fullmatch(text):
            return _abi("inline_assembly", "The kernel holds inline assembly that the original does not have.")
    return None


def check_generality(original: IrFacts, variant: IrFacts, parameters: Sequence[Mapping[str, Any]]) -> Rejection | None:
    """Whether what the program may launch the kernel with is still looked at; recorded values are no constants."""
    for at in sorted(original.integers - variant.integers):
        name = parameters[at].get("name") or f"number {at}"
        why = "the value that was recorded is not the only one"
        return _abi("ignored_parameter", f"The kernel no longer looks at its integer parameter {name}: {why}.")
    for at, offset in original.structs.missing(variant.structs)[:1]:
        name = parameters[at].get("name") or f"number {at}"
        why = "the value that was recorded is not the only one"
        message = f"The kernel no longer looks at the integer that holds byte {offset} of its parameter {name}: {why}."
        return _abi("ignored_parameter", message)
    why = "the recorded size is not the only one"
    if original.reads_block_size and not variant.reads_block_size:
        return _abi("assumed_block", f"The kernel no longer looks at blockDim, as the original does: {why}.")
    if original.reads_grid_size and not variant.reads_grid_size:
        return _abi("assumed_grid", f"The kernel no longer looks at gridDim, as the original does: {why}.")
    return None


def check_resources(kernel: Kernel, original: IrFacts, variant: IrFacts) -> Rejection | None:
    """Whether the recorded launches can still be made."""
    most = max(MOST_STATIC_SHARED, original.static_shared)
    if variant.static_shared > most:
        message = f"The kernel has {variant.static_shared} bytes of static shared memory; a block may have {most}."
        return Rejection(Stage.RESOURCES, "shared_memory", message)
    threads = max((shape.block[0] * shape.block[1] * shape.block[2] for shape in kernel.shapes), default=0)
    if variant.max_threads is not None and variant.max_threads < threads:
        message = f"The launch bounds allow {variant.max_threads} threads a block; the program launches {threads}."
        return Rejection(Stage.RESOURCES, "launch_bounds", message)
    return None


def entry(info: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """What a module's JSON says of a kernel."""
    return next((each for each in info["kernels"] if each["name"] == name), None)


def _shown(name: str) -> str:
    return demangle(name.strip('"'))[:100]


def _abi(reason: str, message: str) -> Rejection:
    return Rejection(Stage.ABI, reason, message)
