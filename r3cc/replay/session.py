"""Execution: one kernel's recorded launches on one device, against which code objects are validated and timed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from r3cc.devices.base import (
    Arguments,
    Code,
    Device,
    DeviceError,
    DeviceFault,
    DeviceTimeout,
    Function,
    Geometry,
    LaunchError,
    LoadError,
    OutOfDeviceMemory,
    Range,
)
from r3cc.devices.host_memory import available_memory
from r3cc.replay import elements
from r3cc.replay.compare import Area
from r3cc.replay.facts import FLOATS, KernelFacts
from r3cc.replay.floor import WriteFloor
from r3cc.replay.geometry import derive, problem
from r3cc.replay.launches import LaunchSource, RecordedLaunch
from r3cc.replay.memory import ImageStore, LaunchMemory, spans_of, union
from r3cc.replay.model import (
    Allowance,
    Dim3,
    Interval,
    L2State,
    LaunchConfiguration,
    Mismatch,
    Numerics,
    Race,
    ShapeTime,
    Status,
    TimingPlan,
)
from r3cc.replay.perturbed import PerturbedLaunches
from r3cc.replay.racing import blocks_in_all, is_lost
from r3cc.replay.sampling import SHORTEST_NS, Runnable, Sampler, launches_per_sample, states
from r3cc.replay.sensitivity import DRAWS, nudged
from r3cc.replay.stages import Stage, Watch
from r3cc.replay.statistics import interval
from r3cc.store.model import GlobalImage, Launch, Region

_SLOWEST_RATIO = 50.0
"""A launch may take this many times the baseline's time before it counts as hung."""
_PERTURBED_COPIES = 8
"""Room that perturbing takes on the host, in sizes of the launch's memory: doubles of its numbers, and images."""

_OWN_MEMORY = 1 << 30
"""Bytes of device memory kept free for code, windows and the cache flush."""
_RESERVATION_GAP = 1 << 36
"""Launch memory that lies nearer than this is reserved in one piece."""


class Rules(msgspec.Struct, frozen=True):
    """How a session validates and times; fields as in ``EvaluatorSettings``."""

    numerics: Numerics
    rtol: float | None
    atol: float | None
    l2: L2State | None
    probes: int
    launch_deadline_s: float
    transfer_deadline_s: float


class Job(msgspec.Struct, frozen=True):
    """A code object to judge."""

    code: Path
    launch: LaunchConfiguration
    plan: TimingPlan
    fixed: frozenset[int] = frozenset()
    """Indices of arguments whose recorded values the code takes for granted: perturbed inputs keep them."""
    nudge: bool = True
    """Whether the original kernel may run on nudged inputs."""


class Measurement(msgspec.Struct, frozen=True):
    """What judging a code object gave; fields as in ``Evaluation``."""

    status: Status
    message: str = ""
    time_ns: Interval | None = None
    baseline_ns: Interval | None = None
    ratio: Interval | None = None
    mismatches: tuple[Mismatch, ...] = ()
    allowances: tuple[Allowance, ...] = ()
    launches: int = 0
    l2: L2State | None = None
    app_ns: float = 0.0
    mark_overhead_ns: float = 0.0
    by_shape: tuple[ShapeTime, ...] = ()
    floor_ns: float = 0.0
    resources: dict[str, int] = {}
    phases_ns: dict[str, int] = {}
    reference_failed: Stage | None = None
    """The stage in which the original kernel itself failed on other inputs: the candidate is not judged."""

    @property
    def device_lost(self) -> bool:
        """Whether the device's context is of no use after it."""
        return self.status in (Status.DEVICE_FAULT, Status.TIMEOUT)


class _Case:
    """One recorded launch, ready to be replayed."""

    def __init__(self, recorded: RecordedLaunch, memory: LaunchMemory) -> None:
        self.launch: Launch = recorded.launch
        self.weight = recorded.weight
        self.app_ns = recorded.app_ns
        self.memory = memory
        self.arguments = Arguments(
            recorded.launch.arguments, tuple((each.offset, each.size) for each in recorded.launch.parameters)
        )
        self.expected_ns = 0.0
        """The baseline's time."""
        self.changed: int | None = None
        """Bytes that the launch changed; None until they are asked for."""

    def runnable(self, code: Code, function: Function, geometry: Geometry) -> Runnable:
        """This launch with a code's kernel and globals."""
        return Runnable(function, geometry, self.arguments, self.memory.bind(code))


class _Samples:
    """Times of one launch, in nanoseconds, block by block."""

    def __init__(self, case: _Case) -> None:
        self.case = case
        self.candidate: list[float] = []
        self.baseline: list[float] = []


class _ReferenceFailed(Exception):
    """The original kernel failed on other inputs than the recorded ones."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.stage = stage


class ReplaySession:
    """Judges code objects for one kernel, once the baseline was probed.

    Held-out launches are prepared when a job first asks for them.
    """

    def __init__(
        self, device: Device, source: LaunchSource, facts: KernelFacts, rules: Rules, baseline: Path, watch: Watch
    ) -> None:
        """Bring the launches' memory to the device; ``baseline`` is the code object of the recorded build.

        Nothing is launched yet. Raises a :class:`DeviceError` where the baseline cannot be loaded or its memory had.
        """
        self._device = device
        self._facts = facts
        self._rules = rules
        self._watch = watch
        self._phases: Counter[str] = Counter()
        self._tolerances = _Tolerances(rules)
        self._current: _Case | None = None
        self._source = PerturbedLaunches(source)
        self._perturbed: dict[_Case, _Case | None] = {}
        self._fixed: frozenset[int] = frozenset()
        self._unperturbed: set[_Case] = set()
        self._floor = WriteFloor(device)
        free = device.free_memory()
        with self._stage(Stage.PREPARE):
            recorded = source.launches()
            launches = [each.launch for each in recorded]
            self._reserve(launches)
            self._images = ImageStore(device, _image_budget(device, launches), _host_budget())
            searched = [each for each in recorded if not each.launch.held_out] or list(recorded)
            self._cases = [self._prepared(each) for each in searched]
        self._left = [each for each in recorded if each not in searched]
        self._held_out: list[_Case] = []
        with self._stage(Stage.LOAD):
            self._baseline = device.load(baseline)
            self._baseline_function = self._baseline.function(facts.name)
        with self._stage(Stage.PREPARE):
            self._mark_overhead_ns = device.mark_overhead_ns
        self.room = _room(free, device.free_memory(), launches, device.granule)
        """Sessions like this one that fit on the device beside it."""

    def probe(self) -> None:
        """Replay the baseline: its spread, its time, the cache state. Raises a :class:`DeviceError` where it fails."""
        for case in self._cases:
            self._probe(case)
        self._cases.sort(key=lambda case: -case.weight * case.expected_ns)
        self._state = self._choose_state()

    def measure(self, job: Job) -> Measurement:
        """Load, validate and time a code object on the recorded launches.

        After a measurement whose ``device_lost`` is true, this process must end.
        """
        self._phases.clear()
        try:
            with self._loaded(job.code) as code:
                return self._judge(code, code.function(self._facts.name), job)
        except _ReferenceFailed as error:
            cause = error.__cause__
            assert isinstance(cause, DeviceError)
            return Measurement(status_of(cause), str(cause), reference_failed=error.stage)
        except DeviceError as error:
            return Measurement(status_of(error), str(error), phases_ns=dict(self._phases))

    def _judge(self, code: Code, function: Function, job: Job) -> Measurement:
        cases = self._cases + (self._held_out_cases() if job.plan.held_out else [])
        for case in cases:
            reason = problem(derive(case.launch, job.launch), self._device.properties.limits)
            if reason:
                return Measurement(Status.REJECTED, reason)
        resources = function.resources
        checks = [(case, "the recorded result") for case in reversed(cases)]
        if job.plan.perturbed:
            self._keep_arguments(job.fixed & self._facts.scalars.keys())  # of the others none is perturbed
            made = (self._perturbed_case(case) for case in reversed(cases))
            checks += [(case, "the original kernel's result on perturbed inputs") for case in made if case]
        allowances: dict[str, Allowance] = {}
        for number, (case, reference) in enumerate(checks):
            findings = self._validate(case, code, function, job)
            found = [each for each in findings if isinstance(each, Mismatch)]
            for each in findings:
                if isinstance(each, Allowance):
                    allowances[each.where] = each.together(allowances.get(each.where))
            if found:
                varies = "; the original kernel's own results vary from launch to launch" if case.memory.varies else ""
                return Measurement(
                    Status.MISMATCH,
                    f"{case.launch.launch}: {len(found)} piece(s) of memory differ from {reference}{varies}",
                    mismatches=tuple(found),
                    launches=min(number, len(cases)),
                    resources=resources,
                    phases_ns=dict(self._phases),
                )
        measured = self._time(code, function, job, len(cases), resources)
        measured = msgspec.structs.replace(measured, allowances=tuple(allowances.values()))
        return self._doubted(measured, job) if job.plan.held_out else measured

    def _prepared(self, recorded: RecordedLaunch) -> _Case:
        memory = LaunchMemory(self._device, self._images, self._source, recorded.launch, self._facts)
        return _Case(recorded, memory)

    def _held_out_cases(self) -> list[_Case]:
        while self._left:
            with self._stage(Stage.PREPARE):
                case = self._prepared(self._left[0])
            self._probe(case)
            self._held_out.append(case)
            del self._left[0]
        return self._held_out

    def _validate(self, case: _Case, code: Code, function: Function, job: Job) -> list[Mismatch | Allowance]:
        """What one launch of the code left that differs; the kernel's sensitivity is found out where that decides."""
        found = self._launched(case, code, function, job.launch)
        unsettled = case.memory.unsettled
        refused = sum(isinstance(each, Mismatch) for each in found)
        if not job.nudge or not refused or refused > len(unsettled) or not self._has_room(case):
            return found
        try:
            self._find_sensitivity(case, unsettled)
        except DeviceError as error:
            raise _ReferenceFailed(Stage.NUDGE) from error
        return self._launched(case, code, function, job.launch)

    def _launched(
        self, case: _Case, code: Code, function: Function, configuration: LaunchConfiguration
    ) -> list[Mismatch | Allowance]:
        self._enter(case)
        runnable = case.runnable(code, function, derive(case.launch, configuration))
        self._run(case, runnable)
        with self._stage(Stage.CHECK):
            return runnable.memory.judge(self._tolerances)

    def _find_sensitivity(self, case: _Case, areas: Sequence[Area]) -> None:
        """Run the original kernel on nudged inputs, and see how far that moves what is in some areas."""
        expected = case.memory.bind(self._baseline)
        for element, draw in product({area.element for area in areas}, range(DRAWS)):
            felt = [area for area in areas if area.element == element]
            for area in felt:
                area.begin_draw()
            with self._stage(Stage.NUDGE):
                images = PerturbedLaunches(self._source)
                launch = nudged(images, case.launch, self._facts, element, draw)
            if launch is not None:
                held = ImageStore(self._device, 0, _host_budget())
                self._answer(self._case_of(case, launch, images, held), Stage.NUDGE)
                with self._stage(Stage.NUDGE):
                    expected.feel(felt)

    def _time(self, code: Code, function: Function, job: Job, validated: int, resources: dict[str, int]) -> Measurement:
        state = job.plan.l2 or self._state
        sampler = Sampler(self._device, state)
        measured = [_Samples(case) for case in self._cases]
        message, mismatches = "", list[Mismatch]()
        wanted = max(job.plan.samples, 1)
        while not message and not mismatches and len(measured[-1].candidate) < wanted:
            for samples in measured:
                case = samples.case
                self._enter(case)
                candidate = case.runnable(code, function, derive(case.launch, job.launch))
                message, mismatches = self._sample(sampler, samples, candidate, measured, job.plan, wanted)
                if message or mismatches:
                    break
            else:
                wanted = wanted if job.plan.race is None else blocks_in_all(_ratios(measured), job.plan.race)
        measured = [samples for samples in measured if samples.candidate]
        message = message or _late(sampler) or self._not_perturbed(job)
        if mismatches:
            message = f"{case.launch.launch}: the result differs after repeated launches"
        return Measurement(
            Status.MISMATCH if mismatches else Status.OK,
            message,
            time_ns=_weighted(measured, _candidate),
            baseline_ns=_weighted(measured, _baseline),
            ratio=_ratio(measured),
            by_shape=_by_shape(measured),
            mismatches=tuple(mismatches),
            launches=validated,
            l2=state,
            app_ns=self._app_time([samples.case for samples in measured]),
            mark_overhead_ns=self._mark_overhead_ns,
            resources=resources,
            phases_ns=dict(self._phases),
        )

    def _sample(
        self,
        sampler: Sampler,
        samples: _Samples,
        candidate: Runnable,
        measured: list[_Samples],
        plan: TimingPlan,
        wanted: int,
    ) -> tuple[str, list[Mismatch]]:
        """Take a launch's samples until there are ``wanted``; says why it stopped early, "" if it did not, and what
        differs after a timed launch.

        Samples are balanced blocks, the candidate on the outside in every other one and in the last, so that the memory
        of a timed launch is checked.
        """
        case = samples.case
        baseline = case.runnable(self._baseline, self._baseline_function, derive(case.launch, LaunchConfiguration()))
        count = launches_per_sample(case.expected_ns)
        for _ in range(plan.warmups):
            with self._launch_stage(case, 6 * count):
                sampler.sample(baseline, count)
                sampler.sample(candidate, count)
        while len(samples.candidate) < wanted:
            candidate_outside = (wanted - len(samples.candidate)) % 2 == 1
            with self._launch_stage(case, 12 * count):
                outside, inside = (candidate, baseline) if candidate_outside else (baseline, candidate)
                times = sampler.block(outside, inside, count)
            samples.candidate.append(times[0 if candidate_outside else 1])
            samples.baseline.append(times[1 if candidate_outside else 0])
            if candidate_outside and plan.held_out and len(samples.candidate) < wanted:
                mismatches = self._differences(candidate)  # finalists: after more than the last launch
                if mismatches:
                    return "", mismatches
            if plan.race is not None and self._is_lost(measured, plan.race):
                if not candidate_outside:
                    self._run(case, candidate)
                slower = f"slower than {plan.race.best:.3f}"
                return f"abandoned after {len(samples.candidate)} samples: {slower}", self._differences(candidate)
        return "", self._differences(candidate)

    def _is_lost(self, measured: Sequence[_Samples], race: Race) -> bool:
        """Whether what was measured says so already: some launches speak for all others of their shape alone."""
        known = [samples for samples in measured if samples.candidate]
        shapes = {(case.launch.grid, case.launch.block, case.launch.shared) for case in self._cases}
        return (len(known) == len(measured) or len(shapes) == 1) and is_lost(_ratios(known), race)

    def _not_perturbed(self, job: Job) -> str:
        """Says so where launches are too large to be perturbed."""
        if not job.plan.perturbed or not self._unperturbed:
            return ""
        largest = max(case.memory.size for case in self._unperturbed) / (1 << 30)
        return f"not checked on perturbed inputs: the host has no room for those of a launch on {largest:.1f} GiB"

    def _differences(self, candidate: Runnable) -> list[Mismatch]:
        """What a launch left that it should not have."""
        with self._stage(Stage.CHECK):
            found = candidate.memory.judge(self._tolerances)
        return [each for each in found if isinstance(each, Mismatch)]

    def _doubted(self, measured: Measurement, job: Job) -> Measurement:
        """A time that no kernel can have is no time, until a person has looked at it."""
        if measured.status is not Status.OK or measured.time_ns is None:
            return measured
        changed = self._changed_by_launch()
        with self._stage(Stage.PREPARE):
            time_ns, shortest_ns = measured.time_ns.median, self._floor.shortest_ns(changed)
            if time_ns < shortest_ns:
                self._floor.measure_again()
                shortest_ns = self._floor.shortest_ns(changed)
        measured = msgspec.structs.replace(measured, floor_ns=self._floor.floor_ns(changed))
        if time_ns >= shortest_ns:
            return measured
        message = f"too good: {time_ns:.0f} ns a launch, but writing what changes takes {shortest_ns:.0f} ns"
        return msgspec.structs.replace(measured, status=Status.REJECTED, message=message)

    def _changed_by_launch(self) -> float:
        """Bytes that a launch changes, on the average of those that are timed."""
        for case in self._cases:
            if case.changed is None:
                case.changed = self._changed_bytes(case)
        weight = sum(case.weight for case in self._cases)
        return sum(case.weight * (case.changed or 0) for case in self._cases) / weight

    def _changed_bytes(self, case: _Case) -> int:
        self._enter(case)
        runnable = case.runnable(self._baseline, self._baseline_function, derive(case.launch, LaunchConfiguration()))
        with self._stage(Stage.PREPARE):
            runnable.memory.restore()
            return runnable.memory.changed_bytes()

    def _keep_arguments(self, fixed: frozenset[int]) -> None:
        """Perturbed inputs are those of one set of fixed arguments at a time: they take memory."""
        if fixed != self._fixed:
            self._perturbed.clear()
            self._source.forget()
            self._fixed = fixed

    def _perturbed_case(self, case: _Case) -> _Case | None:
        """The launch on perturbed inputs, with what the original kernel makes of them; None if it has none.

        Raises :class:`_ReferenceFailed` where the original kernel fails on them.
        """
        if case not in self._perturbed:
            try:
                self._perturbed[case] = self._make_perturbed(case)
            except DeviceError as error:
                raise _ReferenceFailed(Stage.REFERENCE) from error
        return self._perturbed[case]

    def _make_perturbed(self, case: _Case) -> _Case | None:
        if not self._has_room(case):
            self._unperturbed.add(case)
            return None
        with self._stage(Stage.REFERENCE):
            launch = self._source.perturb(case.launch, self._facts, self._fixed)
        if launch is None:
            return None
        images = ImageStore(self._device, 0, _host_budget())
        unanswered = self._case_of(case, launch, self._source, images)
        runnable = self._answer(unanswered)
        places = {image.name: self._baseline.global_range(image.name) for image in launch.globals}

        def read(each: Region | GlobalImage) -> npt.NDArray[np.uint8]:
            place = places[each.name] if isinstance(each, GlobalImage) else Range(each.address, each.size)
            if place is None:
                return self._source.image(each.before, each.size)
            return np.frombuffer(self._device.download(place.address, each.size), np.uint8)

        with self._stage(Stage.REFERENCE):
            answered = self._source.answered(launch, read)
        made = self._case_of(case, answered, self._source, images)
        for _ in range(max(self._rules.probes, 2)):
            runnable = self._answer(made)
            with self._stage(Stage.REFERENCE):
                runnable.memory.widen(runnable.memory.recorded(), runnable.memory.observe())
            if not case.memory.varies and not made.memory.varies:
                break  # on the recorded inputs all replays agreed, and here the first two do
        return made

    def _has_room(self, case: _Case) -> bool:
        """Whether the host has room for the launch on other inputs."""
        return case.memory.size * _PERTURBED_COPIES <= _host_budget()

    def _case_of(self, case: _Case, launch: Launch, source: LaunchSource, images: ImageStore) -> _Case:
        """A case on the host's images: what a candidate has to give is not in the device's memory."""
        recorded = RecordedLaunch(launch, case.weight, case.app_ns)
        with self._stage(Stage.REFERENCE):
            memory = LaunchMemory(self._device, images, source, launch, self._facts)
        made = _Case(recorded, memory)
        made.expected_ns = case.expected_ns
        return made

    def _answer(self, case: _Case, stage: Stage = Stage.REFERENCE) -> Runnable:
        """Run the original kernel."""
        geometry = derive(case.launch, LaunchConfiguration())
        self._enter(case)  # a stage of its own: they do not nest
        with self._timed(stage), self._watch.stage(stage, self._longest(case)):
            runnable = case.runnable(self._baseline, self._baseline_function, geometry)
            runnable.memory.restore()
            runnable.launch()
            self._device.synchronise()
        return runnable

    def _run(self, case: _Case, runnable: Runnable) -> None:
        with self._stage(Stage.RESTORE):
            runnable.memory.restore()
            self._device.synchronise()
        with self._launch_stage(case, 1):
            runnable.launch()
            self._device.synchronise()

    def _probe(self, case: _Case) -> None:
        """Replay the baseline a few times: its spread and its time."""
        self._enter(case)
        runnable = case.runnable(self._baseline, self._baseline_function, derive(case.launch, LaunchConfiguration()))
        first = None
        for _ in range(max(self._rules.probes, 2)):
            self._run(case, runnable)
            with self._stage(Stage.CHECK):
                seen = runnable.memory.observe()
                first = seen if first is None else first
                runnable.memory.widen(first, seen)
        sampler = Sampler(self._device, states(self._device)[0])
        with self._launch_stage(case, 4):
            case.expected_ns = min(sampler.sample(runnable, 1) for _ in range(2))

    def _choose_state(self) -> L2State | None:
        """The cache state in which the baseline's time lies nearer to the application's."""
        possible = states(self._device)
        if self._rules.l2 in possible:
            return self._rules.l2
        app = self._app_time(self._cases)
        if len(possible) == 1 or not app:
            return possible[0]
        return nearer_state(self._baseline_time(L2State.WARM), self._baseline_time(L2State.COLD), app)

    def _app_time(self, cases: Sequence[_Case]) -> float:
        """Mean time in the application, without the cost of its marks either; 0 where it was not taken."""
        recorded = _app_time(cases)
        return max(recorded - self._mark_overhead_ns, SHORTEST_NS) if recorded else 0.0

    def _baseline_time(self, state: L2State | None) -> float:
        sampler = Sampler(self._device, state)
        total = 0.0
        for case in self._cases:
            self._enter(case)
            geometry = derive(case.launch, LaunchConfiguration())
            runnable = case.runnable(self._baseline, self._baseline_function, geometry)
            count = launches_per_sample(case.expected_ns)
            with self._launch_stage(case, 10 * count):
                samples = [sampler.sample(runnable, count) for _ in range(5)]
            total += case.weight * interval(samples).median
        return total / sum(case.weight for case in self._cases)

    def _enter(self, case: _Case) -> None:
        if self._current is not case:
            with self._stage(Stage.RESTORE):
                case.memory.enter()
                self._device.synchronise()
            self._current = case

    def _reserve(self, launches: Sequence[Launch]) -> None:
        """Reserve the addresses of all launches in as few pieces as they come in."""
        spans = union(span for launch in launches for span in spans_of(launch.regions, self._device.granule))
        pieces: list[Range] = []
        for span in spans:
            if pieces and span.address - pieces[-1].end < _RESERVATION_GAP:
                pieces[-1] = Range(pieces[-1].address, span.end - pieces[-1].address)
            else:
                pieces.append(span)
        self._device.reserve(pieces)

    @contextmanager
    def _loaded(self, path: Path) -> Iterator[Code]:
        with self._stage(Stage.LOAD):
            code = self._device.load(path)
        try:
            yield code
        finally:
            with suppress(DeviceError):  # a lost context cannot even unload
                code.unload()

    @contextmanager
    def _stage(self, stage: Stage) -> Iterator[None]:
        with self._timed(stage), self._watch.stage(stage, self._rules.transfer_deadline_s):
            yield

    @contextmanager
    def _launch_stage(self, case: _Case, launches: int) -> Iterator[None]:
        with self._timed(Stage.LAUNCH), self._watch.stage(Stage.LAUNCH, self._longest(case) * launches):
            yield

    def _longest(self, case: _Case) -> float:
        """Seconds after which a launch counts as hung."""
        return max(self._rules.launch_deadline_s, _SLOWEST_RATIO * case.expected_ns * 1e-9)

    @contextmanager
    def _timed(self, stage: Stage) -> Iterator[None]:
        began = time.perf_counter_ns()
        try:
            yield
        finally:
            self._phases[stage.value] += time.perf_counter_ns() - began


def _host_budget() -> int:
    """Memory of the host for images that have no room on the device: half of what can be had."""
    return available_memory() // 2


def _image_budget(device: Device, launches: Sequence[Launch]) -> int:
    """Device memory for pristine images: what is left beside the largest launch's own and some for R3 itself."""
    return max(device.free_memory() - _launch_memory(launches, device.granule) - _OWN_MEMORY, 0)


def _launch_memory(launches: Sequence[Launch], granule: int) -> int:
    """Of the largest launch."""
    return max((sum(span.size for span in spans_of(each.regions, granule)) for each in launches), default=0)


def _room(free_before: int, free: int, launches: Sequence[Launch], granule: int) -> int:
    """Sessions that fit beside one, by what its images took; each needs memory for a launch and its own, too."""
    each = max(free_before - free, 0) + _launch_memory(launches, granule) + _OWN_MEMORY
    return max(free // each - 1, 0)


class _Tolerances(Mapping[str, elements.Tolerance | None]):
    """Tolerance by element type under the session's rules."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def __getitem__(self, element: str) -> elements.Tolerance | None:
        return elements.tolerance(element, self._rules.numerics, self._rules.rtol, self._rules.atol)

    def __iter__(self) -> Iterator[str]:
        return iter(FLOATS)

    def __len__(self) -> int:
        return len(FLOATS)


def status_of(error: DeviceError) -> Status:
    """The status that an error's class stands for."""
    by_class: dict[type[DeviceError], Status] = {
        LoadError: Status.LAUNCH_ERROR,
        LaunchError: Status.LAUNCH_ERROR,
        DeviceFault: Status.DEVICE_FAULT,
        DeviceTimeout: Status.TIMEOUT,
        OutOfDeviceMemory: Status.OUT_OF_MEMORY,
    }
    return by_class.get(type(error), Status.WORKER_LOST)


def nearer_state(warm_ns: float, cold_ns: float, app_ns: float) -> L2State:
    """The state whose time lies nearer to the application's; cold where that is above both, as with gaps in it."""
    if app_ns >= max(warm_ns, cold_ns):
        return L2State.COLD
    return L2State.COLD if abs(cold_ns - app_ns) < abs(warm_ns - app_ns) else L2State.WARM


def _late(sampler: Sampler) -> str:
    """What is wrong with a sampler's times, "" if nothing is."""
    if not sampler.late:
        return ""
    return f"{sampler.late} timed launch(es) waited for the host: these times hold more than the kernel"


def _app_time(cases: Sequence[_Case]) -> float:
    """Weighted mean of the application's times, 0 where one was not taken."""
    if not all(case.app_ns for case in cases):
        return 0.0
    return sum(case.weight * case.app_ns for case in cases) / sum(case.weight for case in cases)


def _totals(measured: Sequence[_Samples], side: Callable[[_Samples], list[float]]) -> list[float]:
    """Weighted mean time a launch, sample by sample."""
    count = min(len(side(samples)) for samples in measured)
    weight = sum(samples.case.weight for samples in measured)
    return [
        sum(samples.case.weight * side(samples)[number] for samples in measured) / weight for number in range(count)
    ]


def _weighted(measured: Sequence[_Samples], side: Callable[[_Samples], list[float]]) -> Interval:
    return interval(_totals(measured, side))


def _ratios(measured: Sequence[_Samples]) -> list[float]:
    """Candidate over baseline, block by block."""
    pairs = zip(_totals(measured, _candidate), _totals(measured, _baseline), strict=True)
    return [candidate / max(baseline, 1.0) for candidate, baseline in pairs]


def _ratio(measured: Sequence[_Samples]) -> Interval:
    return interval(_ratios(measured))


def _by_shape(measured: Sequence[_Samples]) -> tuple[ShapeTime, ...]:
    """Times shape by shape; none where there is one shape."""
    shapes: dict[tuple[Dim3, Dim3, int], list[_Samples]] = {}
    for samples in measured:
        launch = samples.case.launch
        shapes.setdefault((launch.grid, launch.block, launch.shared), []).append(samples)
    return tuple(_shape_time(*shape, group) for shape, group in shapes.items()) if len(shapes) > 1 else ()


def _shape_time(grid: Dim3, block: Dim3, shared: int, group: Sequence[_Samples]) -> ShapeTime:
    weight = sum(samples.case.weight for samples in group)
    mean = sum(samples.case.weight * interval(samples.baseline).median for samples in group) / weight
    return ShapeTime(grid, block, shared, weight, mean, _ratio(group).median)


def _candidate(samples: _Samples) -> list[float]:
    return samples.candidate


def _baseline(samples: _Samples) -> list[float]:
    return samples.baseline
