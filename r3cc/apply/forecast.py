"""What a profile's kernels promise for the whole application, from kernel times alone.

For kernel k with the share s of the recorded device time, of which the part c is in launches for which its finals' time
ratio r speaks, device time shrinks by the sum of s c (1 - r); the application by that times the device's part of its
wall time. Bounds are those of all intervals at once, which is wider than 95 %. Launches that a guard does not admit
count as unchanged; where they were measured so, they are in r already.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import msgspec

from r3cc.apply.coverage import Coverage, coverage, measured_share
from r3cc.apply.profile import Entry, Profile
from r3cc.apply.recheck import entry_for
from r3cc.apply.rules import shape_of
from r3cc.replay.model import Interval
from r3cc.store import Store
from r3cc.store.model import Kernel, Recording

SHORT_NS = 10_000
"""A launch of less device time is about as long as launching it takes the host."""


class KernelForecast(msgspec.Struct, frozen=True):
    """One tuned kernel's part."""

    name: str
    demangled: str
    share: float
    """Of the recorded device time."""
    ratio: Interval
    """Tuned over plain time, of the profile's finals."""
    coverage: Coverage | None
    """None: not known."""
    measured: float = 1.0
    """Share of the kernel's time for which the ratio speaks, 0 to 1; where that is not known, 1."""


class Forecast(msgspec.Struct, frozen=True):
    """Kernel-level expectation. Times are nanoseconds of the whole recorded run."""

    recording: str
    device: str
    same_command: bool
    """The recorded command had the plain command's arguments."""
    device_ns: int
    """Device time of all launches, a process on average."""
    launches: int
    short_share: float
    """Share of the device time in launches below 10 us."""
    device_share: float
    """Device time's part of the plain command's wall time, 0 to 1."""
    kernels: tuple[KernelForecast, ...]
    device_speedup: Interval
    speedup: Interval
    """Of the application."""

    @property
    def most(self) -> float:
        """Speedup of the application if kernels took no time at all."""
        return 1 / (1 - self.device_share) if self.device_share < 1 else float("inf")


def forecast(store: Store, recording: str | None, profile: Profile, plain: str, plain_ns: float) -> Forecast | None:
    """The forecast for a plain command that takes ``plain_ns``; None where the recording has no device time."""
    chosen = store.recording(recording)
    kernels = store.kernels(chosen.id)
    total = sum(kernel.total_ns for kernel in kernels)
    if total == 0:
        return None
    processes = max(1, len(store.processes(chosen.id)))
    same = same_arguments(chosen, plain)
    wall = plain_ns if same else _own_wall_ns(store, chosen, processes)
    device_share = min(1.0, total / processes / wall) if wall > 0 else 1.0
    tuned = tuple(_tuned(store, chosen.id, profile, kernels))
    low, median, high = (_saved(tuned, bound) for bound in ("high", "median", "low"))
    samples = min((kernel.ratio.samples for kernel in tuned), default=0)
    return Forecast(
        recording=chosen.id,
        device=chosen.device,
        same_command=same,
        device_ns=total // processes,
        launches=sum(kernel.launches for kernel in kernels),
        short_share=_short_share(kernels, total),
        device_share=device_share,
        kernels=tuned,
        device_speedup=Interval(_faster(median), _faster(low), _faster(high), samples),
        speedup=Interval(
            _faster(device_share * median), _faster(device_share * low), _faster(device_share * high), samples
        ),
    )


def same_arguments(recording: Recording, command: str) -> bool:
    """Whether a shell command ends as the recorded one does: launchers in front, other build folders are the same."""
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    given = list(recording.command[1:])
    if not recording.command or len(words) <= len(given):
        return False
    program = words[len(words) - len(given) - 1]
    return (
        words[len(words) - len(given) :] == given
        and program.rsplit("/", 1)[-1] == recording.command[0].rsplit("/", 1)[-1]
    )


def _own_wall_ns(store: Store, recording: Recording, processes: int) -> float:
    """Wall time of a recorded process without its snapshots."""
    ends = store.ends(recording.id)
    if not ends:
        return float(recording.wall_ns)
    return sum(end.wall_ns - end.recording_ns for end in ends) / processes


def _tuned(store: Store, recording: str, profile: Profile, kernels: Sequence[Kernel]) -> list[KernelForecast]:
    processes = store.processes(recording)
    found = []
    for kernel in kernels:
        named: list[Entry] = [entry for entry in profile.kernels if entry.name == kernel.name]
        entry = entry_for(store, kernel, named, processes)[0] if named else None
        if entry is not None:
            recorded = [shape_of(launch) for launch in store.launches(kernel, recording)]
            bounds = entry.attributes.get("maxntid")
            measured = measured_share(entry.launch, entry.specialised, bounds, kernel, recorded)
            found.append(
                KernelForecast(
                    kernel.name,
                    kernel.demangled,
                    kernel.share,
                    entry.evidence.ratio,
                    coverage(entry, kernel),
                    1.0 if measured is None else measured,
                )
            )
    return found


def _saved(kernels: Sequence[KernelForecast], bound: str) -> float:
    """Part of the device time that is saved when every ratio is at one of its bounds."""
    return sum(kernel.share * kernel.measured * (1 - float(getattr(kernel.ratio, bound))) for kernel in kernels)


def _faster(saved: float) -> float:
    return 1 / (1 - saved) if saved < 1 else float("inf")


def _short_share(kernels: Sequence[Kernel], total: int) -> float:
    short = sum(
        shape.total_ns
        for kernel in kernels
        for shape in kernel.shapes
        if shape.launches and shape.total_ns / shape.launches < SHORT_NS
    )
    return short / total
