"""What a recording ends with: counts, size, slow-down, what could not be recorded."""

from __future__ import annotations

from collections import Counter

import msgspec

from r3cc.store import Store


class Summary(msgspec.Struct, frozen=True):
    """Totals of one recording over its processes."""

    processes: int
    incomplete: int
    """Processes that were killed: what they had written by then is there."""
    kernels: int
    kernels_with_ir: int
    """Those that r3-clang built."""
    launches: int
    recorded: int
    bytes: int
    """Size of the recording's packs."""
    recording_ns: int
    """Time that processes spent on snapshots."""
    wall_ns: int
    """Time that processes ran, snapshots included."""
    not_recordable: tuple[tuple[str, int], ...]
    """Reason and launches, the most frequent first."""

    @property
    def slow_down(self) -> float:
        """How many times longer the processes ran for the snapshots."""
        own = self.wall_ns - self.recording_ns
        return self.wall_ns / own if own > 0 else 1.0


def summarise(store: Store, recording: str) -> Summary:
    """Add up what a recording's processes wrote."""
    processes = store.processes(recording)
    kernels = store.kernels(recording)
    ends = store.ends(recording)
    reasons: Counter[str] = Counter()
    for entry in (entry for kernel in kernels for entry in kernel.not_recordable):
        reasons[entry.reason] += entry.launches
    return Summary(
        processes=len(processes),
        incomplete=sum(not process.complete for process in processes),
        kernels=len(kernels),
        kernels_with_ir=sum(kernel.has_ir for kernel in kernels),
        launches=sum(kernel.launches for kernel in kernels),
        recorded=sum(kernel.recorded for kernel in kernels),
        bytes=sum(pack.stat().st_size for pack in store.recording_path(recording).glob("*.r3pack")),
        recording_ns=sum(end.recording_ns for end in ends),
        wall_ns=sum(end.wall_ns for end in ends),
        not_recordable=tuple(reasons.most_common()),
    )
