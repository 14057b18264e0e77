"""``r3 remix``: rewrite kernels' source under MAP-Elites, each rewrite judged by replay."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from r3cc.cli.options import (
    Duration,
    NonNegative,
    atol_option,
    device_option,
    json_option,
    recording_option,
    rtol_option,
    store_option,
)
from r3cc.cli.output import on_store, print_json, print_table, say
from r3cc.cli.remix_progress import RemixProgress
from r3cc.cli.report import print_report, say_next
from r3cc.cli.settings import current_settings
from r3cc.cli.tune import kernel_options
from r3cc.errors import UsageError
from r3cc.farm.executors import open_executor
from r3cc.remix.loop.policy import POLICIES, open_policy
from r3cc.remix.prices import builtin_prices
from r3cc.remix.proposers import open_proposers
from r3cc.remix.proposers.opening import require_prices
from r3cc.remix.search import Allowed
from r3cc.remix.session import Question, RemixSession
from r3cc.remix.source.sandbox import confinement
from r3cc.replay.model import Numerics
from r3cc.report.archive import remix_report
from r3cc.report.lineage import ancestor_table, archive_table, factor, lineage_table, stage_line
from r3cc.report.proposal import ProposalReport, proposal_report
from r3cc.report.search import search_report
from r3cc.store import Store
from r3cc.store.eventlog import read_events
from r3cc.store.search import Search
from r3cc.tune.plan import choose

DEFAULT_TIME = "15m"
DEFAULT_LLM = ("rules",)
DEFAULT_COST_USD = 5.0


@click.command()
@click.argument("kernels", nargs=-1, metavar="[KERNEL]...")
@store_option
@recording_option
@device_option
@click.option(
    "--llm",
    "llms",
    multiple=True,
    metavar="SPEC",
    help="Who proposes, repeatable: rules, command:…, mailbox:DIR, transcript:FILE, anthropic:MODEL, openai:MODEL.  "
    "[default: rules]",
)
@click.option(
    "--policy", type=click.Choice(sorted(POLICIES)), default="clock", show_default=True, help="Of model choice."
)
@click.option("--budget", type=click.IntRange(min=1), metavar="N", help="Proposals over all kernels.")
@click.option(
    "--time",
    "time_s",
    type=Duration(),
    default=DEFAULT_TIME,
    show_default=True,
    help="Time for the search and its finals.",
)
@click.option(
    "--max-tokens", type=click.IntRange(min=1), metavar="N", help="Most tokens of all answers, input included."
)
@click.option("--max-cost", type=NonNegative(), metavar="USD", help="Most that answers may cost.  [default: 5]")
@click.option("--concurrency", type=click.IntRange(1, 256), default=4, show_default=True, help="Requests under way.")
@click.option("--seed", type=click.IntRange(0, 2**31), default=1, show_default=True, help="Seed of the sampling.")
@click.option("--executor", metavar="SPEC", help="Evaluate elsewhere: parsl:CONFIG.py, or MODULE:FACTORY.")
@click.option("--numerics", type=click.Choice([each.value for each in Numerics]), help="[default: rounding]")
@rtol_option
@atol_option
@click.option("--fresh", is_flag=True, help="Begin anew instead of going on with an interrupted search.")
@click.option("--dry-run", is_flag=True, help="Print the first prompt, ask nobody.")
@click.option("--show", metavar="ID", help="Show a proposal of the latest remix search, by number or variant id.")
@json_option
def remix(
    kernels: tuple[str, ...],
    store: Path,
    recording: str | None,
    device: str | None,
    llms: tuple[str, ...],
    policy: str,
    budget: int | None,
    time_s: float,
    max_tokens: int | None,
    max_cost: float | None,
    concurrency: int,
    seed: int,
    executor: str | None,
    numerics: str | None,
    rtol: float | None,
    atol: float | None,
    fresh: bool,
    dry_run: bool,
    show: str | None,
    as_json: bool,
) -> None:
    """Rewrite the source of each KERNEL, and keep what replay shows to be right and faster.

    Without KERNEL: those that make up 90 % of the recording's device time. An interrupted search is continued. Source
    text leaves this machine only to a provider that --llm names.
    """
    with Store.open(store) as opened:
        if show is not None:
            _show(opened, show, as_json)
            return
        chosen = opened.recording(recording).id
        choices = choose(opened, chosen, kernels, device, kernel_options(numerics, rtol, atol))
        specs = llms or DEFAULT_LLM
        question = Question(chosen, tuple(choices), specs, policy, seed)
        if dry_run:
            _dry_run(RemixSession(opened, question, (), open_policy(policy), Allowed()), as_json)
            return
        proposers = open_proposers(specs, builtin_prices().extended(current_settings().prices))
        cost = DEFAULT_COST_USD if max_cost is None else max_cost
        if any(proposer.destination is not None for proposer in proposers):
            require_prices(proposers)
        if confinement() is None:
            say(
                "bubblewrap is missing or does not work here: rewrites are compiled under limits and text rules alone; "
                "`r3 doctor` says how to get it"
            )
        allowed = Allowed(budget, time_s, cost, concurrency, max_tokens)
        with open_executor(executor) if executor is not None else nullcontext() as workers:
            search = _run(RemixSession(opened, question, proposers, open_policy(policy), allowed, workers), fresh)
        _print(opened, search, as_json)


def _run(session: RemixSession, fresh: bool) -> Search:
    with RemixProgress() as progress:
        try:
            return session.run(progress, fresh)
        except KeyboardInterrupt:
            progress.stop()
            say("interrupted; what was found is kept: `r3 remix` with the same options goes on, `r3 report` shows it")
            raise


def _dry_run(session: RemixSession, as_json: bool) -> None:
    prompt, files = session.first_prompt()
    if as_json:
        print_json({"files": files, "blocks": prompt.blocks, "prompt": prompt.id, "kernel": prompt.kernel_region})
        return
    say(f"the first prompt, with text of {', '.join(files)}; nothing was sent")
    click.echo(prompt.text)


def _print(store: Store, search: Search, as_json: bool) -> None:
    report = search_report(store, search)
    lines = list(read_events(search.events_path))
    parts = {kernel.id: found for kernel in report.kernels if (found := remix_report(kernel.id, lines)) is not None}
    if as_json:
        print_json({"search": report, "remix": parts})
        return
    print_report(report)
    for kernel in report.kernels:
        if (part := parts.get(kernel.id)) is not None:
            click.echo(f"\n{kernel.demangled}: {stage_line(part)}")
            if part.lineage:
                click.echo("lineage of the fastest in the search")
                print_table(lineage_table(part))
                click.echo("archive")
                print_table(archive_table(part))
    say(f"`{on_store('r3 remix --show N', store.path)}` shows a proposal")
    say_next(report, store.path)


def _show(store: Store, name: str, as_json: bool) -> None:
    for search in reversed(store.searches.all()):
        lines = list(read_events(search.events_path))
        if lines and lines[0].get("optimizer") == "remix":
            found = proposal_report(name, lines)
            if as_json:
                print_json(found)
            else:
                _print_proposal(found)
            return
    raise UsageError("the store holds no remix search; run `r3 remix` first")


def _print_proposal(found: ProposalReport) -> None:
    click.echo(f"proposal {found.n}: {found.strategy or 'without a name'}")
    click.echo(f"variant    {found.variant or 'none: it was not built'}")
    end = "right, and measured" if not found.reason else f"{found.stage}: {found.reason}"
    click.echo(f"ended      {end}")
    if found.message:
        click.echo(f"           {found.message}")
    if found.ratio is not None:
        interval = f"[{1 / found.ratio.high:.3f}, {1 / found.ratio.low:.3f}]"
        click.echo(f"speedup    {factor(found.ratio)} {interval}, n={found.ratio.samples}, as seen in the search")
    if found.changes:
        click.echo(f"tuner      {', '.join(found.changes)}")
    for label, numbers in (("resources", found.resources), ("bins", found.features)):
        if numbers:
            click.echo(f"{label:10} {', '.join(f'{key} {value}' for key, value in sorted(numbers.items()))}")
    click.echo("lineage")
    print_table(ancestor_table(found))
    if found.diff:
        click.echo(f"\n{found.diff}")
