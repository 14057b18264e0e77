"""Charts as geometry: what stands where in an SVG's own units. The template draws them, a table says the same."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from r3cc.replay.model import Interval

WIDTH = 800.0
"""Of every chart's view box; the page scales it."""
ROW = 26.0
LABEL = 190.0
"""Left part of a chart with names of rows."""
NARROW, NARROW_LABEL = 400.0, 110.0
"""The same of a chart that stands beside another one."""
COLOURS = 8


class Segment(msgspec.Struct, frozen=True):
    """A part of a bar."""

    label: str
    x: float
    width: float
    colour: int
    """Number of the page's colour; -1 for what is no kernel."""
    value: str


class Bar(msgspec.Struct, frozen=True):
    """One line of parts of a whole."""

    label: str
    y: float
    segments: tuple[Segment, ...]


class Tick(msgspec.Struct, frozen=True):
    """A mark of an axis."""

    place: float
    label: str


class Whisker(msgspec.Struct, frozen=True):
    """A median with its interval on one row."""

    label: str
    y: float
    low: float
    middle: float
    high: float
    strong: bool
    """It counts."""
    value: str


class Forest(msgspec.Struct, frozen=True):
    """Rows of intervals over one axis."""

    width: float
    height: float
    one: float
    """Where 1 is."""
    ticks: tuple[Tick, ...]
    rows: tuple[Whisker, ...]


class Dot(msgspec.Struct, frozen=True):
    """A point of a curve."""

    x: float
    y: float
    text: str


class Curve(msgspec.Struct, frozen=True):
    """A search over its evaluations: every valid one, the best so far, and where one failed."""

    width: float
    height: float
    path: str
    dots: tuple[Dot, ...]
    failures: tuple[Dot, ...]
    one: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


class Cell(msgspec.Struct, frozen=True):
    """A cell of a map."""

    x: float
    y: float
    strength: float
    """0 for the slowest, 1 for the fastest."""
    value: str


class CellMap(msgspec.Struct, frozen=True):
    """Two dimensions of an archive."""

    width: float
    height: float
    size: float
    columns: tuple[Tick, ...]
    rows: tuple[Tick, ...]
    cells: tuple[Cell, ...]


def stacked_bar(label: str, y: float, parts: Sequence[tuple[str, float, int]], whole: float) -> Bar:
    """Parts (label, size, colour) of ``whole``, beside one another."""
    segments, x = [], LABEL
    scale = (WIDTH - LABEL) / whole if whole > 0 else 0.0
    for name, size, colour in parts:
        segments.append(Segment(name, x, size * scale, colour, f"{size / whole:.1%}" if whole > 0 else ""))
        x += size * scale
    return Bar(label, y, tuple(segments))


def forest(rows: Sequence[tuple[str, Interval, bool]], width: float = WIDTH, label: float = LABEL) -> Forest:
    """Intervals of ratios (label, interval, whether it counts) on a logarithmic axis that holds 1.

    ``label`` is the part of ``width`` for the names.
    """
    ends = [1.0, *(bound for _, value, _ in rows for bound in (value.low, value.high) if bound > 0)]
    left, right = math.log(min(ends)) - 0.05, math.log(max(ends)) + 0.05
    place = _Scale(left, right, label, width - 20)
    marks = tuple(
        Whisker(
            name,
            ROW * (number + 0.5),
            place(math.log(value.low)),
            place(math.log(value.median)),
            place(math.log(value.high)),
            strong,
            f"{value.median:.3f}x [{value.low:.3f}, {value.high:.3f}]",
        )
        for number, (name, value, strong) in enumerate(rows)
    )
    values = _steps(math.exp(left), math.exp(right), max(2, round(width / 150)))
    ticks = tuple(Tick(place(math.log(each)), f"{each:g}x") for each in values if each > 0)
    return Forest(width, ROW * len(rows) + 24, place(0.0), ticks, marks)


def search_curve(ratios: Sequence[tuple[float | None, str]]) -> Curve:
    """Answers in order, each (candidate's time over the baseline's, what it was); None for one that failed.

    The axis of ratios ends at 1.5: what is slower than that stands at its edge.
    """
    width, height, bottom = 380.0, 190.0, 170.0
    valid = [ratio for ratio, _ in ratios if ratio is not None]
    top = min(1.5, max([1.0, *valid]))
    down = _Scale(min([1.0, *valid]) * 0.98, top * 1.01, bottom, 8)
    across = _Scale(0, max(1, len(ratios) - 1), 44, width - 8)
    dots, failures, path, best = [], [], "", math.inf
    for number, (ratio, text) in enumerate(ratios):
        x = across(number)
        if ratio is None:
            failures.append(Dot(x, bottom + 4, text))
            continue
        dots.append(Dot(x, down(min(ratio, top)), text))
        if ratio < best:
            path += f"H{x:.1f}V{down(min(ratio, top)):.1f}" if path else f"M{x:.1f},{down(min(ratio, top)):.1f}"
            best = ratio
    if path:
        path += f"H{across(max(0, len(ratios) - 1)):.1f}"
    x_ticks = tuple(Tick(across(each), f"{each:g}") for each in _steps(0, max(1, len(ratios) - 1)))
    y_ticks = tuple(Tick(down(each), f"{each:g}") for each in _steps(min([1.0, *valid]) * 0.98, top))
    return Curve(width, height, path, tuple(dots), tuple(failures), down(1.0), x_ticks, y_ticks)


def cell_map(cells: Sequence[tuple[int, int, float]]) -> CellMap | None:
    """Cells (column, row, ratio); of several in one place the fastest. None without any."""
    if not cells:
        return None
    best: dict[tuple[int, int], float] = {}
    for column, row, ratio in cells:
        best[column, row] = min(ratio, best.get((column, row), math.inf))
    columns, rows = 1 + max(column for column, _ in best), 1 + max(row for _, row in best)
    size, margin = 48.0, 40.0
    slow, fast = max(best.values()), min(best.values())
    span = slow - fast
    placed = tuple(
        Cell(
            margin + column * size,
            (rows - 1 - row) * size,
            (slow - ratio) / span if span > 0 else 1.0,
            f"{1 / ratio:.2f}x",
        )
        for (column, row), ratio in sorted(best.items())
    )
    return CellMap(
        margin + columns * size,
        rows * size + 24,
        size,
        tuple(Tick(margin + (number + 0.5) * size, str(number)) for number in range(columns)),
        tuple(Tick((rows - 0.5 - number) * size, str(number)) for number in range(rows)),
        placed,
    )


class _Scale:
    """Linear from one range to another."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self._low, self._start = low, start
        self._factor = (end - start) / (high - low) if high > low else 0.0

    def __call__(self, value: float) -> float:
        return self._start + (value - self._low) * self._factor


def _steps(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers in a range, about ``count`` of them."""
    span = high - low
    if span <= 0:
        return [low]
    rough = span / count
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 10) for number in range(first, math.floor(high / step + 1e-9) + 1)]
