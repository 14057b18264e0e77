"""A candidate that a person chose, judged now, in the form of a search's winner: profiles need no search."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

import r3cc
from r3cc.errors import R3Error
from r3cc.farm import EvaluatorSettings
from r3cc.farm.local import LocalEvaluator
from r3cc.llvm.inspect import llvm_version
from r3cc.replay.events import VERSION, AnyEvent, Begin, Final, KernelPlan, Result
from r3cc.replay.model import Candidate, Evaluation, Interval, Status, TimingPlan
from r3cc.store import Store
from r3cc.store.model import Kernel

BY_HAND = "by hand"
"""Stands for the search in the entry's evidence, and for its optimizer."""


def judge_by_hand(
    store: Store,
    recording: str | None,
    kernel: Kernel,
    candidate: Candidate,
    settings: EvaluatorSettings,
    device: str | None,
    samples: int,
) -> tuple[AnyEvent, ...]:
    """The events of a search that asked for this one candidate, measured on all launches, held-out ones too.

    Raises R3Error for a candidate that is not valid. One that is no faster is taken, too: it was asked for by name.
    """
    chosen = store.recording(recording).id
    with LocalEvaluator.open(store, kernel, device, settings, chosen) as evaluator:
        used = evaluator.device
        evaluation = evaluator.submit(candidate, TimingPlan(samples=samples, held_out=True)).result()
    if evaluation.status is not Status.OK or evaluation.ratio is None:
        raise R3Error(f"the candidate of {kernel.demangled} is not valid: {evaluation.status}: {evaluation.message}")
    begin = Begin(
        at=time.time(),
        version=VERSION,
        recording=chosen,
        device=used,
        device_name=_device_name(store, chosen, kernel),
        optimizer=BY_HAND,
        seed=0,
        kernels=(KernelPlan.of(kernel, settings.numerics.value, settings.rtol, settings.atol),),
        versions={"r3": r3cc.__version__, "llvm": llvm_version()},
    )
    final = Final(at=begin.at, kernel=kernel.id, n=0, round=2, evaluation=evaluation)
    return begin, final, _result(kernel, candidate, evaluation, evaluation.ratio)


def _result(kernel: Kernel, candidate: Candidate, evaluation: Evaluation, ratio: Interval) -> Result:
    return Result(
        at=time.time(),
        kernel=kernel.id,
        n=0,
        candidate=candidate,
        changes=tuple(_changes(candidate)),
        baseline_ns=evaluation.baseline_ns,
        best_ns=evaluation.time_ns,
        speedup=Interval(1 / ratio.median, 1 / ratio.high, 1 / ratio.low, ratio.samples),
    )


def _changes(candidate: Candidate) -> Sequence[str]:
    launch = msgspec.to_builtins(candidate.launch)
    texts = [f"{name} {','.join(map(str, value))}" for name, value in launch.items() if isinstance(value, list | tuple)]
    pipeline = [f"pipeline {candidate.pipeline}"] if candidate.pipeline is not None else []
    special = candidate.specialisation
    constants = [f"argument {index}" for index, _ in special.arguments]
    constants += [name for name, value in (("block", special.block), ("grid", special.grid)) if value is not None]
    constants += [
        f"{each.size} bytes of {each.variable or f'what argument {each.argument} points to'}" for each in special.tables
    ]
    fixed = [f"specialised: {', '.join(constants)}"] if constants else []
    return [*pipeline, *(f"{key}={value}" for key, value in candidate.codegen), *texts, *fixed]


def _device_name(store: Store, recording: str, kernel: Kernel) -> str:
    processes = store.processes(recording)
    return next((process.device_name for process in processes if process.device == kernel.device), "")
