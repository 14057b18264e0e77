"""Kernels of a recording: summed over processes, ranked, and found by what a user calls them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from r3cc.errors import R3Error
from r3cc.store.demangle import base_name, demangle
from r3cc.store.documents import KernelDocument
from r3cc.store.model import Dim3, Kernel, NotRecordable, Shape

Geometry = tuple[Dim3, Dim3, int]


def sum_kernels(counts: Iterable[tuple[KernelDocument, str]]) -> list[Kernel]:
    """Kernels from (counts of one process, its device), by share of device time, the largest first."""
    groups: dict[tuple[str, str], list[tuple[KernelDocument, str]]] = {}
    for document, device in counts:
        groups.setdefault((document.module, document.name), []).append((document, device))
    total = sum(document.total_ns for group in groups.values() for document, _ in group)
    kernels = [_sum_kernel([document for document, _ in group], group[0][1], total) for group in groups.values()]
    return sorted(kernels, key=lambda kernel: (-kernel.total_ns, -kernel.launches, kernel.name, kernel.module))


def no_kernel(recording: str) -> str:
    """What to say of a recording without a kernel; they are written last, so that a pack that is cut off has none."""
    return f"the recording {recording} holds no kernel: `r3 store verify` says if it is whole, `r3 store ls` has others"


def find_kernel(kernels: Sequence[Kernel], given: str) -> Kernel:
    """The kernel that ``given`` names: an id, a mangled or demangled name, or a unique part of one of them.

    Raises R3Error when none or several match.
    """
    matches = _matches(kernels, given)
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise R3Error(f"no kernel is called '{given}'; recorded kernels are {_listed(kernels)}")
    raise R3Error(f"'{given}' names {len(matches)} kernels; take the id of one: {_listed(matches)}")


def _matches(kernels: Sequence[Kernel], given: str) -> list[Kernel]:
    """Exact matches if there are any, else whole base names, else parts."""
    exact = [kernel for kernel in kernels if given in (kernel.id, kernel.name, kernel.demangled)]
    whole = [kernel for kernel in kernels if given == base_name(kernel.demangled)]
    part = [
        kernel for kernel in kernels if kernel.id.startswith(given) or given in kernel.name or given in kernel.demangled
    ]
    return exact or whole or part


def _listed(kernels: Sequence[Kernel], limit: int = 20) -> str:
    names = [f"{kernel.id} {kernel.demangled}" for kernel in kernels[:limit]]
    more = [f"and {len(kernels) - limit} more"] if len(kernels) > limit else []
    return "; ".join(names + more) or "none"


def _sum_kernel(documents: Sequence[KernelDocument], device: str, total_ns: int) -> Kernel:
    own_ns = sum(document.total_ns for document in documents)
    return Kernel(
        module=documents[0].module,
        name=documents[0].name,
        demangled=demangle(documents[0].name),
        device=device,
        launches=sum(document.launches for document in documents),
        total_ns=own_ns,
        timed=sum(document.timed for document in documents),
        recorded=sum(document.recorded for document in documents),
        share=own_ns / total_ns if total_ns else 0.0,
        shapes=_sum_shapes(documents),
        not_recordable=_sum_reasons(documents),
    )


def _sum_shapes(documents: Sequence[KernelDocument]) -> tuple[Shape, ...]:
    launches: Counter[Geometry] = Counter()
    time: Counter[Geometry] = Counter()
    medians: defaultdict[Geometry, list[tuple[int, int]]] = defaultdict(list)
    for shape in (shape for document in documents for shape in document.shapes):
        geometry = (shape.grid, shape.block, shape.shared)
        launches[geometry] += shape.launches
        time[geometry] += shape.total_ns
        medians[geometry].append((shape.median_ns, shape.launches))
    shapes = [Shape(*geometry, launches[geometry], time[geometry], _middle(medians[geometry])) for geometry in launches]
    return tuple(sorted(shapes, key=lambda shape: (-shape.total_ns, -shape.launches, shape.grid, shape.block)))


def _middle(medians: Sequence[tuple[int, int]]) -> int:
    """Of (median, launches) of several processes, the median that half of the launches are not above; 0 for none."""
    taken = sorted(entry for entry in medians if entry[0] > 0)
    half = sum(launches for _, launches in taken) / 2
    seen = 0
    for median, launches in taken:
        seen += launches
        if seen >= half:
            return median
    return 0


def _sum_reasons(documents: Sequence[KernelDocument]) -> tuple[NotRecordable, ...]:
    counts: Counter[str] = Counter()
    for entry in (entry for document in documents for entry in document.not_recordable):
        counts[entry.reason] += entry.launches
    return tuple(NotRecordable(reason, launches) for reason, launches in counts.most_common())
