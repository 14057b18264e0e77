"""A search's results for other programs: T4 JSON of the auto-tuning community, CSV, command lines of LLVM's tools."""

from __future__ import annotations

import csv
import io
import re
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from r3cc.replay.codegen import BuildOptions
from r3cc.replay.events import Answer, AnyEvent, Begin, KernelPlan, Proposal, Result
from r3cc.replay.foreign import is_foreign
from r3cc.replay.geometry import dimensions_text
from r3cc.replay.model import Candidate, Evaluation, LaunchShape, Status
from r3cc.replay.specialise import DIMENSIONS
from r3cc.store import Store
from r3cc.store.demangle import base_name
from r3cc.store.model import Module

T4_VERSION = "1.0.0"
INVALIDITY = {
    Status.OK: "correct",
    Status.REJECTED: "constraints",
    Status.COMPILE_ERROR: "compile",
    Status.COMPILE_TIMEOUT: "timeout",
    Status.LAUNCH_ERROR: "runtime",
    Status.DEVICE_FAULT: "runtime",
    Status.TIMEOUT: "timeout",
    Status.MISMATCH: "correctness",
    Status.OUT_OF_MEMORY: "runtime",
    Status.WORKER_LOST: "runtime",
}
COMPILING = ("compile_ir", "codegen", "assemble")
COLUMNS = (
    *("n", "kernel", "demangled", "source", "status", "ratio", "ratio_low", "ratio_high", "time_ns", "baseline_ns"),
    *("samples", "changes", "pipeline", "codegen", "block", "specialisation", "object_hash", "at", "message"),
)


class _Row(msgspec.Struct, frozen=True):
    """An evaluation with what is known of the proposal that it answers; a remix search tells the stage."""

    candidate: Candidate
    source: str
    changes: tuple[str, ...]
    answer: Answer
    demangled: str


def t4(events: Sequence[AnyEvent]) -> dict[str, Any]:
    """Results in the T4 format, version 1.0.0; times are in milliseconds, the objective is ``time``."""
    return {"schema_version": T4_VERSION, "results": [_t4_result(row) for row in _rows(events)]}


def _t4_result(row: _Row) -> dict[str, Any]:
    evaluation = row.answer.evaluation
    phases = evaluation.phases_ns
    median = evaluation.time_ns.median / 1e6 if evaluation.time_ns is not None else None
    measured = [] if median is None else [{"name": "time", "value": median, "unit": "ms"}]
    if evaluation.ratio is not None:
        measured.append({"name": "ratio", "value": evaluation.ratio.median, "unit": ""})
    measured += [{"name": name, "value": float(value), "unit": ""} for name, value in evaluation.resources.items()]
    return {
        "timestamp": datetime.fromtimestamp(row.answer.at, UTC).isoformat(),
        "configuration": {"kernel": row.demangled, **_configuration(row.candidate)},
        "objectives": ["time"],
        "times": {
            "compilation_time": sum(phases.get(name, 0) for name in COMPILING) / 1e6,
            "runtimes": [] if median is None else [median],
            "framework": phases.get("restore", 0) / 1e6,
            "search_algorithm": 0.0,
            "validation": phases.get("check", 0) / 1e6,
        },
        "invalidity": INVALIDITY[evaluation.status],
        "correctness": 1.0 if evaluation.status is Status.OK else 0.0,
        "measurements": measured,
    }


def _configuration(candidate: Candidate) -> dict[str, Any]:
    """What a candidate sets, flat: absent means as recorded."""
    flat: dict[str, Any] = {} if candidate.pipeline is None else {"pipeline": candidate.pipeline}
    flat |= dict(candidate.codegen)
    for name in ("block", "grid", "shared"):
        value = getattr(candidate.launch, name)
        if value is not None:
            flat[name] = list(value) if isinstance(value, tuple) else value
    flat |= {f"block for {_shape_text(shape)}": list(block) for shape, block in candidate.launch.by_shape}
    if candidate.launch.shapes:
        flat["shapes"] = list(map(_shape_text, candidate.launch.shapes))
    if candidate.variant is not None:
        flat["variant"] = candidate.variant
    flat |= {f"argument {index}": value for index, value in candidate.specialisation.arguments}
    special = candidate.specialisation
    flat |= {f"launched {name}": list(size) for name in DIMENSIONS if (size := getattr(special, name)) is not None}
    flat |= dict(str(table).split("=") for table in special.tables)
    return flat


def table(events: Sequence[AnyEvent]) -> str:
    """Every evaluation as a row of CSV, with a head line."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in _rows(events):
        writer.writerow(_csv_row(row, row.answer.evaluation))
    return text.getvalue()


def _csv_row(row: _Row, evaluation: Evaluation) -> dict[str, object]:
    candidate = row.candidate
    ratio, time_ns, baseline_ns = evaluation.ratio, evaluation.time_ns, evaluation.baseline_ns
    return {
        "n": row.answer.n,
        "kernel": row.answer.kernel,
        "demangled": row.demangled,
        "source": row.source,
        "status": evaluation.status.value,
        "ratio": ratio.median if ratio else "",
        "ratio_low": ratio.low if ratio else "",
        "ratio_high": ratio.high if ratio else "",
        "time_ns": time_ns.median if time_ns else "",
        "baseline_ns": baseline_ns.median if baseline_ns else "",
        "samples": ratio.samples if ratio else "",
        "changes": "; ".join(row.changes),
        "pipeline": candidate.pipeline or "",
        "codegen": " ".join(f"{key}={value}" for key, value in candidate.codegen),
        "block": ",".join(map(str, candidate.launch.block or ())),
        "specialisation": msgspec.json.encode(candidate.specialisation).decode().removeprefix("{}"),
        "object_hash": evaluation.object_hash or "",
        "at": row.answer.at,
        "message": evaluation.message,
    }


def _rows(events: Sequence[AnyEvent]) -> Iterator[_Row]:
    begin = events[0] if events else None
    named = {plan.kernel: plan.demangled for plan in begin.kernels} if isinstance(begin, Begin) else {}
    proposals = {event.n: event for event in events if isinstance(event, Proposal)}
    for event in events:
        if isinstance(event, Answer):
            name, asked = named.get(event.kernel, event.kernel), proposals.get(event.n)
            if asked is not None:
                yield _Row(asked.candidate, asked.source, asked.changes, event, name)
            else:
                yield _Row(event.evaluation.candidate, event.stage, (), event, name)


def commands(store: Store, events: Sequence[AnyEvent]) -> str:
    """A shell script that rebuilds each winner's code with ``opt``, ``llc`` and ``ptxas``, or says why it cannot."""
    begin = events[0] if events else None
    parts = ["#!/bin/sh", "# Rebuilds the winners of a search from the recorded IR.", "set -e"]
    if not isinstance(begin, Begin):
        return "\n".join(parts) + "\n"
    if begin.on_host:
        parts.append("# cpu device: the winners were judged as host code; these commands make the same for the GPU.")
    results = {event.kernel: event for event in events if isinstance(event, Result) and event.n is not None}
    for plan in begin.kernels:
        if plan.kernel in results:
            parts += ["", f"# {plan.demangled}"]
            candidate = results[plan.kernel].candidate
            parts += kernel_commands(store.module(plan.module), plan, begin.recording, candidate)
    return "\n".join(parts) + "\n"


def kernel_commands(module: Module, plan: KernelPlan, recording: str, candidate: Candidate) -> list[str]:
    """Commands for one candidate of a kernel in the recorded module."""
    if candidate.variant is not None:
        return ["# its source was rewritten: `r3 apply` writes the patch"]
    if candidate.specialisation != Candidate().specialisation:
        return ["# its code is specialised: LLVM's command-line tools cannot put constants in place of arguments"]
    if is_foreign(module.info):
        return ["# its code carries no IR that LLVM's tools could start from"]
    build = BuildOptions.recorded(module.info).changed(candidate.pipeline, candidate.codegen)
    request, base = build.request, file_stem(plan)
    if not str(module.info["triple"]).startswith("nvptx"):
        return ["# command lines are written for NVPTX modules alone"]
    lines = [f"r3 show {plan.kernel} --recording {recording} --ir > {base}.ll"]
    for key, value in sorted(msgspec.structs.asdict(request.kernel_attributes).items()):
        if value is not None:
            edit = f'/^define .*@{plan.name}\\(/ s/ (#[0-9]+ )/ "nvvm.{key}"="{value}" \\1/'
            lines.append(shlex.join(["sed", "-E", "-i", edit, f"{base}.ll"]))
    if request.fp_contract == "never":
        edit = r"s/\b(f(add|sub|mul|div|neg|rem)|fcmp|call|select|phi) contract /\1 /"
        lines.append(shlex.join(["sed", "-E", "-i", edit, f"{base}.ll"]))
    contract = "off" if request.fp_contract == "never" else request.fp_contract
    target = [f"-mcpu={request.cpu}", *([f"-mattr={request.features}"] if request.features else [])]
    lines.append(shlex.join(["opt", f"-passes={request.pipeline}", *request.mllvm, f"{base}.ll", "-o", f"{base}.bc"]))
    flags = [f"-O{request.codegen_level}", *target, f"-fp-contract={contract}", *request.mllvm]
    lines.append(shlex.join(["llc", *flags, f"{base}.bc", "-o", f"{base}.ptx"]))
    arch = f"-arch={module.info['architecture']}"
    lines.append(shlex.join(["ptxas", arch, *build.ptxas, f"{base}.ptx", "-o", f"{base}.cubin"]))
    if candidate.launch.block is not None:
        only = "".join(f", for a grid of {dimensions_text(shape[0])}" for shape in candidate.launch.shapes)
        own = "".join(
            f"; of {dimensions_text(block)} for a grid of {dimensions_text(shape[0])}"
            for shape, block in candidate.launch.by_shape
        )
        lines.append(f"# launched with blocks of {dimensions_text(candidate.launch.block)}{only}{own}")
    return lines


def _shape_text(shape: LaunchShape) -> str:
    grid, block, shared = shape
    return f"a grid of {dimensions_text(grid)}, blocks of {dimensions_text(block)} and {shared} shared bytes"


def file_stem(plan: KernelPlan) -> str:
    """``ns_step_int-0123456789ab``: a kernel's own files, whatever its name has in it."""
    return re.sub(r"\W+", "_", base_name(plan.demangled)).strip("_") + f"-{plan.kernel}"
