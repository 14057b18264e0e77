"""``r3 tune``: search pipelines, code generation and launch shapes of the kernels that matter."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from r3cc.cli.options import (
    Duration,
    atol_option,
    device_option,
    json_option,
    recording_option,
    rtol_option,
    store_option,
)
from r3cc.cli.output import print_json, print_table, say
from r3cc.cli.progress import Progress
from r3cc.cli.report import print_report, say_next
from r3cc.cli.settings import KernelSetting, current_settings
from r3cc.farm.executors import open_executor
from r3cc.replay.model import Numerics
from r3cc.report.live import LivePage
from r3cc.report.search import search_report
from r3cc.store import Store
from r3cc.store.model import Kernel
from r3cc.store.search import Search
from r3cc.tune.budget import Limits
from r3cc.tune.knobs import Knob
from r3cc.tune.llvm_facts import LLVMFacts
from r3cc.tune.plan import Choice, KernelOptions, build_space, choose, with_code
from r3cc.tune.plan import summarise as summarise_space
from r3cc.tune.search import OPTIMIZERS
from r3cc.tune.session import Question, TuneSession
from r3cc.tune.space import SpaceSummary

DEFAULT_TIME = "15m"


@click.command()
@click.argument("kernels", nargs=-1, metavar="[KERNEL]...")
@store_option
@recording_option
@device_option
@click.option("--budget", type=click.IntRange(min=1), metavar="N", help="Evaluations over all kernels.")
@click.option("--time", "time_s", type=Duration(), default=DEFAULT_TIME, show_default=True, help="Time in all.")
@click.option("--seed", type=click.IntRange(0, 2**31), default=1, show_default=True, help="Seed of the optimizer.")
@click.option("--numerics", type=click.Choice([each.value for each in Numerics]), help="[default: rounding]")
@rtol_option
@atol_option
@click.option("--specialise", is_flag=True, help="Try arguments, launch dimensions and tables as constants.")
@click.option("--optimizer", type=click.Choice(OPTIMIZERS), default="r3", show_default=True, help="Or a control.")
@click.option("--executor", metavar="SPEC", help="Evaluate elsewhere: parsl:CONFIG.py, or MODULE:FACTORY.")
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a page while it runs."
)
@click.option("--fresh", is_flag=True, help="Begin anew instead of going on with an interrupted search.")
@click.option("--show-space", is_flag=True, help="Print what would be searched, and search nothing.")
@json_option
def tune(
    kernels: tuple[str, ...],
    store: Path,
    recording: str | None,
    device: str | None,
    budget: int | None,
    time_s: float,
    seed: int,
    numerics: str | None,
    rtol: float | None,
    atol: float | None,
    specialise: bool,
    optimizer: str,
    executor: str | None,
    html: Path | None,
    fresh: bool,
    show_space: bool,
    as_json: bool,
) -> None:
    """Search the pass pipeline, code generation and block shape of each KERNEL.

    Without KERNEL: those that make up 90 % of the recording's device time. An interrupted search is continued.
    """
    with Store.open(store) as opened:
        chosen = opened.recording(recording).id
        options = kernel_options(numerics, rtol, atol, specialise)
        choices = choose(opened, chosen, kernels, device, options, with_code)
        if show_space:
            _show_spaces(opened, chosen, choices, as_json)
            return
        question = Question(chosen, tuple(choices), optimizer, seed)
        with (
            open_executor(executor) if executor is not None else nullcontext() as workers,
            LivePage(store, html) if html is not None else nullcontext() as page,
        ):
            search = _run(TuneSession(opened, question, Limits(budget, time_s), workers), fresh, page)
        report = search_report(opened, search)
    if as_json:
        print_json(report)
    else:
        print_report(report)
        say_next(report, store)


def _run(session: TuneSession, fresh: bool, page: LivePage | None) -> Search:
    def began(search: Search, continued: bool) -> None:
        say(f"{'going on with' if continued else 'beginning'} search {search.id}")
        if page is not None:
            page.follow(search)

    with Progress() as progress:
        try:
            return session.run(progress, fresh, began)
        except KeyboardInterrupt:
            progress.stop()
            say("interrupted; what was found is kept: `r3 tune` with the same options goes on, `r3 report` shows it")
            raise


def kernel_options(
    numerics: str | None, rtol: float | None, atol: float | None, specialise: bool = False
) -> Callable[[Kernel], KernelOptions]:
    """The command line before the settings file's entry for a kernel."""
    settings = current_settings()

    def options_of(kernel: Kernel) -> KernelOptions:
        entry = settings.for_kernel(kernel.name, kernel.demangled) or KernelSetting("")
        return KernelOptions(
            numerics=Numerics(numerics or entry.numerics or Numerics.ROUNDING),
            rtol=entry.rtol if rtol is None else rtol,
            atol=entry.atol if atol is None else atol,
            skip=entry.skip,
            specialise=specialise,
        )

    return options_of


def _show_spaces(store: Store, recording: str, choices: list[Choice], as_json: bool) -> None:
    with LLVMFacts() as facts:
        every = store.kernels(recording)
        spaces = [summarise_space(choice, build_space(store, recording, choice, facts), every) for choice in choices]
    if as_json:
        print_json({"spaces": spaces})
        return
    for space in spaces:
        _print_space(space)


def _print_space(space: SpaceSummary) -> None:
    """One kernel's space: a head, and a table of knobs."""
    click.echo(f"{space.kernel}  {space.name}  on {space.device}")
    if space.base:
        click.echo(f"pipeline: edits to default<O3> at {space.places} places, {len(space.passes)} passes to insert")
        click.echo(f"passes: {' '.join(space.passes)}")
    else:
        click.echo("pipeline: none, its code carries no IR")
    table = Table(box=None, pad_edge=False)
    for column in ("knob", "scope", "numerics", "values", "what it does"):
        table.add_column(column, overflow="fold")
    for knob in (*space.knobs, *space.unit_knobs):
        table.add_row(knob.key, knob.scope, knob.numerics, Text(_values(knob)), knob.what)
    print_table(table)
    together = [knob.key for knob in space.knobs if knob.with_block]
    if together:
        click.echo(f"chosen together with the block, from the first candidate on: {' '.join(together)}")
    if space.fixed_block is not None:
        click.echo(f"block: stays as recorded: {space.fixed_block}")
    for reason in space.left_out:
        click.echo(f"not searched: {reason}")
    click.echo()


def _values(knob: Knob) -> str:
    return " ".join(knob.values)
