"""From the event logs of searches to the entries of a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from r3cc import __version__
from r3cc.apply.patch import Patch, SourceWinner, source_patch
from r3cc.apply.profile import FORMAT, SOURCE, VERSION, Entry, Evidence, LaunchRule, Profile, Scalar, Specialised
from r3cc.apply.rules import beyond, launch_rule, launched, shape_of, specialised, takes
from r3cc.errors import R3Error
from r3cc.llvm.inspect import KernelIdentity, kernel_identity
from r3cc.replay.codegen import LLVM_PREFIX
from r3cc.replay.events import AnyEvent, Begin, Final, KernelPlan, Result, read_log
from r3cc.replay.model import Candidate, Interval, LaunchConfiguration, Status
from r3cc.store import Store
from r3cc.store.arguments import FORMATS, kernel_info
from r3cc.store.model import FOREIGN, Launch, Module
from r3cc.store.variants import variant_paths

ATTRIBUTES = ("maxntid", "minctasm", "maxnreg")
MODULE_KEYS = ("opt-level", "fp-contract", "ptxas-opt", "maxrregcount")
CPU = "cpu"


class Choices(msgspec.Struct, frozen=True):
    """What the user decides about a profile."""

    launch_bounds: bool = False
    """Take ``maxntid`` even where it forbids blocks that the source allows."""
    guard_scalars: bool = False
    """Launch rules hold for the recorded scalar arguments only."""


class Log(msgspec.Struct, frozen=True):
    """A search and what it wrote down."""

    search: str
    events: Sequence[AnyEvent]

    @property
    def begin(self) -> Begin:
        """Its first event. Raises R3Error for a log without one."""
        first = self.events[0] if self.events else None
        if not isinstance(first, Begin):
            raise R3Error(f"the search {self.search} has no beginning; run `r3 tune --fresh`")
        return first

    @property
    def results(self) -> dict[str, Result]:
        """The verdicts, by kernel."""
        return {event.kernel: event for event in self.events if isinstance(event, Result)}


class Outcome(msgspec.Struct, frozen=True):
    """What became of each kernel of the searches."""

    profile: Profile
    unimproved: tuple[str, ...]
    """Demangled names of kernels without an entry."""
    unfinished: tuple[str, ...]
    """Demangled names of kernels that have no verdict yet."""
    patch: Patch | None = None
    """Source winners; None without any."""
    outside: tuple[str, ...] = ()
    """What was gained on kernels without IR, which no build of R3's makes: a sentence each."""


def profile_of(store: Store, logs: Sequence[Log], choices: Choices) -> Outcome:
    """The winners of searches; where several have one for a kernel on a device, the fastest.

    Raises R3Error for a log without a beginning and for a module without IR.
    """
    winners, outside = _winners(store, logs)
    patch = source_patch([winner.source for winner in winners if winner.rewrites], [_heading(log) for log in logs])
    entries = [entry for winner in winners for entry in winner.entries(choices, patch.left_out)]
    made_by = {"r3": __version__, "llvm": logs[-1].begin.versions.get("llvm", "")}
    names = {plan.kernel: plan.demangled for log in logs for plan in log.begin.kernels}
    judged = {kernel for log in logs for kernel in log.results}
    improved = {kernel for log in logs for kernel, result in log.results.items() if result.n is not None}
    return Outcome(
        Profile(FORMAT, VERSION, made_by, tuple(entries)),
        tuple(name for kernel, name in names.items() if kernel in judged - improved),
        tuple(name for kernel, name in names.items() if kernel not in judged),
        patch if any(winner.rewrites for winner in winners) else None,
        outside,
    )


def _winners(store: Store, logs: Sequence[Log]) -> tuple[list[_Winner], tuple[str, ...]]:
    """One winner a device for each kernel that has any, and what was gained on kernels without IR."""
    fastest: dict[tuple[str, str], tuple[Log, KernelPlan, Result]] = {}
    outside: dict[str, str] = {}
    for log in logs:
        results = log.results
        for plan in log.begin.kernels:
            result = results.get(plan.kernel)
            if result is None or result.n is None:
                continue
            if plan.module.startswith(FOREIGN):
                outside[plan.kernel] = _outside(plan, result)
                continue
            place = plan.kernel, log.begin.device_name or log.begin.device
            if place not in fastest or _gain(result) >= _gain(fastest[place][-1]):
                fastest[place] = log, plan, result
    return [_Winner(store, *verdict) for verdict in fastest.values()], tuple(outside.values())


def _gain(result: Result) -> float:
    """Baseline over candidate; 0 where it was not measured."""
    return result.speedup.median if result.speedup is not None else 0.0


def _heading(log: Log) -> str:
    begin = log.begin
    device = begin.device_name or begin.device
    return f"R3 {__version__}: search {log.search} of recording {begin.recording} on {device}"


def _outside(plan: KernelPlan, result: Result) -> str:
    gained = f"{result.speedup.median:.3f}x with " if result.speedup is not None else ""
    return (
        f"{plan.demangled}: {gained}{', '.join(result.changes)}; its code carries no IR, so its own build must take it"
    )


class _Winner:
    """One kernel's verdict with all that the profile says of it."""

    def __init__(self, store: Store, log: Log, plan: KernelPlan, result: Result) -> None:
        begin = self._begin = log.begin
        self._plan = plan
        self._result = result
        self._search = log.search
        self._finals = [event for event in log.events if isinstance(event, Final) and event.kernel == plan.kernel]
        self._store = store
        self._module: Module = store.module(plan.module)
        self._identity: KernelIdentity = kernel_identity(self._bitcode(), plan.name)
        kernel = store.find_kernel(plan.kernel, begin.recording)
        self._launches: list[Launch] = store.launches(kernel, begin.recording)

    @property
    def rewrites(self) -> bool:
        """Whether the winner has another source."""
        return self._result.candidate.variant is not None

    @property
    def source(self) -> SourceWinner:
        """The winner's source. Raises R3Error for a log that doesn't tell it."""
        if not self._result.regions:
            raise R3Error(f"the search {self._search} does not tell the new source of {self._plan.demangled}")
        return SourceWinner(self._plan, self._module, self._result)

    def entries(self, choices: Choices, left_out: Mapping[str, str]) -> list[Entry]:
        """The winner's entry; beside one for the new source, one for the source as it was recorded."""
        if not self.rewrites:
            return [self.entry(choices)]
        plain = self._earlier(choices) or self._unchanged()
        return [plain] if self._plan.kernel in left_out else [self.entry(choices), plain]

    def _bitcode(self) -> bytes:
        """The module that the winner was built from."""
        variant = self._result.candidate.variant
        if variant is None:
            return self._store.bitcode(self._plan.module)
        path, _ = variant_paths(self._store.path, variant)
        try:
            return path.read_bytes()
        except OSError:
            raise R3Error(
                f"the store has no variant {variant} of {self._plan.demangled} ({path}): it is lost, or that of a "
                "transcript, whose rewrites come out as other code here"
            ) from None

    def _earlier(self, choices: Choices) -> Entry | None:
        """The latest winner of the recorded source on this device, of another search."""
        for search in reversed(self._store.searches.all()):
            events = read_log(search.events_path)
            begin = events[0] if events else None
            if not isinstance(begin, Begin) or begin.device_name != self._begin.device_name:
                continue
            plan = next((each for each in begin.kernels if each.kernel == self._plan.kernel), None)
            results = [each for each in events if isinstance(each, Result) and each.kernel == self._plan.kernel]
            if plan is not None and results and results[-1].n is not None and results[-1].candidate.variant is None:
                return _Winner(self._store, Log(search.id, events), plan, results[-1]).entry(choices)
        return None

    def _unchanged(self) -> Entry:
        """The recorded source as it is, so that a build before the patch does not say that a kernel has changed."""
        codegen = self._module.info["codegen"]
        evidence = msgspec.structs.replace(self._evidence(), ratio=Interval(1.0, 1.0, 1.0, 0), launches=0)
        return Entry(
            name=self._plan.name,
            demangled=self._plan.demangled,
            digest=kernel_identity(self._store.bitcode(self._plan.module), self._plan.name).digest,
            device=self._device,
            architecture=str(self._module.info["architecture"]),
            pipeline=None,
            attributes={},
            codegen_level=int(codegen["codegen_level"]),
            module={},
            launch=None,
            changes=(),
            left_out=("source: the patch beside this profile brings it, and the entry for it stands here, too",),
            evidence=evidence,
        )

    @property
    def _device(self) -> str:
        return CPU if self._begin.on_host else self._begin.device_name or self._begin.device

    def entry(self, choices: Choices) -> Entry:
        """The winner as it was validated."""
        candidate = self._result.candidate
        codegen = self._module.info["codegen"]
        attributes, module, left_out = self._sorted_options(candidate)
        special = self._specialised(candidate, choices)
        rule = self._launch_rule(candidate.launch, choices)
        own = attributes or module or special
        return Entry(
            name=self._plan.name,
            demangled=self._plan.demangled,
            digest=self._identity.digest,
            device=self._device,
            architecture=str(self._module.info["architecture"]),
            pipeline=candidate.pipeline or (str(codegen["pipeline"]) if own else None),
            attributes=attributes,
            codegen_level=int(module.get("opt-level", codegen["codegen_level"])),
            module=module,
            launch=rule,
            changes=(*self._source_change(), *self._result.changes),
            left_out=(*left_out, *self._unreached(rule, special, attributes.get("maxntid"))),
            evidence=self._evidence(),
            specialised=special,
        )

    def _specialised(self, candidate: Candidate, choices: Choices) -> Specialised | None:
        """The second version that a build makes: of constants, or of bounds that the kernel itself may not have."""
        special = specialised(candidate.specialisation, self._launches)
        bounds = dict(candidate.codegen).get("maxntid")
        if special is None and bounds and not choices.launch_bounds and beyond(bounds, self._identity.max_threads):
            return Specialised()
        return special

    def _unreached(self, rule: LaunchRule | None, special: Specialised | None, bounds: str | None) -> tuple[str, ...]:
        """Why some recorded launches don't get the second version."""
        given = {launched(rule, shape_of(launch)) for launch in self._launches}
        if all(shape is None or takes(special, bounds, shape) for shape in given):
            return ()
        return ("launches with more than 48 KiB of dynamic shared memory: they keep the kernel as it was",)

    def _source_change(self) -> tuple[str, ...]:
        if not self.rewrites:
            return ()
        strategy = " ".join(self._result.strategy.split()) or "rewritten"
        return (f"{SOURCE}{strategy} (git apply the patch beside this profile)",)

    def _sorted_options(self, candidate: Candidate) -> tuple[dict[str, str], dict[str, str], tuple[str, ...]]:
        """Options of the kernel, of its module, and those that a build cannot take."""
        attributes, module, left_out = {}, {}, []
        for key, value in candidate.codegen:
            if key in ATTRIBUTES:
                attributes[key] = value
            elif key in MODULE_KEYS or key.startswith(LLVM_PREFIX):
                module[key] = value
            else:
                left_out.append(f"{key}={value}: a build has nothing for it")
        return attributes, module, tuple(left_out)

    def _launch_rule(self, launch: LaunchConfiguration, choices: Choices) -> LaunchRule | None:
        scalars = self._scalars() if choices.guard_scalars else ()
        try:
            return launch_rule(launch, self._launches, scalars)
        except R3Error as error:
            raise R3Error(f"{self._plan.demangled}: {error}") from None

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
