"""Launch bounds, and more than one element a thread."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from tree_sitter import Node

from r3cc.remix.proposers.rules.rule import Site, has_barrier
from r3cc.remix.proposers.rules.syntax import Edit, Syntax, identifiers, replace, statements, text_of, written


class GuardedIndex(msgspec.Struct, frozen=True):
    """The element of a thread, and where elements end."""

    type: str
    name: str
    bound: str


class LaunchBounds:
    """``__launch_bounds__`` with values that the tuner chooses: how many registers a thread may have."""

    name = "launch_bounds"
    weight = 2.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """The kernel, when it has none."""
        function = region.function
        declarator = function.child_by_field_name("declarator") if function is not None else None
        if declarator is None or "__global__" not in region.text or "__launch_bounds__" in region.text:
            return
        threads, blocks = region.fresh("threads"), region.fresh("blocks")
        bounds = f"__launch_bounds__(R3_PARAM({threads}, 1024, 512, 256), R3_PARAM({blocks}, 1, 2, 4)) "
        yield Site(
            "tell the compiler how large a block is and how many share a multiprocessor",
            (Edit(declarator.start_byte, declarator.start_byte, bounds),),
        )


class GridStride:
    """A kernel with one element a thread gets a loop over the grid: with fewer blocks a thread does more.

    With the recorded launch every loop runs once, so the result is the same.
    """

    name = "grid_stride"
    weight = 1.5

    def sites(self, region: Syntax) -> Iterator[Site]:
        """Kernels that begin with ``int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;``."""
        body = region.body
        if body is None or has_barrier(body) or "__global__" not in region.text:
            return
        lines = statements(body)
        if len(lines) < 2 or lines[0].type != "declaration" or lines[1].type != "if_statement":
            return
        found = guarded_index(lines[0], lines[1])
        rest = lines[2:]
        if found is None or not rest or any(found.name in written(each) for each in rest):
            return
        if any("return" in text_of(each) for each in rest) or identifiers(lines[1]) & set().union(*map(written, rest)):
            return
        kind, name, bound = found.type, found.name, found.bound
        start, step = "blockIdx.x * blockDim.x + threadIdx.x", "gridDim.x * blockDim.x"
        loop = f"for ({kind} {name} = {start}; {name} < {bound}; {name} += {step}) {{"
        end = rest[-1]
        edits = (Edit(lines[0].start_byte, lines[1].end_byte, loop), Edit(end.end_byte, end.end_byte, "\n  }"))
        yield Site("loop over the grid, so that fewer blocks can do the same work", edits)


class NarrowCounters:
    """Wide loop counters with a small constant bound become ``int``."""

    name = "narrow_counters"
    weight = 2.0

    def sites(self, region: Syntax) -> Iterator[Site]:
        """All such loops at once."""
        edits = []
        for node in region.all("for_statement"):
            start, condition = node.child_by_field_name("initializer"), node.child_by_field_name("condition")
            kind = start.child_by_field_name("type") if start is not None else None
            bound = condition.child_by_field_name("right") if condition is not None else None
            if kind is None or bound is None or bound.type != "number_literal":
                continue
            wide = text_of(kind) in ("size_t", "std::size_t", "long", "long long", "int64_t", "uint64_t", "ptrdiff_t")
            if wide and text_of(bound).isdigit() and int(text_of(bound)) < 2**31:
                edits.append(replace(kind, "int"))
        if edits:
            yield Site("count with 32 bits where the bound is a small constant", tuple(edits))


def guarded_index(declaration: Node, guard: Node) -> GuardedIndex | None:
    """A thread's element, of ``int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;``."""
    kind, declarator = declaration.child_by_field_name("type"), declaration.child_by_field_name("declarator")
    value = declarator.child_by_field_name("value") if declarator is not None else None
    name = declarator.child_by_field_name("declarator") if declarator is not None else None
    condition, action = guard.child_by_field_name("condition"), guard.child_by_field_name("consequence")
    if None in (kind, value, name, condition, action) or kind is None or value is None or name is None:
        return None
    if condition is None or action is None or "".join(text_of(action).split()).strip("{}") != "return;":
        return None
    linear = "".join(text_of(value).split())
    left, compare, bound = text_of(condition).strip()[1:-1].partition(">=")
    forms = (
        "blockIdx.x*blockDim.x+threadIdx.x",
        "blockDim.x*blockIdx.x+threadIdx.x",
        "threadIdx.x+blockIdx.x*blockDim.x",
        "threadIdx.x+blockDim.x*blockIdx.x",
    )
    if linear not in forms or not compare or left.strip() != text_of(name) or "||" in bound or "&&" in bound:
        return None
    return GuardedIndex(text_of(kind), text_of(name), bound.strip())
