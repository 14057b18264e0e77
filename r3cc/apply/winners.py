"""From a search's event log to the entries of a profile."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from r3cc import __version__
from r3cc.apply.profile import FORMAT, VERSION, Entry, Evidence, Guard, LaunchRule, Profile, Scalar, Shape
from r3cc.errors import R3Error
from r3cc.llvm.inspect import KernelIdentity, kernel_identity
from r3cc.replay.codegen import LLVM_PREFIX
from r3cc.replay.events import AnyEvent, Begin, Final, KernelPlan, Result
from r3cc.replay.model import Candidate, Interval, LaunchConfiguration, Status
from r3cc.store import Store
from r3cc.store.arguments import FORMATS, kernel_info
from r3cc.store.model import Launch, Module

ATTRIBUTES = ("maxntid", "minctasm", "maxnreg")
MODULE_KEYS = ("opt-level", "fp-contract")
CPU = "cpu"


class Choices(msgspec.Struct, frozen=True):
    """What the user decides about a profile."""

    launch_bounds: bool = False
    """Take ``maxntid`` even where it forbids blocks that the source allows."""
    guard_scalars: bool = False
    """Launch rules hold for the recorded scalar arguments only."""


class Outcome(msgspec.Struct, frozen=True):
    """What became of each kernel of a search."""

    profile: Profile
    unimproved: tuple[str, ...]
    """Demangled names of kernels without an entry."""
    unfinished: tuple[str, ...]
    """Demangled names of kernels that have no verdict yet."""


def profile_of(store: Store, search: str, events: Sequence[AnyEvent], choices: Choices) -> Outcome:
    """The winners of a search. Raises R3Error for a log without a beginning and for a module without IR."""
    begin = events[0] if events else None
    if not isinstance(begin, Begin):
        raise R3Error(f"the search {search} has no beginning; run `r3 tune --fresh`")
    results = {event.kernel: event for event in events if isinstance(event, Result)}
    entries = [
        _Winner(store, search, begin, plan, results[plan.kernel], events).entry(choices)
        for plan in begin.kernels
        if plan.kernel in results and results[plan.kernel].n is not None
    ]
    made_by = {"r3": __version__, "llvm": begin.versions.get("llvm", "")}
    return Outcome(
        Profile(FORMAT, VERSION, made_by, tuple(entries)),
        tuple(plan.demangled for plan in begin.kernels if plan.kernel in results and results[plan.kernel].n is None),
        tuple(plan.demangled for plan in begin.kernels if plan.kernel not in results),
    )


class _Winner:
    """One kernel's verdict with all that the profile says of it."""

    def __init__(
        self, store: Store, search: str, begin: Begin, plan: KernelPlan, result: Result, events: Sequence[AnyEvent]
    ) -> None:
        self._begin = begin
        self._plan = plan
        self._result = result
        self._search = search
        self._finals = [event for event in events if isinstance(event, Final) and event.kernel == plan.kernel]
        self._module: Module = store.module(plan.module)
        self._identity: KernelIdentity = kernel_identity(store.bitcode(plan.module), plan.name)
        kernel = store.find_kernel(plan.kernel, begin.recording)
        self._launches: list[Launch] = store.launches(kernel, begin.recording)

    def entry(self, choices: Choices) -> Entry:
        candidate = self._result.candidate
        codegen = self._module.info["codegen"]
        attributes, module, left_out = self._sorted_options(candidate, choices)
        return Entry(
            name=self._plan.name,
            demangled=self._plan.demangled,
            digest=self._identity.digest,
            device=CPU if self._begin.device == CPU else self._begin.device_name or self._begin.device,
            architecture=str(self._module.info["architecture"]),
            pipeline=candidate.pipeline or (str(codegen["pipeline"]) if attributes or module else None),
            attributes=attributes,
            codegen_level=int(module.get("opt-level", codegen["codegen_level"])),
            module=module,
            launch=self._launch_rule(candidate.launch, choices),
            changes=self._result.changes,
            left_out=left_out,
            evidence=self._evidence(),
        )

    def _sorted_options(
        self, candidate: Candidate, choices: Choices
    ) -> tuple[dict[str, str], dict[str, str], tuple[str, ...]]:
        """Options of the kernel, of its module, and those that a build cannot take."""
        attributes, module, left_out = {}, {}, []
        for key, value in candidate.codegen:
            if key == "maxntid" and not (choices.launch_bounds or self._bounds_already(value)):
                left_out.append(f"maxntid={value}: larger blocks would no longer launch (--launch-bounds takes it)")
            elif key in ATTRIBUTES:
                attributes[key] = value
            elif key in MODULE_KEYS or key.startswith(LLVM_PREFIX):
                module[key] = value
            else:
                left_out.append(f"{key}={value}: the build has one ptxas a unit, whose flags are the user's")
        return attributes, module, tuple(left_out)

    def _bounds_already(self, value: str) -> bool:
        threads = 1
        for extent in value.split(","):
            threads *= int(extent)
        return self._identity.max_threads is not None and self._identity.max_threads <= threads

    def _launch_rule(self, launch: LaunchConfiguration, choices: Choices) -> LaunchRule | None:
        if launch.block is None and launch.grid is None:
            return None
        shapes = {(each.grid, each.block, each.shared): None for each in self._launches}
        blocks = {block for _, block, _ in shapes}
        block = launch.block or (blocks.pop() if len(blocks) == 1 else None)
        if block is None or launch.shared is not None:
            raise R3Error(f"the launch configuration of {self._plan.demangled} cannot be written as one rule")
        scalars = self._scalars() if choices.guard_scalars else ()
        return LaunchRule(block, launch.grid or "derived", Guard(tuple(Shape(*shape) for shape in shapes), scalars))

    def _scalars(self) -> tuple[Scalar, ...]:
        """Scalar parameters with the values that recorded launches gave them."""
        parameters = kernel_info(self._module, self._plan.name).get("parameters")
        if parameters is None:
            raise R3Error(f"the recording does not tell the parameters of {self._plan.demangled}; record it again")
        found = []
        for index, parameter in enumerate(parameters):
            offset, size = parameter["offset"], parameter["size"]
            if parameter["type"] in FORMATS:
                values = {launch.arguments[offset : offset + size].hex() for launch in self._launches}
                found.append(Scalar(index, offset, size, tuple(sorted(values))))
        return tuple(found)

    def _evidence(self) -> Evidence:
        final = next(
            (final.evaluation for final in reversed(self._finals) if final.n == self._result.n and final.round == 2),
            None,
        )
        if final is None or final.status is not Status.OK or final.ratio is None:
            raise R3Error(f"the search {self._search} names a winner of {self._plan.demangled} without its finals")
        return Evidence(
            ratio=_inverse(self._result.speedup) or final.ratio,
            launches=final.launches,
            numerics=self._plan.numerics,
            search=self._search,
            recording=self._begin.recording,
            rtol=self._plan.rtol,
            atol=self._plan.atol,
        )


def _inverse(speedup: Interval | None) -> Interval | None:
    """Candidate over baseline, of all processes of the finals."""
    return speedup and Interval(1 / speedup.median, 1 / speedup.high, 1 / speedup.low, speedup.samples)
