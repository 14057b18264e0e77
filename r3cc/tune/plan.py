"""From what the user asked for to kernels with plans, spaces and evaluators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from r3cc.errors import R3Error
from r3cc.farm.evaluator import EvaluatorSettings
from r3cc.farm.executor import ExecutorEvaluator, Opener, StoreOpener
from r3cc.farm.executors import Workers
from r3cc.farm.local import ALL_CUDA, check_device, compile_setup, devices_of
from r3cc.replay.events import KernelPlan
from r3cc.replay.foreign import foreign_setup
from r3cc.replay.model import Numerics
from r3cc.replay.tables import recorded_tables
from r3cc.store import Store
from r3cc.store.model import Kernel
from r3cc.tune.amd_knobs import AMD_KERNEL_KNOBS, AMD_MODULE_KNOBS
from r3cc.tune.blocks import Shape
from r3cc.tune.foreign import foreign_space
from r3cc.tune.found import Library
from r3cc.tune.knob_space import KnobSpace
from r3cc.tune.knobs import KERNEL_KNOBS, MODULE_KNOBS, Knob, allowed
from r3cc.tune.llvm_facts import LLVMFacts
from r3cc.tune.search import Target
from r3cc.tune.space import Space, SpaceSummary
from r3cc.tune.specialisation import Constants, constants
from r3cc.tune.unit import Member, Unit, UnitOpener

COVERED = 0.9
"""Part of the device time that the kernels make up which are tuned by default."""


class KernelOptions(msgspec.Struct, frozen=True):
    """What holds for one kernel: from the command line and its ``[[kernel]]`` entry."""

    numerics: Numerics = Numerics.ROUNDING
    rtol: float | None = None
    atol: float | None = None
    skip: bool = False
    specialise: bool = False
    """Arguments and launch dimensions may become constants."""


OptionsOf = Callable[[Kernel], KernelOptions]


def with_ir(kernel: Kernel) -> bool:
    """Whether a kernel was recorded with its IR."""
    return kernel.recorded > 0 and kernel.has_ir


def with_code(kernel: Kernel) -> bool:
    """Whether a kernel was recorded at all: with its IR, or with its machine code or PTX."""
    return kernel.recorded > 0


class Choice(msgspec.Struct, frozen=True):
    """A kernel to tune, on a device, with its options."""

    kernel: Kernel
    device: str
    options: KernelOptions
    alone: bool
    """No other kernel of its module was launched, or it has no IR and so goes into no build: module-scope knobs are its
    own; else they are its unit's."""

    @property
    def plan(self) -> KernelPlan:
        """Its line in the event log."""
        options = self.options
        plan = KernelPlan.of(self.kernel, options.numerics, options.rtol, options.atol)
        return msgspec.structs.replace(plan, changes_module=self.alone, specialise=options.specialise)


def choose(
    store: Store,
    recording: str,
    names: Sequence[str],
    device: str | None,
    options_of: OptionsOf,
    takes: Callable[[Kernel], bool] = with_ir,
) -> list[Choice]:
    """The kernels that ``names`` mean, else of those that a search ``takes`` the ones that make up 90 % of device time.

    Raises R3Error when there are none.
    """
    every = store.kernels(recording)
    modules = Counter(kernel.module for kernel in every)
    named = list({(k := store.find_kernel(name, recording)).id: k for name in names}.values())
    kernels = named or by_default(every, options_of, takes)
    if not kernels:
        raise R3Error(_why_none(every, recording))
    return [
        Choice(
            kernel,
            check_device(kernel, device or every_device(kernel)),
            options_of(kernel),
            modules[kernel.module] == 1 or not kernel.has_ir,
        )
        for kernel in kernels
    ]


def every_device(kernel: Kernel) -> str | None:
    """All devices of this machine where it has several of the kind; None: the one that the kernel was recorded on."""
    several = kernel.device.startswith("cuda:") and len(devices_of(ALL_CUDA)) > 1
    return ALL_CUDA if several else None


def by_default(
    kernels: Sequence[Kernel], options_of: OptionsOf, takes: Callable[[Kernel], bool] = with_ir
) -> list[Kernel]:
    """Kernels that ``takes`` holds for, by share, until 90 % of device time is covered; ``skip`` leaves some out."""
    chosen, covered = [], 0.0
    for kernel in kernels:
        if covered >= COVERED:
            break
        covered += kernel.share
        if takes(kernel) and not options_of(kernel).skip:
            chosen.append(kernel)
    return chosen


def target(store: Store, recording: str, choice: Choice, facts: LLVMFacts, workers: Workers | None = None) -> Target:
    """What a search needs of a kernel; evaluations on an executor's workers where there is one."""
    space = build_space(store, recording, choice, facts)
    opener = StoreOpener(store.path, choice.kernel, choice.device, _settings(choice), recording)
    if isinstance(space, KnobSpace):
        return Target(choice.plan, space, on(workers, opener))
    library = Library.of(store.path)
    return Target(choice.plan, space, on(workers, opener), lambda: library.seeds(space, choice.device))


def units_of(store: Store, recording: str, choices: Sequence[Choice], workers: Workers | None = None) -> list[Unit]:
    """Modules of which several kernels ran, each with those of its kernels that are tuned, by share."""
    every = store.kernels(recording)
    by_module: dict[str, list[Choice]] = {}
    for choice in choices:
        if not choice.alone and unit_obstacle(every, choice) is None:
            by_module.setdefault(choice.kernel.module, []).append(choice)
    units = [_unit(store, recording, chosen, every, workers) for chosen in by_module.values()]
    return sorted((unit for unit in units if unit.space.knobs), key=lambda unit: -unit.plan.share)


def unit_obstacle(every: Sequence[Kernel], choice: Choice) -> str | None:
    """Why the module-scope values of a kernel's unit cannot be searched, in a few words; None when they can."""
    unseen = [k for k in every if k.module == choice.kernel.module and not k.recorded]
    return f"its unit's {unseen[0].demangled} ran and was not recorded" if unseen else None


def _unit(
    store: Store, recording: str, chosen: Sequence[Choice], every: Sequence[Kernel], workers: Workers | None
) -> Unit:
    first = chosen[0]
    module = first.kernel.module
    inside = {choice.kernel.id for choice in chosen}
    others = [kernel for kernel in every if kernel.module == module and kernel.id not in inside]
    beside = [msgspec.structs.replace(first, kernel=kernel) for kernel in others]
    share = sum(choice.kernel.share for choice in chosen)
    name = "module-scope values"
    plan = KernelPlan(module, module, "", name, share, first.options.numerics, changes_module=True)

    def opener(of: Sequence[Choice]) -> UnitOpener:
        return UnitOpener(tuple(_member(store, recording, choice) for choice in of))

    return Unit(
        plan,
        tuple(choice.kernel.id for choice in chosen),
        KnobSpace(unit_knobs(chosen)),
        on(workers, opener(chosen)),
        on(workers, opener([*chosen, *beside])),
    )


def _member(store: Store, recording: str, choice: Choice) -> Member:
    settings = msgspec.structs.replace(_settings(choice), compile_processes=1)
    opener = StoreOpener(store.path, choice.kernel, choice.device, settings, recording)
    return Member(choice.kernel.demangled, choice.kernel.share, opener)


def on(workers: Workers | None, opener: Opener) -> Opener:
    """What opens the same evaluator on an executor's workers; here, without one."""
    return opener if workers is None else lambda: ExecutorEvaluator(workers.executor, opener, workers.width)


def unit_knobs(chosen: Sequence[Choice]) -> tuple[Knob, ...]:
    """Module-scope knobs that every one of a unit's kernels may have."""
    each = [allowed(every_knob(choice.device)[1], choice.options.numerics, choice.device != "cpu") for choice in chosen]
    return tuple(knob for knob in each[0] if all(knob in knobs for knobs in each))


def _settings(choice: Choice) -> EvaluatorSettings:
    options = choice.options
    return EvaluatorSettings(numerics=options.numerics, rtol=options.rtol, atol=options.atol)


def build_space(store: Store, recording: str, choice: Choice, facts: LLVMFacts) -> Space | KnobSpace:
    """The search space of a kernel. Raises R3Error where the store has no code of it."""
    kernel = choice.kernel
    launches = store.launches(kernel, recording)
    shapes = {Shape(launch.grid, launch.block, launch.shared) for launch in launches}
    ordered = sorted(shapes, key=lambda shape: (shape.block, shape.grid, shape.shared))
    if not kernel.has_ir:
        setup = foreign_setup(store, store.module(kernel.module), kernel, choice.device, "")
        return foreign_space(setup, ordered, choice.options.numerics)
    setup = compile_setup(store, kernel, choice.device, "")
    llvm = facts.target(setup.info, setup.device)
    description = facts.kernel(setup.bitcode, kernel.name)
    pipeline = str(setup.info["codegen"]["pipeline"])
    special = Constants()
    if choice.options.specialise:
        found = facts.tables(setup.bitcode, kernel.name)
        names = [parameter.name for parameter in description.parameters]
        tables = recorded_tables(found, names, launches, store)
        special = constants(description, launches, found.values, tables)
    return Space(llvm.base, llvm.vocabulary, knobs_of(choice), description, ordered, pipeline, constants=special)


def every_knob(device: str) -> tuple[tuple[Knob, ...], tuple[Knob, ...]]:
    """Knobs of kernels and of modules on a kind of device."""
    return (AMD_KERNEL_KNOBS, AMD_MODULE_KNOBS) if device.startswith("hip") else (KERNEL_KNOBS, MODULE_KNOBS)


def knobs_of(choice: Choice) -> tuple[Knob, ...]:
    """Knobs of the kernel, and of its module where it is alone in it."""
    of_kernel, of_module = every_knob(choice.device)
    knobs = (*of_kernel, *of_module) if choice.alone else of_kernel
    return allowed(knobs, choice.options.numerics, choice.device != "cpu")


def summarise(choice: Choice, space: Space | KnobSpace, every: Sequence[Kernel]) -> SpaceSummary:
    """A kernel's space as ``--show-space`` prints it; ``every`` is the recording's kernels."""
    kernel = choice.kernel
    if isinstance(space, KnobSpace):
        return SpaceSummary(
            kernel=kernel.id,
            name=kernel.demangled,
            device=choice.device,
            recorded_pipeline="",
            base="",
            places=0,
            passes=(),
            knobs=space.knobs,
            fixed_block=space.fixed_block,
        )
    obstacle = None if choice.alone else unit_obstacle(every, choice)
    shared = () if choice.alone else unit_knobs([choice])
    return SpaceSummary(
        kernel=kernel.id,
        name=kernel.demangled,
        device=choice.device,
        recorded_pipeline=space.recorded_pipeline,
        base=str(space.base),
        places=len(space.base.places),
        passes=tuple(sorted(space.vocabulary)),
        knobs=space.knobs,
        fixed_block=space.fixed_block,
        unit_knobs=() if obstacle else shared,
        left_out=tuple(f"{knob.key}: {obstacle}" for knob in shared) if obstacle else (),
    )


def _why_none(kernels: Sequence[Kernel], recording: str) -> str:
    if not kernels:
        return f"the recording {recording} holds no kernel; `r3 record -- app` again, or see `r3 store ls`"
    if not any(kernel.recorded for kernel in kernels):
        return f"no kernel of the recording {recording} has a recorded launch; `r3 ls` says why"
    return "every kernel is skipped by [[kernel]] entries of the settings file; name one on the command line"
