from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from r3cc.farm import EvaluatorSettings
from r3cc.farm.local import LocalEvaluator
from r3cc.remix.loop.cascade import FULL, QUICK
from r3cc.remix.model import Rejection
from r3cc.remix.prompts import feedback
from r3cc.remix.source import ModuleSource, StoreSourceBuilder
from r3cc.replay.compile import CompileSetup
from r3cc.replay.model import Candidate, LaunchConfiguration
from r3cc.store.binary import read_binary
from r3cc.store.model import Kernel, Parameter, Shape
from r3cc.store.variants import variants_folder
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_program
from tests.once import once
from tests.replay.launches import MemoryLaunches, make_launch

HERE = Path(__file__).parent
COUNT = 1000
X, Y, Z, ORDER = 0x610000000000, 0x610000100000, 0x610000200000, 0x610000300000
WAIT_S = 120
Judge = Callable[[dict[str, str]], Rejection | None]


def recorded() -> MemoryLaunches:
    """A launch whose later outputs were there before it: the program had called the kernel twice."""
    source = MemoryLaunches()
    x, y, a = 1.0 + np.arange(COUNT) / COUNT, np.full(COUNT, 0.5), 3.0
    z, scale, launches = 2.0 * np.sqrt(x), np.array([0.0, 2.0]), np.array([7], np.int32)
    arguments = np.array([COUNT, 0], np.int32).tobytes() + np.array([a]).tobytes()
    arguments += np.array([X, Y, Z, ORDER], np.uint64).tobytes() + np.array([0, 1], np.int32).tobytes()
    order = np.arange(COUNT - 1, -1, -1, dtype=np.int32)
    launch = make_launch(
        [
            source.region(X, x, x),
            source.region(Y, y, a * x + y),
            source.region(Z, z, z),
            source.region(ORDER, order, order),
        ],
        [source.variable("scale", scale, scale), source.variable("launches", launches, launches + 1)],
        arguments,
        name="relax",
        grid=(8, 1, 1),
        block=(128, 1, 1),
    )
    places = ((0, 4), (8, 8), (16, 8), (24, 8), (32, 8), (40, 8), (48, 8))
    source.add(msgspec.structs.replace(launch, parameters=tuple(Parameter(*place) for place in places)))
    return source


@pytest.fixture(scope="session")
def original(shared: Path) -> Path:
    """A library that holds relax.cu as r3-clang++ builds it."""
    cuda = find_cuda()
    assert cuda is not None
    options = ["-O3", "--offload-arch=sm_90", f"--cuda-path={cuda.path}", "-Wno-unknown-cuda-version"]
    command = [str(native_program("r3-clang++")), *options, "-fPIC", "-shared", "-nostdlib", str(HERE / "relax.cu")]

    def make(library: Path) -> None:
        subprocess.run([*command, "-o", str(library)], check=True, cwd=library.parent)

    return once(shared / "cheats" / "relax.so", make)


@pytest.fixture(scope="session")
def judge(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """Takes new texts by region through building and replay, as remix does; says why they are rejected."""
    store = tmp_path_factory.mktemp("store")
    (module,) = read_binary(original)
    bitcode = store / "module.bc"
    bitcode.write_bytes(module.bitcode)
    shape = Shape((8, 1, 1), (128, 1, 1), 0, 1, 1000)
    kernel = Kernel(module.info["module"], "relax", "relax", "cpu", 1, 1000, 1, 1, 1.0, (shape,), ())
    setup = CompileSetup(bitcode, module.info, "relax", "cpu", "sm_90", store / "cache", variants_folder(store))
    settings = EvaluatorSettings(compile_processes=1, launch_deadline_s=3.0, probes=2)
    with (
        ModuleSource(module.info, module.bitcode) as source,
        LocalEvaluator(recorded(), setup, "cpu", settings) as evaluator,
    ):
        builder = StoreSourceBuilder(store, kernel, source)
        assert evaluator.baseline().status == "ok", evaluator.baseline().message

        def judged(texts: dict[str, str], launch: LaunchConfiguration = LaunchConfiguration()) -> Rejection | None:  # noqa: B008
            built = builder.build(texts)
            if isinstance(built, Rejection):
                return built
            candidate = Candidate(launch=launch, variant=built.variant.id)
            for plan in (QUICK, FULL):
                evaluation = evaluator.submit(candidate, plan).result(WAIT_S)
                if wrong := feedback.judged(evaluation, held_out=plan.held_out):
                    return wrong
            return None

        judged.texts = {each.name: each.text for each in builder.source.regions}  # type: ignore[attr-defined]
        yield judged
