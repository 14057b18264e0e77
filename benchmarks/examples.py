"""The mini-apps as the search benchmarks use them: built, recorded, their kernels with spaces."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import ROOT, Options, build, record_command, run
from r3cc.store import Store
from r3cc.store.model import Kernel
from r3cc.tune.llvm_facts import LLVMFacts
from r3cc.tune.plan import Choice, KernelOptions, build_space
from r3cc.tune.space import Space


@dataclass(frozen=True)
class MiniApp:
    """A program with its arguments on the cpu device and on a GPU."""

    source: str
    small: tuple[str, ...]
    large: tuple[str, ...]

    @property
    def name(self) -> str:
        return Path(self.source).stem


WEATHER = MiniApp("examples/weather/weather.cu", ("64", "3"), ("2048", "10"))
CG = MiniApp("examples/cg/cg.cu", ("8", "400"), ("128", "2000"))
HYDRO = MiniApp("examples/hydro/hydro.cu", ("32", "5"), ("1024", "10"))
ALL = (WEATHER, CG, HYDRO)
SHAPES = MiniApp("benchmarks/programs/shapes.cu", ("192",), ("4096",))
"""No mini-app: kernels of one to three axes whose time depends on their block."""


def recorded(app: MiniApp, options: Options) -> Store:
    """The app's recording on the options' device, made anew."""
    path = options.out / f"{app.name}-store"
    shutil.rmtree(path, ignore_errors=True)
    program = build(ROOT / app.source, options)
    arguments = app.small if options.device == "cpu" else app.large
    run([*record_command(path, options.device), "--", program, *arguments])
    return Store.open(path)


def heaviest(store: Store, count: int) -> list[Kernel]:
    """The kernels with the largest shares of time, of those that were recorded."""
    return [kernel for kernel in store.kernels(store.recording(None).id) if kernel.recorded][:count]


def spaces(store: Store, kernels: Sequence[Kernel], device: str) -> list[tuple[Choice, Space]]:
    """What ``r3 tune`` would search for each kernel that has IR."""
    recording = store.recording(None).id
    choices = [Choice(kernel, device, KernelOptions(), False) for kernel in kernels]
    with LLVMFacts() as facts:
        built = [(choice, build_space(store, recording, choice, facts)) for choice in choices]
    return [(choice, space) for choice, space in built if isinstance(space, Space)]
