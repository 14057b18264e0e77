"""From chosen kernels to what a remix search needs of each: source, evaluator, space, and the sheet for its prompts."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from r3cc.errors import R3Error
from r3cc.farm.evaluator import EvaluatorSettings
from r3cc.farm.executor import Opener, StoreOpener
from r3cc.farm.executors import Workers
from r3cc.farm.local import compile_setup
from r3cc.llvm.inspect import kernel_remarks
from r3cc.remix.artefact import Artefact
from r3cc.remix.model import SourceKernel, Variant
from r3cc.remix.prompts.occupancy import occupancy
from r3cc.remix.prompts.scattered import scattered
from r3cc.remix.search import Target
from r3cc.remix.sheet import Sheet
from r3cc.remix.source.builder import StoreSourceBuilder
from r3cc.remix.source.module import ModuleSource
from r3cc.remix.source.parameters import expand
from r3cc.replay.elements import tolerance
from r3cc.replay.events import Result, read_log
from r3cc.replay.model import Evaluation
from r3cc.store import Store
from r3cc.store.arguments import kernel_info
from r3cc.store.demangle import base_name, demangle
from r3cc.store.model import Dim3, Kernel
from r3cc.store.model import Shape as LaunchShape
from r3cc.store.variants import variant_paths
from r3cc.tune.blocks import Shape, volume
from r3cc.tune.llvm_facts import LLVMFacts
from r3cc.tune.plan import Choice, KernelOptions, knobs_of, on
from r3cc.tune.space import Space

LONGEST_CONTEXT = 10_000
"""Characters that a prompt shows of a file around its regions."""
REMARKS_SHOWN = 12
_NOT_DONE = re.compile(r"\bnot\b|\bfailed\b|\bunable\b|\bcannot\b")
CPU_FACTS = (
    "A CPU that runs the kernel's own device IR: {cores} cores with caches, each takes whole blocks",
    "A kernel without barriers and warp operations runs as a plain loop over the threads of a block, which LLVM may "
    "vectorise; one with them runs a fiber a thread, which costs far more a thread",
    "Threads of a block run one after another: neighbouring threads on neighbouring data, little work per access",
    "Of CUDA's cache hints it has __ldg alone",
)
GPU_FACTS = (
    "Warps of 32 threads; global accesses of a warp are served in 32-byte sectors",
    "The compiler is clang: of CUDA's cache hints it has __ldg, __ldcg, __ldcs, __ldcv and __stwt, no others",
)


@dataclass(frozen=True)
class Unusable:
    """A kernel that cannot be remixed, and why."""

    kernel: Kernel
    reason: str


class Planner:
    """Makes targets; what it opens is closed at the end of its ``with`` block."""

    def __init__(self, store: Store, recording: str, facts: LLVMFacts, workers: Workers | None = None) -> None:
        """``workers``: an executor that evaluates; None for this machine, where sources are compiled in any case."""
        self._workers = workers
        self._store = store
        self._recording = recording
        self._facts = facts
        self._open = ExitStack()
        self._modules: dict[str, ModuleSource] = {}

    def targets(self, choices: Sequence[Choice]) -> tuple[list[Target], list[Unusable]]:
        """Targets of the kernels whose source can be rebuilt, and the others. Raises R3Error when none is left."""
        targets, unusable = [], []
        for choice in choices:
            try:
                targets.append(self._target(choice))
            except R3Error as error:
                unusable.append(Unusable(choice.kernel, str(error)))
        if not targets:
            raise R3Error("; ".join(f"{each.kernel.demangled}: {each.reason}" for each in unusable))
        return targets, unusable

    def _target(self, choice: Choice) -> Target:
        kernel = choice.kernel
        builder = StoreSourceBuilder(self._store.path, kernel, self._module(kernel.module))
        launches = self._store.launches(kernel, self._recording)
        return Target(
            plan=choice.plan,
            builder=builder,
            open_evaluator=self._opener(choice),
            space_of=partial(self._space, choice),
            sheet_of=partial(self._sheet, choice, builder.source),
            resolve=resolved,
            dynamic_shared=max((launch.shared for launch in launches), default=0),
            directory=self._module(kernel.module).directory,
        )

    def _module(self, module: str) -> ModuleSource:
        """The source of a module, opened once for all of its kernels."""
        if module not in self._modules:
            self._modules[module] = self._open.enter_context(ModuleSource.open(self._store, module))
        return self._modules[module]

    def _opener(self, choice: Choice) -> Opener:
        options = choice.options
        settings = EvaluatorSettings(numerics=options.numerics, rtol=options.rtol, atol=options.atol)
        return on(self._workers, StoreOpener(self._store.path, choice.kernel, choice.device, settings, self._recording))

    def _space(self, choice: Choice, variant: Variant) -> Space:
        """What the tuner may vary on a variant: its own IR says which launches are legal."""
        kernel = choice.kernel
        setup = compile_setup(self._store, kernel, choice.device, "")
        llvm = self._facts.target(setup.info, choice.device)
        description = self._facts.kernel(variant_paths(self._store.path, variant.id)[0], kernel.name)
        launches = self._store.launches(kernel, self._recording)
        shapes = {Shape(launch.grid, launch.block, launch.shared) for launch in launches}
        ordered = sorted(shapes, key=lambda shape: (shape.block, shape.grid, shape.shared))
        pipeline = str(setup.info["codegen"]["pipeline"])
        return Space(llvm.base, llvm.vocabulary, knobs_of(choice), description, ordered, pipeline)

    def _sheet(self, choice: Choice, source: SourceKernel, baseline: Evaluation, original: Artefact | None) -> Sheet:
        kernel = choice.kernel
        processes = self._store.processes(self._recording)
        process = next((each for each in processes if each.device.split(":")[0] == choice.device.split(":")[0]), None)
        on_cpu = choice.device == "cpu"
        cores = len(os.sched_getaffinity(0))
        architecture = "" if on_cpu or process is None else process.architecture
        shape = max(kernel.shapes, key=lambda shape: shape.total_ns, default=None)
        threads = volume(shape.block) if shape is not None else 0
        return Sheet(
            device_name=process.device_name if process is not None else choice.device,
            architecture=architecture,
            demangled=kernel.demangled,
            share=kernel.share,
            numerics=allowed_differences(choice.options),
            grants_rounding=grants_rounding(choice.options),
            device_facts=tuple(fact.format(cores=cores) for fact in CPU_FACTS) if on_cpu else GPU_FACTS,
            parameters=self._parameters(kernel),
            launches=_launches(kernel),
            context=context_of(source, self._module(kernel.module).directory),
            block_threads=threads,
            dynamic_shared=shape.shared if shape is not None else 0,
            profile=(
                *_profile(baseline, original),
                *_occupancy(architecture, threads, shape, baseline.resources),
                *(() if on_cpu or shape is None else self._scattered(choice, shape.block)),
            ),
            tuned=self._tuned(kernel),
            remarks=self._remarks(kernel),
        )

    def _parameters(self, kernel: Kernel) -> tuple[str, ...]:
        known = kernel_info(self._store.module(kernel.module), kernel.name).get("parameters", [])
        return tuple(
            f"{parameter.get('name') or f'parameter {number}'}: {parameter['type']}, {parameter['size']} bytes"
            for number, parameter in enumerate(known)
        )

    def _scattered(self, choice: Choice, block: Dim3) -> tuple[str, ...]:
        setup = compile_setup(self._store, choice.kernel, choice.device, "")
        return scattered(self._facts.kernel(setup.bitcode, choice.kernel.name).accesses, block)

    def _remarks(self, kernel: Kernel) -> tuple[str, ...]:
        """What the optimiser could not do with the original; a prompt can do without."""
        info = self._store.module(kernel.module).info
        try:
            return missed(kernel_remarks(self._store.bitcode(kernel.module), kernel.name, info["codegen"]), kernel.name)
        except R3Error:
            return ()

    def _tuned(self, kernel: Kernel) -> tuple[str, ...]:
        """What the latest tune search of this recording found for the kernel."""
        for search in reversed(self._store.searches.all()):
            try:
                events = read_log(search.events_path)
            except R3Error:
                continue
            if not events or getattr(events[0], "recording", None) != self._recording:
                continue
            for event in events:
                if isinstance(event, Result) and event.kernel == kernel.id and not event.strategy and event.speedup:
                    return _tuned_lines(event)
        return ()

    def close(self) -> None:
        """Close what was opened."""
        self._open.close()

    def __enter__(self) -> Planner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def allowed_differences(options: KernelOptions) -> str:
    """How far results may be from the recorded ones, as validation takes them."""
    found = []
    for element in ("double", "float"):
        allowed = tolerance(element, options.numerics, options.rtol, options.atol)
        if allowed is None:
            return "every byte of the results must be the same"
        unit = "" if allowed.absolute else " times the largest magnitude in its array"
        found.append(f"a {element} may be off by {allowed.rtol:g} of its own value plus {allowed.atol:g}{unit}")
        if math.isfinite(allowed.norm):
            found[-1] += f", all of an array together (Euclidean norm) by {allowed.norm:g}"
    return f"{'; '.join(found)}; integers not at all"


def grants_rounding(options: KernelOptions) -> bool:
    """Whether validation asks the original what rounding does where results cancel."""
    allowed = tolerance("double", options.numerics, options.rtol, options.atol)
    return allowed is not None and allowed.by_sensitivity


def missed(remarks: Sequence[str], kernel: str) -> tuple[str, ...]:
    """The remarks on a kernel that tell of something not done, each once, with names as people read them."""
    shown = dict.fromkeys(
        re.sub(r"'?(_Z\w+)'?", lambda match: base_name(demangle(match[1])), remark)
        for remark in (each.removesuffix(f" (in {kernel})") for each in remarks if each.endswith(f"(in {kernel})"))
        if _NOT_DONE.search(remark)
    )
    return tuple(shown)[:REMARKS_SHOWN]


def resolved(texts: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """Texts with the values of their parameters."""
    return {name: expand(text, values) for name, text in texts.items()}


def context_of(source: SourceKernel, directory: Path) -> tuple[tuple[str, str], ...]:
    """By file: its text up to the last region, each region as its name alone, the nearest part of what is long."""
    found = []
    for path in dict.fromkeys(region.path for region in source.regions):
        try:
            content = (directory / path).read_bytes()
        except OSError:
            continue
        parts, at = [], 0
        for region in sorted((each for each in source.regions if each.path == path), key=lambda region: region.begin):
            parts += [content[at : region.begin].decode(errors="replace"), f"/* region {region.name} */"]
            at = region.end
        text = without_comments("".join(parts))
        found.append((path.rsplit("/", 1)[-1], text[-LONGEST_CONTEXT:]))
    return tuple(found)


def without_comments(text: str) -> str:
    """Text without lines that are a comment, and without repeated empty lines."""
    kept = re.sub(r"^[ \t]*//.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", kept).strip()


def _launches(kernel: Kernel) -> tuple[str, ...]:
    shapes = sorted(kernel.shapes, key=lambda shape: (-shape.total_ns, shape.grid, shape.block))
    return tuple(
        f"grid {_extents(shape.grid)}, block {_extents(shape.block)}, {shape.shared} dynamic shared bytes, "
        f"{shape.launches} times"
        for shape in shapes[:8]
    )


def _extents(extents: Sequence[int]) -> str:
    return "x".join(map(str, extents))


def _profile(baseline: Evaluation, original: Artefact | None) -> tuple[str, ...]:
    lines = []
    time = baseline.baseline_ns or baseline.time_ns
    if time is not None:
        lines.append(f"{time.median / 1000:.4g} us a launch")
    if baseline.resources:
        lines.append(
            ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in sorted(baseline.resources.items()))
        )
    if original is not None:
        lines.append(
            f"Its optimised code holds {original.accesses} global accesses of {original.bytes} bytes in all, the "
            f"widest of {original.widest} bytes, and {original.flops} floating-point operations (loops counted once)"
        )
    return tuple(lines)


def _occupancy(
    architecture: str, threads: int, shape: LaunchShape | None, resources: Mapping[str, int]
) -> tuple[str, ...]:
    found = occupancy(architecture, threads, resources, shape.shared) if shape is not None else None
    return (str(found),) if found is not None else ()


def _tuned_lines(result: Result) -> tuple[str, ...]:
    assert result.speedup is not None
    if result.n is None:
        return ("nothing that is faster beyond noise",)
    return (f"{result.speedup.median:.2f}x faster with: {', '.join(result.changes)}",)
