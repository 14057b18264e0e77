"""What a variant's optimised IR says: the facts behind the archive's dimensions.

Read from LLVM's text after ``default<O3>``, so that names, comments, dead code and the way something is written count
for nothing.
"""

from __future__ import annotations

import re

import msgspec

from r3cc.errors import R3Error

_TYPE = r"(?:<(?P<lanes>\d+) x )?(?P<scalar>float|double|half|bfloat|ptr|i\d+)\b"
_LOAD = re.compile(rf"\bload (?:atomic )?(?:volatile )?{_TYPE}>?, ptr(?P<space> addrspace\(\d+\))? ")
_STORE = re.compile(
    rf"\bstore (?:atomic )?(?:volatile )?{_TYPE}>? [^,]+(?:, [^,p][^,]*)*, ptr(?P<space> addrspace\(\d+\))? "
)
_ARITHMETIC = re.compile(rf"= f(?:add|sub|mul|div|rem) (?:[a-z]+ )*{_TYPE}")
_FUSED = re.compile(r"@llvm\.(?:nvvm\.)?(?:fma|fmuladd)\.")
_FUSED_LANES = re.compile(r"@llvm\.(?:fma|fmuladd)\.v(\d+)")
_BYTES = {"float": 4, "double": 8, "half": 2, "bfloat": 2, "ptr": 8}
_GLOBAL_SPACES = ("", " addrspace(1)")
_BLOCK = re.compile(r"@llvm\.nvvm\.barrier|@llvm\.nvvm\.bar\.|@llvm\.amdgcn\.s\.barrier")
_WARP = re.compile(r"@llvm\.nvvm\.(?:shfl|vote|match|redux|bar\.warp)|@llvm\.amdgcn\.(?:ds\.bpermute|update\.dpp)")
_ATOMIC = re.compile(r"\batomicrmw |\bcmpxchg |@llvm\.nvvm\.atomic|\bred\.global|\batom\.global")
_ASYNC = re.compile(r"cp\.async")


class Artefact(msgspec.Struct, frozen=True):
    """Static facts of one kernel, per thread."""

    accesses: int
    """Loads and stores of global memory in the code; a loop's body counts once."""
    bytes: int
    """What these touch."""
    widest: int
    """Bytes of the widest one."""
    async_copies: bool
    flops: int
    """Floating-point operations in the code, a fused one as two."""
    block_barriers: bool
    warp_operations: bool
    atomics: bool


def read(text: str, kernel: str) -> Artefact:
    """Facts of a kernel in LLVM's text. Raises R3Error when the module does not define it."""
    _, body = definition(text, kernel)
    accesses = [_size(match) for line in body if (match := _access(line)) is not None]
    code = "\n".join(body)
    return Artefact(
        accesses=len(accesses),
        bytes=sum(accesses),
        widest=max(accesses, default=0),
        async_copies=_ASYNC.search(code) is not None,
        flops=sum(map(_flops, body)),
        block_barriers=_BLOCK.search(code) is not None,
        warp_operations=_WARP.search(code) is not None,
        atomics=_ATOMIC.search(code) is not None,
    )


def definition(text: str, kernel: str) -> tuple[str, list[str]]:
    """A kernel's first line in LLVM's text, and those of its body. Raises R3Error where it is not defined."""
    lines = text.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("define") and f"@{kernel}(" in line]
    if not starts:
        raise R3Error(f"the variant's module does not define {kernel}")
    body = []
    for line in lines[starts[0] + 1 :]:
        if line == "}":
            break
        body.append(line)
    return lines[starts[0]], body


def _access(line: str) -> re.Match[str] | None:
    match = _LOAD.search(line) or _STORE.search(line)
    return match if match is not None and (match["space"] or "") in _GLOBAL_SPACES else None


def _size(match: re.Match[str]) -> int:
    scalar = match["scalar"]
    bytes_ = _BYTES.get(scalar) or (int(scalar[1:]) + 7) // 8
    return bytes_ * int(match["lanes"] or 1)


def _flops(line: str) -> int:
    if match := _ARITHMETIC.search(line):
        return int(match["lanes"] or 1)
    if _FUSED.search(line) and " call " in line:
        lanes = _FUSED_LANES.search(line)
        return 2 * int(lanes[1] if lanes else 1)
    return 0
