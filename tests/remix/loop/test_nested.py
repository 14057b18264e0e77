"""What the tuner under the archive may take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.remix.events import Tuned
from r3cc.remix.loop.journal import Journal
from r3cc.remix.loop.nested import Best, NestedTuner
from r3cc.remix.model import Built, Parameter, Rejection, Stage, Variant
from r3cc.replay.model import Candidate, Interval
from r3cc.store.eventlog import EventLog

FASTER = Interval(0.5, 0.49, 0.51, 6)


class Refusing:
    """A builder of a rewrite with many parameters of which no value compiles."""

    def __init__(self) -> None:
        self.builds = 0

    def parameters(self, texts: Mapping[str, str]) -> tuple[Parameter, ...]:
        return tuple(Parameter(f"p{n}", tuple(map(str, range(32)))) for n in range(16))

    async def build(self, texts: Mapping[str, str], values: Mapping[str, str]) -> Built | Rejection:
        self.builds += 1
        return Rejection(Stage.COMPILE, "compile_error", "no")


def no_space(variant: Variant) -> object:
    raise R3Error("there is no space")


def tuned(path: Path, builder: Refusing, is_over: Callable[[], bool]) -> Tuned | None:
    with EventLog(path) as log:
        tuner = NestedTuner("k", 6, builder, None, builder, no_space, 0.01, 1, is_over)  # type: ignore[arg-type]
        best = Best(Candidate(variant="v"), FASTER, {})
        return asyncio.run(tuner.tune(0, {}, Variant("v", "source", "ir"), best, Journal(log, ()), lambda *_: None))


@pytest.mark.parametrize(("over", "builds"), [(False, 6), (True, 0)])
def test_values_that_do_not_compile_count_and_time_ends_it(tmp_path: Path, over: bool, builds: int) -> None:
    builder = Refusing()
    found = tuned(tmp_path / "log", builder, lambda: over)
    assert builder.builds == builds
    assert found is not None and found.evaluations == builds and found.ratio == FASTER
