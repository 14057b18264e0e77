"""Comparison of one recorded piece of memory with what a kernel left there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cached_property, partial

import msgspec
import numpy as np
import numpy.typing as npt

from r3cc.devices.base import Range, cut
from r3cc.replay.content import PIECE, several_at_once
from r3cc.replay.elements import Tolerance, floats, integers, is_float, size_of, words
from r3cc.replay.model import BYTES, Allowance, Mismatch
from r3cc.replay.sensitivity import Sensitivity, most_allowed

Bytes = npt.NDArray[np.uint8]
Piece = tuple[int, Bytes, Bytes]
"""Offset in the area, expected bytes, actual bytes."""

_LARGE = 1 << 20

SPREAD_MARGIN = 4.0
"""A candidate may be this many times as far from the reference as the baseline's own replays were."""


class Magnitude(msgspec.Struct, frozen=True):
    """How large the finite elements of a memory are; zeros for what is no number."""

    largest: float = 0.0
    squares: float = 0.0
    """Sum of the elements' squares."""

    @property
    def norm(self) -> float:
        """Euclidean."""
        return math.sqrt(self.squares)

    def __add__(self, other: Magnitude) -> Magnitude:
        return Magnitude(max(self.largest, other.largest), self.squares + other.squares)


def magnitude_of(expected: Bytes, element: str) -> Magnitude:
    """Of whole elements."""
    if not is_float(element):
        return Magnitude()
    pieces = (expected[part.address : part.end] for part in cut([Range(0, len(expected))], PIECE))
    return sum((_magnitude_of(floats(piece, element)) for piece in pieces), Magnitude())


def _magnitude_of(values: npt.NDArray[np.float64]) -> Magnitude:
    values = values[np.isfinite(values)]
    with np.errstate(over="ignore"):
        return Magnitude(float(np.max(np.abs(values), initial=0.0)), float(np.sum(values**2)))


class Area:
    """A region or global whose content is judged: its element type, magnitude, and the baseline's own spread."""

    def __init__(self, label: str, offset: int, size: int, element: str, expected: Callable[[], Magnitude]) -> None:
        """``expected`` is asked once something differs: finding out means reading all of the memory."""
        self.label = label
        self.offset = offset
        """Where it begins in the memory that holds it."""
        self.size = size
        whole = size % size_of(element) == 0 and offset % size_of(element) == 0
        self.element = element if whole else BYTES
        self._expected = expected
        self.spread = 0.0
        """Largest difference between replays of the baseline, for floating-point elements."""
        self._varied: npt.NDArray[np.int64] = np.empty(0, np.int64)
        """Elements that differed between replays of the baseline."""
        self._sensitivity: Sensitivity | None = None
        self.unsettled = False
        """Whether the last judgement found a mismatch that the kernel's sensitivity, not known yet, may explain."""

    @cached_property
    def _magnitude(self) -> Magnitude:
        return self._expected()

    @property
    def deterministic(self) -> bool:
        """Whether all replays of the baseline agreed, bit for bit."""
        return len(self._varied) == 0

    def widen(self, pieces: Iterable[Piece]) -> None:
        """Take the difference between two replays of the baseline into the spread."""
        for offset, left, right in pieces:
            different = words(left, self.element) != words(right, self.element)
            self._varied = np.union1d(self._varied, np.flatnonzero(different) + offset // size_of(self.element))
            if is_float(self.element):
                distance = np.abs(floats(left, self.element) - floats(right, self.element))[different]
                self.spread = max(self.spread, float(np.max(distance, initial=0.0, where=np.isfinite(distance))))

    def begin_draw(self) -> None:
        """The baseline ran on nudged inputs: what ``feel`` gets next is what that moved."""
        if self._sensitivity is None:
            self._sensitivity = Sensitivity(self.element, self.size, self._magnitude.largest)
        self._sensitivity.begin_draw()

    def feel(self, pieces: Iterable[Piece]) -> None:
        """Take what nudged inputs moved into the sensitivity."""
        assert self._sensitivity is not None
        for offset, expected, moved in pieces:
            self._sensitivity.add(offset, expected, moved)

    def judge(self, pieces: Iterable[Piece], tolerance: Tolerance | None) -> Mismatch | Allowance | None:
        """What is too far from the reference, or would be but for the kernel's sensitivity; None if nothing is.

        ``pieces`` hold whole elements and everything that differs; None for ``tolerance`` wants equal bits wherever
        the baseline's own replays agreed.
        """
        self.unsettled = False
        total = _Total()
        for found in several_at_once(partial(self._judge_piece, tolerance), pieces, _is_large):
            total = total.with_piece(found)
        if not total.different:
            return None
        beyond, refused = self._norm_broken(total, tolerance)
        if total.beyond == 0 and not beyond:
            return None
        if total.count == 0 and not refused:
            return Allowance(self.label, self.element, total.beyond, total.times)
        self.unsettled = (
            tolerance is not None
            and tolerance.by_sensitivity
            and self._sensitivity is None
            and total.max_abs <= most_allowed(self.element) * self._magnitude.largest
        )
        where = f"{self.label}+{max(total.first, 0)}"
        furthest = (each if math.isfinite(each) else None for each in (total.max_abs, total.max_rel))
        return Mismatch(where, self.element, total.count or total.different, *furthest)

    def _norm_broken(self, total: _Total, tolerance: Tolerance | None) -> tuple[bool, bool]:
        """Whether all differences together are beyond the tolerance, and beyond what the sensitivity grants, too.

        The norm catches many small differences; it bounds nothing that the baseline's own spread exceeds.
        """
        if tolerance is None or not self.deterministic:
            return False, False
        distance = total.squares**0.5
        beyond = distance > tolerance.norm * self._magnitude.norm + tolerance.floor(self._magnitude.largest)
        granted = self._sensitivity.norm_allowed() if beyond and self._sensitivity is not None else 0.0
        return beyond, beyond and distance > granted

    def _judge_piece(self, tolerance: Tolerance | None, piece: Piece) -> _Total:
        offset, expected, actual = piece
        different = np.flatnonzero(words(expected, self.element) != words(actual, self.element))
        first = offset // size_of(self.element)
        if not is_float(self.element):
            bad = different[~np.isin(different + first, self._varied)]
            first = _first(offset, bad, self.element)
            return _Total(len(bad), len(bad), len(different), first, *self._integers_apart(expected, actual, bad))
        with np.errstate(all="ignore"):
            reference = floats(expected, self.element)[different]
            distance = np.abs(floats(actual, self.element)[different] - reference)
            same = np.isnan(reference) & np.isnan(floats(actual, self.element)[different])
            times = np.zeros(len(different))
            if tolerance is None:
                near = close = np.isin(different + first, self._varied)
            else:
                allowed = tolerance.floor(self._magnitude.largest) + tolerance.rtol * np.abs(reference)
                allowed += SPREAD_MARGIN * self.spread
                # A distance that is not a number (one NaN, unequal infinities) is never within.
                near = same | (np.isfinite(reference) & (distance <= allowed))
                close = near | (np.isfinite(reference) & (distance <= self._granted(offset, expected)[different]))
                times = distance / allowed
            bad = different[~close]
            finite = np.where(np.isfinite(distance), distance, 0.0)
            relative = finite / np.maximum(np.abs(reference), np.finfo(np.float64).tiny)
            worst = np.where(np.isfinite(distance) | same, finite, np.inf)
            return _Total(
                len(bad),
                int(np.count_nonzero(~near)),
                len(different),
                _first(offset, bad if len(bad) else different, self.element),
                float(np.max(worst, initial=0.0)),
                float(np.max(np.where(np.isfinite(reference), relative, 0.0), initial=0.0)),
                float(np.sum(finite**2)),
                float(np.max(times, initial=0.0, where=close & ~near)),
            )

    def _integers_apart(self, expected: Bytes, actual: Bytes, bad: npt.NDArray[np.int64]) -> tuple[float, float]:
        """Largest distance, absolute and relative; 0 for bytes, of which nobody knows what they are."""
        reference = integers(expected, self.element)[bad]
        distance = np.abs(integers(actual, self.element)[bad] - reference)
        relative = distance / np.maximum(np.abs(reference), 1.0)
        return float(np.max(distance, initial=0.0)), float(np.max(relative, initial=0.0))

    def _granted(self, offset: int, expected: Bytes) -> npt.NDArray[np.float64]:
        """Distances that the kernel's sensitivity grants to the elements of a piece."""
        count = len(expected) // size_of(self.element)
        if self._sensitivity is None:
            return np.zeros(count)
        return self._sensitivity.allowed(offset, count)


class _Total(msgspec.Struct, frozen=True):
    count: int = 0
    """Elements that are too far away whatever the kernel's sensitivity."""
    beyond: int = 0
    """Elements beyond their type's tolerance."""
    different: int = 0
    first: int = -1
    max_abs: float = 0.0
    max_rel: float = 0.0
    squares: float = 0.0
    times: float = 0.0
    """Largest distance in units of the type's tolerance, of elements that the sensitivity lets pass."""

    def with_piece(self, piece: _Total) -> _Total:
        """Both together; the first offset is that of the first piece with anything bad in it."""
        known = self.first >= 0 and (self.count > 0 or piece.count == 0)
        return _Total(
            self.count + piece.count,
            self.beyond + piece.beyond,
            self.different + piece.different,
            self.first if known else piece.first,
            max(self.max_abs, piece.max_abs),
            max(self.max_rel, piece.max_rel),
            self.squares + piece.squares,
            max(self.times, piece.times),
        )


def _is_large(piece: Piece) -> bool:
    """Whether a thread of its own is worth its while."""
    return len(piece[1]) >= _LARGE


def _first(offset: int, indices: npt.NDArray[np.int64], element: str) -> int:
    return offset + int(indices[0]) * size_of(element) if len(indices) else -1
