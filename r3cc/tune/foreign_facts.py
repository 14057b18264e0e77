"""What PTX and machine code tell of the launches that a kernel can take.

Both are read in the safe direction: what is not known counts as a limit, except that code which may read its block size
is taken to do so. Validation decides the rest.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence

import msgspec

from r3cc.llvm import KernelDescription
from r3cc.tune.blocks import Shape, block_is_fixed, volume

_RESERVED = 1024
"""Bytes of shared memory that the system keeps for itself in each block, counted in a cubin's sections."""
_MAX_THREADS, _REQUIRED_THREADS = 0x05, 0x10
"""Attributes of a cubin's ``.nv.info`` with three extents each."""
_WARP = re.compile(r"\b(shfl|vote|match|redux|activemask|mma|wmma|wgmma|ldmatrix)\b|%lane")


class ForeignFacts(msgspec.Struct, frozen=True):
    """A kernel's facts as far as they concern launches."""

    description: KernelDescription
    required_block: tuple[int, int, int] | None = None
    """The one block shape that the code was made for; None when it takes others."""


def block_is_bound(facts: ForeignFacts, shapes: Sequence[Shape]) -> str | None:
    """Why the recorded block must stay, in a few words; None when other shapes may be tried."""
    if facts.required_block is not None:
        return f"its code is made for blocks of {volume(facts.required_block)} threads"
    return block_is_fixed(facts.description, shapes)


def ptx_facts(ptx: bytes, kernel: str) -> ForeignFacts:
    """The facts of an entry. Functions that it may call are read as if they were part of it."""
    text = _without_comments(ptx.decode(errors="replace"))
    head, body = _entry(text, kernel)
    if re.search(r"\bcall\b", body):
        body += "".join(inner for _, inner in _functions(text))
    used = set(re.findall(r"[\w$]+", body))
    shared = [size for name, size in _shared(text) if name in used]
    bound, required = _extents(head, "maxntid"), _extents(head, "reqntid")
    return ForeignFacts(
        _description(
            kernel,
            reads_block_size="%ntid" in body,
            reads_grid_size="%nctaid" in body,
            static_shared=sum(size for size in shared if size is not None),
            dynamic_shared=None in shared,
            barriers=len(re.findall(r"\b(?:bar|barrier)\b", body)),
            warp_operations=len(_WARP.findall(body)),
            max_threads=volume(bound) if bound is not None else None,
        ),
        required,
    )


def cubin_facts(cubin: bytes, kernel: str) -> ForeignFacts:
    """The facts of a kernel's sections: its limits and its shared memory. Its instructions are not read."""
    sections = {name: (content, size) for name, content, size in sections_of(cubin)}
    attributes = dict(_attributes(sections.get(f".nv.info.{kernel}", (b"", 0))[0]))
    _, shared = sections.get(f".nv.shared.{kernel}", (b"", 0))
    reserved = _RESERVED if any(name.startswith(".nv.shared.reserved") for name in sections) else 0
    bound = attributes.get(_MAX_THREADS)
    return ForeignFacts(
        _description(
            kernel,
            reads_block_size=True,
            reads_grid_size=True,
            static_shared=max(shared - reserved, 0),
            dynamic_shared=False,  # a launch that has any says so itself
            barriers=0,
            warp_operations=1,
            max_threads=volume(bound) if bound is not None else None,
        ),
        attributes.get(_REQUIRED_THREADS),
    )


def _description(
    kernel: str,
    *,
    reads_block_size: bool,
    reads_grid_size: bool,
    static_shared: int,
    dynamic_shared: bool,
    barriers: int,
    warp_operations: int,
    max_threads: int | None,
) -> KernelDescription:
    return KernelDescription(
        name=kernel,
        line=0,
        parameters=(),
        globals=(),
        reads_block_size=reads_block_size,
        reads_grid_size=reads_grid_size,
        static_shared=static_shared,
        dynamic_shared=dynamic_shared,
        barriers=barriers,
        warp_operations=warp_operations,
        atomics=0,
        max_threads=max_threads,
        element_types={},
        global_element_types={},
    )


def _without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def _entry(text: str, kernel: str) -> tuple[str, str]:
    """Head and body of an entry; empty ones where the text has none of that name."""
    begin = re.search(rf"\.entry\s+{re.escape(kernel)}(?![\w$])", text)
    return _head_and_body(text, begin.end()) if begin is not None else ("", "")


def _functions(text: str) -> Iterator[tuple[str, str]]:
    for begin in re.finditer(r"\.func\b", text):
        yield _head_and_body(text, begin.end())


def _head_and_body(text: str, at: int) -> tuple[str, str]:
    """What stands before a definition's braces and between them; a declaration has no body."""
    opening, end = text.find("{", at), text.find(";", at)
    if opening < 0 or 0 <= end < opening:
        return text[at : end if end >= 0 else None], ""
    depth = 0
    for place in re.finditer(r"[{}]", text[opening:]):
        depth += 1 if place[0] == "{" else -1
        if depth == 0:
            return text[at:opening], text[opening : opening + place.end()]
    return text[at:opening], text[opening:]


def _shared(text: str) -> Iterator[tuple[str, int | None]]:
    """Shared variables with their bytes; None: as many as the launch gives."""
    for found in re.finditer(r"\.shared\s+(?:\.align\s+\d+\s+)?\.([a-z])(\d+)\s+([\w$]+)((?:\s*\[\d*\])*)", text):
        extents = re.findall(r"\[(\d*)\]", found[4])
        size: int | None = max(int(found[2]) // 8, 1)
        for extent in extents:
            size = size * int(extent) if extent and size is not None else None
        yield found[3], size


def _extents(head: str, directive: str) -> tuple[int, int, int] | None:
    found = re.search(rf"\.{directive}\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?", head)
    return (int(found[1]), int(found[2] or 1), int(found[3] or 1)) if found is not None else None


_HEADER = struct.Struct("<40xQ10xHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_NO_CONTENT = 8


def sections_of(elf: bytes) -> Iterator[tuple[str, bytes, int]]:
    """Name, content and size of a cubin's sections; none of what cannot be read."""
    try:
        table, entry, count, names = _HEADER.unpack_from(elf)
        headers = [_SECTION.unpack_from(elf, table + number * entry) for number in range(count)]
        strings = headers[names][4]
    except (struct.error, IndexError, OverflowError):
        return
    for name, kind, _, _, offset, size, *_ in headers:
        text = elf[strings + name : elf.find(b"\0", strings + name)].decode(errors="replace")
        yield text, b"" if kind == _NO_CONTENT else elf[offset : offset + size], size


def _attributes(info: bytes) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """The attributes of three numbers: each has a form, a number and a size or a value, then that many bytes."""
    at = 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form != 4:
            continue
        if size == 12 and at + size <= len(info):
            yield attribute, struct.unpack_from("<III", info, at)
        at += size
