"""``r3 replay``: one candidate of a kernel, judged on its recorded launches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from r3cc.cli.options import (
    Dimensions,
    atol_option,
    codegen_pairs,
    device_option,
    json_option,
    recording_option,
    rtol_option,
    store_option,
)
from r3cc.cli.output import human_dimensions, human_time, print_json, print_table, say
from r3cc.cli.settings import KernelSetting, current_settings
from r3cc.errors import R3Error
from r3cc.farm import EvaluatorSettings
from r3cc.farm.local import LocalEvaluator
from r3cc.replay.model import (
    Candidate,
    Evaluation,
    Interval,
    L2State,
    LaunchConfiguration,
    Numerics,
    Status,
    TimingPlan,
)
from r3cc.replay.specialise import with_constants
from r3cc.store import Store
from r3cc.store.demangle import label
from r3cc.store.model import Dim3, Kernel

FAILED = 1


@click.command()
@click.argument("kernel")
@store_option
@recording_option
@device_option
@click.option("--passes", metavar="TEXT", help="Pass pipeline as `opt -passes=` takes it.  [default: the build's own]")
@click.option("--block", type=Dimensions(), help="Block; the grid is derived to cover the recorded threads.")
@click.option("--grid", type=Dimensions(), help="Grid.")
@click.option("--variant", metavar="ID", help="Source variant from `r3 remix`.  [default: the recorded source]")
@click.option("--codegen", multiple=True, metavar="KEY=VALUE", help="Code-generation option; may be repeated.")
@click.option(
    "--fix", multiple=True, metavar="WHAT", help="Constant in its code: an argument, a variable, `block`, `grid`."
)
@click.option("--numerics", type=click.Choice([each.value for each in Numerics]), help="[default: rounding]")
@rtol_option
@atol_option
@click.option("--l2", type=click.Choice([each.value for each in L2State]), help="[default: what is nearer to the app]")
@click.option("--samples", type=click.IntRange(min=1), default=8, show_default=True, help="Timed blocks of two pairs.")
@json_option
@click.pass_context
def replay(
    ctx: click.Context,
    kernel: str,
    store: Path,
    recording: str | None,
    device: str | None,
    passes: str | None,
    block: Dim3 | None,
    grid: Dim3 | None,
    variant: str | None,
    codegen: tuple[str, ...],
    fix: tuple[str, ...],
    numerics: str | None,
    rtol: float | None,
    atol: float | None,
    l2: str | None,
    samples: int,
    as_json: bool,
) -> None:
    """Compile, restore, launch, validate and time one candidate of KERNEL beside the baseline.

    Without options the candidate is the recorded build's own code. The exit status is 0 only if it is valid.
    """
    candidate = Candidate(passes, codegen_pairs(codegen), LaunchConfiguration(grid, block), variant)
    with Store.open(store) as opened:
        found = opened.find_kernel(kernel, recording)
        candidate = with_constants(candidate, fix, opened, found, recording)
        settings = _settings(found, numerics, rtol, atol, l2)
        with LocalEvaluator.open(opened, found, device, settings, recording) as evaluator:
            plan = TimingPlan(samples=samples, held_out=True, perturbed=variant is not None)
            evaluation = evaluator.submit(candidate, plan).result()
            used = evaluator.device
    if as_json:
        print_json(_document(found, used, settings, evaluation))
    if evaluation.status is Status.REJECTED:
        raise R3Error(evaluation.message)
    if not as_json:
        _print(found, used, evaluation)
    ctx.exit(0 if evaluation.status is Status.OK else FAILED)


def _settings(
    kernel: Kernel, numerics: str | None, rtol: float | None, atol: float | None, l2: str | None
) -> EvaluatorSettings:
    """The command line before the settings file's entry for the kernel."""
    entry = current_settings().for_kernel(kernel.name, kernel.demangled) or KernelSetting("")
    return EvaluatorSettings(
        numerics=Numerics(numerics or entry.numerics or Numerics.ROUNDING),
        rtol=entry.rtol if rtol is None else rtol,
        atol=entry.atol if atol is None else atol,
        l2=L2State(l2) if l2 else None,
    )


def _document(kernel: Kernel, device: str, settings: EvaluatorSettings, evaluation: Evaluation) -> dict[str, Any]:
    return {
        "kernel": {"id": kernel.id, "name": kernel.name, "demangled": kernel.demangled},
        "device": device,
        "numerics": settings.numerics,
        "status": evaluation.status,
        "message": evaluation.message,
        "candidate": evaluation.candidate,
        "object_hash": evaluation.object_hash,
        "ir_hash": evaluation.ir_hash,
        "time_ns": evaluation.time_ns,
        "baseline_ns": evaluation.baseline_ns,
        "ratio": evaluation.ratio,
        "app_ns": evaluation.app_ns,
        "mark_overhead_ns": evaluation.mark_overhead_ns,
        "l2": evaluation.l2,
        "validation": {
            "launches": evaluation.launches,
            "mismatches": evaluation.mismatches,
            "allowances": evaluation.allowances,
        },
        "resources": evaluation.resources,
        "phases_ns": evaluation.phases_ns,
    }


def _print(kernel: Kernel, device: str, evaluation: Evaluation) -> None:
    if evaluation.message:
        say(evaluation.message)
    table = Table(title=f"{label(kernel.demangled)} on {device}", show_header=False, title_justify="left")
    table.add_column()
    table.add_column()
    for name, text in _rows(evaluation):
        table.add_row(name, text)
    print_table(table)
    if evaluation.mismatches:
        print_table(_mismatch_table(evaluation))
    if evaluation.allowances:
        say("beyond the tolerance, but no further than rounding takes the original kernel's own results:")
        for allowance in evaluation.allowances:
            say(f"  {allowance}")


def _rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    rows = [
        ("status", evaluation.status.value),
        ("pipeline", evaluation.candidate.pipeline or "the recorded build's"),
        *([("variant", evaluation.candidate.variant)] if evaluation.candidate.variant else []),
        ("launch", _launch(evaluation.candidate.launch)),
    ]
    rows += [(key, value) for key, value in evaluation.candidate.codegen]
    rows.append(("launches validated", str(evaluation.launches)))
    if evaluation.baseline_ns and evaluation.time_ns and evaluation.ratio:
        rows += [
            ("in the application", human_time(evaluation.app_ns) if evaluation.app_ns else "not taken"),
            ("baseline", _time(evaluation.baseline_ns)),
            ("candidate", _time(evaluation.time_ns)),
            ("candidate / baseline", _ratio(evaluation.ratio)),
        ]
    if evaluation.l2:
        rows.append(("L2 cache", evaluation.l2.value))
    if evaluation.resources:
        rows.append(("resources", ", ".join(f"{name} {value}" for name, value in evaluation.resources.items())))
    if evaluation.object_hash:
        rows.append(("code object", evaluation.object_hash[:16]))
    return rows


def _launch(configuration: LaunchConfiguration) -> str:
    parts = [
        f"{name} {human_dimensions(value)}"
        for name, value in (("block", configuration.block), ("grid", configuration.grid))
        if value
    ]
    return ", ".join(parts) or "as recorded"


def _time(interval: Interval) -> str:
    return f"{human_time(interval.median)}  ({human_time(interval.low)} to {human_time(interval.high)})"


def _ratio(interval: Interval) -> str:
    return f"{interval.median:.3f}  ({interval.low:.3f} to {interval.high:.3f}, {interval.samples} blocks)"


def _mismatch_table(evaluation: Evaluation) -> Table:
    table = Table("where", "element", "count", "max abs", "max rel", title="Mismatches", title_justify="left")
    for each in evaluation.mismatches:
        table.add_row(each.where, each.element, str(each.count), *each.furthest)
    return table
