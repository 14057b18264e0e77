"""The report as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from r3cc.replay.model import Interval
from r3cc.report.search import KernelReport, SearchReport, verb_of
from r3cc.store.demangle import label

NO_IMPROVEMENT = "no improvement"
NOT_MEASURED = "not measured"


def headings(report: SearchReport) -> Iterator[str]:
    """Lines above the table: the device, and what its numbers are worth."""
    name = f" ({report.device_name})" if report.device_name else ""
    yield f"search {report.search} of recording {report.recording} on {report.device}{name}, {report.optimizer}"
    if report.heading is not None:
        yield report.heading
    if not report.complete:
        yield f"the search is not complete: `r3 {verb_of(report.optimizer)}` goes on with it"


def spent_line(report: SearchReport) -> str | None:
    """Where the time went; None where the log does not say."""
    spent = report.spent
    if spent is None:
        return None
    parts = (
        (spent.opening_s, "opening kernels and measuring their baselines"),
        (spent.search_s, "searching"),
        (spent.finals_s, "finals"),
    )
    return "time: " + ", ".join(f"{seconds_text(seconds)} {what}" for seconds, what in parts)


def kernel_table(report: SearchReport) -> Table:
    """One row a kernel."""
    table = Table(box=None, pad_edge=False)
    table.add_column("kernel", overflow="fold", ratio=2)
    for column in ("share", "baseline", "best", "speedup"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("what changed", overflow="fold", ratio=3)
    for kernel in report.kernels:
        table.add_row(
            Text(label(kernel.demangled)),
            f"{kernel.share:.1%}",
            duration(kernel.baseline),
            duration(kernel.best),
            speedup(kernel),
            Text(what_changed(kernel)),
        )
    return table


def status_table(report: SearchReport) -> Table:
    """How the evaluations of each kernel ended."""
    table = Table(box=None, pad_edge=False)
    table.add_column("kernel", overflow="fold", ratio=2)
    table.add_column("evaluations", justify="right", no_wrap=True)
    table.add_column("by status", overflow="fold", ratio=2)
    table.add_column("stopped by", no_wrap=True)
    table.add_column("numerics", no_wrap=True)
    table.add_column("L2", no_wrap=True)
    for kernel in report.kernels:
        statuses = ", ".join(f"{count} {status}" for status, count in kernel.statuses.items())
        stopped = kernel.stopped or "not yet"
        table.add_row(
            Text(label(kernel.demangled)),
            str(kernel.evaluations),
            statuses,
            stopped,
            kernel.numerics,
            kernel.l2 or "-",
        )
    return table


def speedup(kernel: KernelReport) -> str:
    """``1.23x [1.20, 1.25] n=61``, with the verdict when it is none."""
    if kernel.speedup is None:
        none = NO_IMPROVEMENT if kernel.evaluations else NOT_MEASURED
        return none if kernel.finished else "-"
    value = kernel.speedup
    text = f"{value.median:.3f}x [{value.low:.3f}, {value.high:.3f}] n={value.samples}"
    return text if kernel.improved else f"{NO_IMPROVEMENT}: {text}"


def what_changed(kernel: KernelReport) -> str:
    """The winner's differences from the baseline, or why there are none."""
    if not kernel.improved:
        return kernel.note
    guarded = [] if kernel.coverage is None else [f"guard admits {kernel.coverage:.1%} of its time"]
    times = max((each.times for each in kernel.allowances), default=0.0)
    how_far = f" up to {times:.3g} times the tolerance" if times else " beyond the tolerance"
    rounding = [f"off by rounding{how_far}, as its results cancel"] if kernel.allowances else []
    return ", ".join([*kernel.changes, *guarded, *rounding])


def seconds_text(seconds: float) -> str:
    """``14 s``, ``3 min``."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def duration(interval: Interval | None) -> str:
    """A median time with its unit."""
    if interval is None:
        return "-"
    value, unit = interval.median, "ns"
    for larger in ("us", "ms", "s"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.4g} {unit}"
