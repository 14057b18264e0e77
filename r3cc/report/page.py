"""The report as one HTML page that needs nothing but itself.

Every chart is inline SVG with a table that says the same. The page has no script, fetches nothing, and follows the
reader's colour scheme.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from r3cc import __version__
from r3cc.errors import R3Error, UsageError
from r3cc.replay.events import Answer, AnyEvent, Begin, Proposal, Session, read_log
from r3cc.replay.levels import SOURCE, levels_of
from r3cc.replay.model import Candidate, Interval, Status
from r3cc.report import charts, commands, table
from r3cc.report.archive import Archive, RemixReport, proposers_of, remix_report, strategies
from r3cc.report.bench import BenchReport, lines
from r3cc.report.explain import Explanation, explain
from r3cc.report.levels import LevelShare, level_shares
from r3cc.report.search import KernelReport, SearchReport, search_report
from r3cc.store import Store
from r3cc.store.demangle import base_name
from r3cc.store.eventlog import read_events
from r3cc.store.model import Kernel, Process, Recording
from r3cc.store.search import Search
from r3cc.store.whole_file import replace_whole

TEMPLATE = "page.html.j2"
OUTSIDE = -1
"""Colour of what is no kernel."""
NAMED = 12
"""Kernels of the timeline with a part of their own; the others are one."""


class Command(msgspec.Struct, frozen=True):
    """A command and what it makes again."""

    what: str
    text: str


class ArchiveView(msgspec.Struct, frozen=True):
    """An archive over two of its dimensions."""

    columns: str
    rows: str
    map: charts.CellMap


class KernelSection(msgspec.Struct, frozen=True):
    """What the page says of one kernel."""

    anchor: str
    name: str
    report: KernelReport
    speedup: str
    changed: str
    levels_used: tuple[str, ...]
    curve: charts.Curve | None
    answers: tuple[tuple[int, str, str, str], ...]
    """Of the curve's table: number, status, time over the baseline's, what was changed."""
    levels: tuple[LevelShare, ...]
    level_chart: charts.Forest | None
    explanation: Explanation | None
    """What each change buys, measured by taking it away, and what became of the code; None without a winner."""
    parts_chart: charts.Forest | None
    remix: RemixReport | None
    archive_views: tuple[ArchiveView, ...]
    commands: tuple[Command, ...]


class TimelineRow(msgspec.Struct, frozen=True):
    """A kernel of the timeline's table."""

    kernel: str
    """Its id; empty for several that are one row."""
    name: str
    share: float
    launches: int
    total_ns: int
    colour: int


class BenchSection(msgspec.Struct, frozen=True):
    """The application as a whole, as `r3 bench` measured it."""

    report: BenchReport
    forest: charts.Forest
    lines: tuple[str, ...]


class Page(msgspec.Struct, frozen=True):
    """Everything that the template draws."""

    report: SearchReport
    bench: BenchSection | None
    r3: str
    refresh_s: int | None
    """The browser loads the page again after so long; None for a page that is finished."""
    recording: Recording | None
    """None when it is no longer in the store."""
    processes: tuple[Process, ...]
    versions: dict[str, str]
    bars: tuple[charts.Bar, ...]
    timeline: tuple[TimelineRow, ...]
    outside_ns: int
    forest: charts.Forest | None
    kernels: tuple[KernelSection, ...]
    commands: tuple[Command, ...]


def write_page(
    store: Store, search: Search, path: Path, refresh_s: int | None = None, bench: BenchReport | None = None
) -> SearchReport:
    """Write the page of a search; the file appears whole or not at all. Gives what it reports.

    ``refresh_s`` makes a browser load the page of an unfinished search again. Raises R3Error, also where the extra
    ``report`` is not installed.
    """
    page = page_of(store, search, refresh_s, bench)
    text = render(page)
    try:
        replace_whole(path, text.encode())
    except OSError as error:
        raise R3Error(f"cannot write the page {path}: {error.strerror}") from None
    return page.report


def page_of(store: Store, search: Search, refresh_s: int | None = None, bench: BenchReport | None = None) -> Page:
    """The page's content. Raises R3Error for a damaged log."""
    events = read_log(search.events_path)
    log = list(read_events(search.events_path))
    report = search_report(store, search)
    begin = events[0]
    assert isinstance(begin, Begin)
    recording, kernels, processes, wall_ns = _recorded(store, report.recording)
    sections = tuple(_section(report, kernel, events, log) for kernel in report.kernels)
    rows, outside = _timeline(kernels, wall_ns)
    return Page(
        report=report,
        bench=_bench(bench) if bench is not None else None,
        r3=__version__,
        refresh_s=None if report.complete else refresh_s,
        recording=recording,
        processes=processes,
        versions=begin.versions,
        bars=_bars(rows, kernels, outside, report),
        timeline=rows,
        outside_ns=outside,
        forest=_forest(report),
        kernels=sections,
        commands=_page_commands(report, recording, begin, events, log),
    )


def render(page: Page) -> str:
    """HTML of a page."""
    try:
        import jinja2
    except ImportError:
        raise R3Error("the page needs jinja2, which the extra `report` brings: pip install 'r3cc[report]'") from None
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["short"] = base_name
    environment.filters["duration"] = table.duration
    return environment.get_template(TEMPLATE).render(page=page, chart_width=charts.WIDTH, row=charts.ROW)


def read_bench(path: Path) -> BenchReport:
    """What `r3 bench --json` printed into a file. Raises UsageError for anything else."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=BenchReport)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise UsageError(f"{path} is not what `r3 bench --json` prints") from None


def _bench(report: BenchReport) -> BenchSection:
    """Measured arms, and the forecast among them."""
    _, *others = report.benchmark.arms
    rows = [(arm.name, arm.speedup, not arm.speedup.low <= 1 <= arm.speedup.high) for arm in others]
    if report.forecast is not None:
        rows.append(("forecast", report.forecast.speedup, False))
    return BenchSection(report, charts.forest(rows), tuple(lines(report)))


def _recorded(store: Store, identifier: str) -> tuple[Recording | None, list[Kernel], tuple[Process, ...], int]:
    """Recording, kernels, processes and wall time without snapshots; nothing of a recording that was removed."""
    try:
        recording = store.recording(identifier)
    except R3Error:
        return None, [], (), 0
    ends = store.ends(recording.id)
    own = sum(end.wall_ns - end.recording_ns for end in ends)
    return recording, store.kernels(recording.id), tuple(store.processes(recording.id)), own


def _timeline(kernels: Sequence[Kernel], wall_ns: int) -> tuple[tuple[TimelineRow, ...], int]:
    """Kernels by share, the smallest ones together, and the time outside of kernels."""
    total = sum(kernel.total_ns for kernel in kernels)
    rows = [
        TimelineRow(
            kernel.id,
            base_name(kernel.demangled),
            kernel.share,
            kernel.launches,
            kernel.total_ns,
            number % charts.COLOURS,
        )
        for number, kernel in enumerate(kernels[:NAMED])
    ]
    others = kernels[NAMED:]
    if others:
        rows.append(
            TimelineRow(
                "",
                f"{len(others)} other kernels",
                sum(kernel.share for kernel in others),
                sum(kernel.launches for kernel in others),
                sum(kernel.total_ns for kernel in others),
                OUTSIDE,
            )
        )
    return tuple(rows), max(0, wall_ns - total)


def _bars(
    rows: Sequence[TimelineRow], kernels: Sequence[Kernel], outside: int, report: SearchReport
) -> tuple[charts.Bar, ...]:
    """The recorded run, and what the winners make of it; each as long as its time."""
    whole = float(sum(row.total_ns for row in rows) + outside)
    if whole <= 0:
        return ()
    left = {kernel.id: _time_left(kernel) for kernel in report.kernels}
    recorded = [(row.name, float(row.total_ns), row.colour) for row in rows]
    others = sum(kernel.total_ns * left.get(kernel.id, 1.0) for kernel in kernels[NAMED:])
    tuned = [(row.name, row.total_ns * left.get(row.kernel, 1.0) if row.kernel else others, row.colour) for row in rows]
    host = [("outside of kernels", float(outside), OUTSIDE)] if outside else []
    return (
        charts.stacked_bar("recorded", 0.0, recorded + host, whole),
        charts.stacked_bar("with the winners", charts.ROW, tuned + host, whole),
    )


def _time_left(kernel: KernelReport) -> float:
    """Part of a kernel's time in the application that its winner leaves: what was not measured keeps its time."""
    if not kernel.improved or kernel.speedup is None:
        return 1.0
    measured = 1.0 if kernel.measured_share is None else kernel.measured_share
    return 1 - measured * (1 - 1 / kernel.speedup.median)


def _forest(report: SearchReport) -> charts.Forest | None:
    rows = [
        (base_name(kernel.demangled), kernel.speedup, kernel.improved)
        for kernel in report.kernels
        if kernel.speedup is not None
    ]
    return charts.forest(rows) if rows else None


def _section(
    report: SearchReport, kernel: KernelReport, events: Sequence[AnyEvent], log: Sequence[dict[str, Any]]
) -> KernelSection:
    answers = _answers(kernel.id, events, strategies(kernel.id, log))
    levels = level_shares(kernel.id, events)
    remix = remix_report(kernel.id, log)
    explanation = next((each for each in explain(events) if each.kernel == kernel.id), None)
    return KernelSection(
        anchor=f"kernel-{kernel.id}",
        name=base_name(kernel.demangled),
        report=kernel,
        speedup=table.speedup(kernel),
        changed=table.what_changed(kernel),
        levels_used=levels_of(kernel.candidate) if kernel.candidate is not None else (),
        curve=charts.search_curve([(ratio, text) for _, _, ratio, text in answers]) if answers else None,
        answers=tuple(
            (number, status, "-" if ratio is None else f"{ratio:.4f}", text) for number, status, ratio, text in answers
        ),
        levels=levels,
        level_chart=_level_chart(levels),
        explanation=explanation,
        parts_chart=_parts_chart(explanation),
        remix=remix,
        archive_views=tuple(_views(remix.archive)) if remix is not None else (),
        commands=tuple(_kernel_commands(report, kernel)),
    )


def _answers(
    kernel: str, events: Sequence[AnyEvent], rewrites: Mapping[int, str]
) -> list[tuple[int, str, float | None, str]]:
    """Of every evaluation: number, status, ratio if it was valid, what was changed. ``rewrites`` are said by number."""
    changes = {each.n: each.changes for each in events if isinstance(each, Proposal) and each.kernel == kernel}
    found = []
    for event in events:
        if not isinstance(event, Answer) or event.kernel != kernel:
            continue
        evaluation = event.evaluation
        valid = evaluation.status is Status.OK and evaluation.ratio is not None
        ratio = evaluation.ratio.median if valid and evaluation.ratio is not None else None
        changed = changes.get(event.n, ()) or _levels_of_rewrite(evaluation.candidate, rewrites.get(event.n))
        text = ", ".join(changed) or "the baseline's own options"
        found.append((event.n, str(evaluation.status), ratio, text))
    return found


def _levels_of_rewrite(candidate: Candidate, strategy: str | None) -> tuple[str, ...]:
    """What a remix search measured: the rewrite, and at which other levels the tuner changed it."""
    if candidate.variant is None:
        return levels_of(candidate)
    others = tuple(level for level in levels_of(candidate) if level != SOURCE)
    return (strategy or "a rewrite of the source", *others)


def _level_chart(levels: Sequence[LevelShare]) -> charts.Forest | None:
    rows = [(each.level, *_gain(each)) for each in levels]
    return charts.forest(rows, charts.NARROW, charts.NARROW_LABEL) if rows else None


def _gain(share: LevelShare) -> tuple[Interval, bool]:
    """A level's gain with what is known of its noise, and whether it counts."""
    if share.measured is not None:
        return share.measured, not share.measured.low <= 1 <= share.measured.high
    return Interval(share.gain, min(1.0, share.gain), max(1.0, share.gain), 1), share.exact


def _parts_chart(explanation: Explanation | None) -> charts.Forest | None:
    rows = [
        (f"change {number}", Interval(part.factor, part.low, part.high, 0), not part.low <= 1 <= part.high)
        for number, part in enumerate(explanation.parts if explanation is not None else (), start=1)
        if part.factor is not None and part.low is not None and part.high is not None
    ]
    return charts.forest(rows, charts.NARROW, charts.NARROW_LABEL) if rows else None


def _views(archive: Archive) -> list[ArchiveView]:
    """The archive over its first dimension and each of the others."""
    first, *others = archive.dimensions or ("",)
    found = []
    for other in others or [first]:
        cells = [
            (elite.bins[first], elite.bins[other], elite.ratio.median)
            for elite in archive.elites
            if first in elite.bins and other in elite.bins
        ]
        drawn = charts.cell_map(cells)
        if drawn is not None:
            found.append(ArchiveView(first, other, drawn))
    return found


def _kernel_commands(report: SearchReport, kernel: KernelReport) -> list[Command]:
    found = [Command("the baseline", commands.replay_command(report, kernel, Candidate()))]
    if kernel.candidate is not None:
        found.append(
            Command("the winner beside the baseline", commands.replay_command(report, kernel, kernel.candidate))
        )
    return found


def _page_commands(
    report: SearchReport,
    recording: Recording | None,
    begin: Begin,
    events: Sequence[AnyEvent],
    log: Sequence[dict[str, Any]],
) -> tuple[Command, ...]:
    session = next((event for event in reversed(events) if isinstance(event, Session)), None)
    found = [Command("this search", commands.search_command(begin, session, proposers_of(log)))]
    if recording is not None:
        found.insert(0, Command("the recording", commands.record_command(recording)))
    if any(kernel.improved for kernel in report.kernels):
        found.append(Command("a profile of the winners", commands.apply_command(report)))
        found.append(Command("the check of that profile", commands.check_command(report)))
    return tuple(found)
