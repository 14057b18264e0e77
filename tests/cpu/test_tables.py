"""Code with tables as constants computes what the kernel computes, whatever the tables hold when it is launched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from r3cc.llvm import CompileRequest, Passes
from r3cc.llvm.model import SpecialiseRequest
from r3cc.record.cpu_modules import link_module
from tests.cpu.conftest import Capture
from tests.cpu.engine import Launch, run

SOURCE = "tables.cu"
COUNT = 128
PIPELINES = ["default<O3>", "function(sroa,gvn)"]
Compute = Callable[[Sequence[Launch]], list[Any]]


@pytest.fixture(scope="session")
def kernel(capture: Capture, engine: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Compute]:
    """What launches of a kernel leave in their last argument, with or without something in its code."""

    def make(name: str, pipeline: str, **wanted: Any) -> Compute:
        passes = Passes()
        alone = passes.extract(capture(SOURCE), name)
        if wanted:
            alone = passes.specialise(alone, SpecialiseRequest(name, **wanted))
        code = passes.compile(passes.lower_to_host(alone), CompileRequest(pipeline, emit="object")).output
        module = link_module(code, tmp_path_factory.mktemp("module"))

        def compute(launches: Sequence[Launch]) -> list[Any]:
            answer = run(engine, module, launches)
            assert answer.status == 0, answer.message
            return [arrays[-1] for arrays in answer.arrays]

        return compute

    return make


def variants(content: bytes, random: np.random.Generator) -> list[bytes]:
    """The content, others that differ from it in one bit of each two bytes, and random ones."""
    given = np.frombuffer(content, np.uint8)
    flipped = []
    for place in range(0, len(given), 2):
        other = given.copy()
        other[place + random.integers(2)] ^= np.uint8(1 << random.integers(8))
        flipped.append(other.tobytes())
    return [content, *flipped, *(random.bytes(len(content)) for _ in range(3))]


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("seed", [1, 2])
def test_variables(kernel: Callable[..., Compute], pipeline: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    weights = np.array([0.5, -0.0, random.normal(), 1, random.normal()], np.float32).tobytes()
    dials = random.integers(-9, 9, 4, np.int16).tobytes()
    contents = {"weights": weights, "dials": dials}
    which, x = random.integers(0, 99, COUNT, np.int32), random.normal(size=COUNT + 5).astype(np.float32)
    pairs = [(each, dials) for each in variants(weights, random)] + [
        (weights, each) for each in variants(dials, random)
    ]
    launches = [
        Launch(
            "filter", (2, 1, 1), (64, 1, 1), (np.int32(100), which, x, np.zeros(COUNT)), 0, {"weights": w, "dials": d}
        )
        for w, d in pairs
    ]
    expected = kernel("filter", pipeline)(launches)
    assert len({each.tobytes() for each in expected}) > 10
    for tables in [("weights", "dials"), ("weights",), ("dials",)]:
        words = tuple(f"@{name}={contents[name].hex()}" for name in tables)
        np.testing.assert_array_equal(kernel("filter", pipeline, tables=words)(launches), expected)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_memory_behind_an_argument(kernel: Callable[..., Compute], pipeline: str) -> None:
    random = np.random.default_rng(3)
    terms = np.array([2.5]).tobytes() + bytes(8) + np.array([-0.0, 1.5], np.float32).tobytes()
    y = random.normal(size=COUNT)
    launches = [
        Launch("apply", (2, 1, 1), (64, 1, 1), (np.int32(100), np.frombuffer(each, np.uint8).copy(), y.copy()))
        for each in variants(terms, random)
    ]
    launches.append(Launch("apply", (2, 1, 1), (64, 1, 1), (np.int32(0), np.uint64(0), y.copy())))
    special = kernel("apply", pipeline, tables=(f"1+0={terms[:8].hex()}", f"1+16={terms[16:].hex()}"))
    np.testing.assert_array_equal(special(launches), kernel("apply", pipeline)(launches))


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_struct_by_value_that_the_kernel_changes(kernel: Callable[..., Compute], pipeline: str) -> None:
    given = np.frombuffer(np.array([0.5, 3, -2]).tobytes() + np.array([2, 0], np.int32).tobytes(), np.uint8)
    y = np.random.default_rng(4).normal(size=COUNT)
    launches = [
        Launch("cycle", (2, 1, 1), (64, 1, 1), (given.copy().view("V32")[0], np.int32(n), y.copy())) for n in (1, 7)
    ]
    special = kernel("cycle", pipeline, arguments=(f"0={given.tobytes().hex()}",))
    np.testing.assert_array_equal(special(launches), kernel("cycle", pipeline)(launches))


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_guard_behind_another(kernel: Callable[..., Compute], pipeline: str) -> None:
    random = np.random.default_rng(5)
    weights, scale = random.normal(size=5).astype(np.float32).tobytes(), np.array([0.75], np.float32).tobytes()
    x = random.normal(size=COUNT + 5).astype(np.float32)
    pairs = [(each, scale) for each in variants(weights, random)] + [
        (weights, each) for each in variants(scale, random)
    ]
    launches = [
        Launch("halves", (2, 1, 1), (64, 1, 1), (np.frombuffer(s, np.float32), x, np.zeros(COUNT)), 0, {"weights": w})
        for w, s in pairs
    ]
    special = kernel("halves", pipeline, tables=(f"@weights={weights.hex()}", f"0+0={scale.hex()}"))
    np.testing.assert_array_equal(special(launches), kernel("halves", pipeline)(launches))
