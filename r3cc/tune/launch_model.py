"""What is expected of launch settings before any was measured: means and covariances of their losses.

What is expected of a block is a small cost model: warps whose threads lie apart in memory read it badly, blocks far
from a few hundred threads hide latency badly. How much either matters differs from kernel to kernel, so both enter as
terms with uncertain weights, beside a smooth rest. A knob has an effect of its own, for being set at all and smooth in
its value, and one that changes with the block. Values of the blocks' model were fitted on tables of kernels on GPUs of
several makes, and tried on others (benchmarks/README.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from r3cc.llvm import AccessPattern
from r3cc.store.model import Dim3
from r3cc.tune.coalescing import lines
from r3cc.tune.covariance import Array, Numbers, smooth
from r3cc.tune.register_model import RegisterModel

USUAL_BITS = 7.8
"""Logarithm of the threads that blocks usually do best with."""
EXPECTED = np.array([0.10, 0.03, 0.0, 0.03])
SPREAD = np.array([0.10, 0.03, 0.07, 0.02])
"""Mean and standard deviation of the terms' weights: loss for each unit of a term."""
RANGE = 1.0
"""Distance, in doublings of an extent, over which the smooth rest keeps its value."""
VOLUME_WEIGHT = 0.4
"""What a doubling of the whole block adds to that distance."""
REST = 0.17
"""Standard deviation of the smooth rest."""
OFFSET = 0.2
"""Standard deviation of what the recorded shape has against it, or for it, that none of the others share."""
SET = 0.1
"""Standard deviation of what a knob does by being set at all."""
VALUE = 0.12
"""The same of what its value does, whatever the block."""
BESIDE = 0.15
"""The same of what its value does beside one block and not beside others."""
VALUE_RANGE = 2.0
"""Distance, in doublings of a knob's value, over which it does the same."""
NOISE = 0.02
"""Standard deviation of one measured loss, and of what is not smooth."""


class LaunchModel:
    """Means, variances and covariances of settings' losses, the recorded one's being 0."""

    def __init__(
        self,
        shapes: Sequence[Dim3],
        values: Sequence[Sequence[str]],
        registers: Sequence[int] = (),
        accesses: Sequence[AccessPattern] = (),
    ) -> None:
        """``shapes``: the recorded block, then the others. ``values``: those of each knob beside its recorded one.

        ``registers``: where the first knob bounds them, a thread's with each of its values, the recorded one first.
        ``accesses`` of the kernel, where they are known.
        """
        self._blocks = _Blocks(shapes, accesses)
        self._registers = RegisterModel(shapes, registers) if registers else None
        self._first = 2 if registers else 1
        """Place of the first knob whose values are no more than words or numbers."""
        self._alike = [_alike(each) for each in values[self._first - 1 :]]

    def mean(self, settings: Numbers) -> Array:
        """Of each setting."""
        mean: Array = self._blocks.mean[settings[:, 0]]
        return mean if self._registers is None else mean + self._registers.mean(settings)

    def variance(self, settings: Numbers) -> Array:
        """Of each setting, without noise."""
        knob = SET**2 + VALUE**2 + BESIDE**2
        variance: Array = self._blocks.variance[settings[:, 0]] + knob * self._set(settings).sum(axis=1)
        return variance if self._registers is None else variance + self._registers.variance(settings)

    def covariance(self, rows: Numbers, columns: Numbers) -> Array:
        """Of each pair."""
        of_rows, of_columns = rows.T[:, :, None], columns.T[:, None, :]
        blocks = of_rows[0], of_columns[0]
        covariance: Array = self._blocks.covariance[blocks]
        if self._alike:
            pairs = zip(self._alike, of_rows[self._first :], of_columns[self._first :], strict=True)
            alike = sum(each[row, column] for each, row, column in pairs)
            covariance += alike * (VALUE**2 + BESIDE**2 * self._blocks.smooth[blocks])
            covariance += SET**2 * (self._set(rows) @ self._set(columns).T)
        if self._registers is not None:
            covariance = covariance + self._registers.covariance(rows, columns, self._blocks.smooth[blocks])
        return covariance

    def _set(self, settings: Numbers) -> Array:
        """1 for each such knob of each setting that has not its recorded value, else 0."""
        return (settings[:, self._first :] > 0).astype(float)


class _Blocks:
    """What is expected of block shapes' losses: their mean and covariance, the first shape's loss being 0."""

    def __init__(self, shapes: Sequence[Dim3], accesses: Sequence[AccessPattern]) -> None:
        extents = np.log2(np.array(shapes, dtype=float))
        terms = _terms(extents, lines(accesses, shapes))
        terms -= terms[0]
        others = (np.arange(len(shapes)) > 0).astype(float)
        places = np.concatenate([extents, VOLUME_WEIGHT * extents.sum(axis=1, keepdims=True)], axis=1)
        self.smooth = smooth(places, RANGE)
        self.mean: Array = terms @ EXPECTED
        self.covariance: Array = (
            (terms * SPREAD**2) @ terms.T + REST**2 * _beside_first(self.smooth) + OFFSET**2 * np.outer(others, others)
        )
        self.variance: Array = self.covariance.diagonal().copy()


def _alike(values: Sequence[str]) -> Array:
    """How far a knob's values do the same, 0 to 1; the recorded one, which comes first, does nothing."""
    places = np.array([_place(value, number) for number, value in enumerate(values)])[:, None]
    return np.pad(smooth(places, VALUE_RANGE), ((1, 0), (1, 0)))


def _place(value: str, number: int) -> float:
    """Where a value lies among a knob's others: numbers by their logarithm, words one from another."""
    try:
        return math.log2(1 + float(value))
    except ValueError:
        return float(number)


def _terms(extents: Array, lines: Array) -> Array:
    """The cost model's terms of each shape, given the logarithms of its extents and the lines that an access takes."""
    x, volume = extents[:, 0], extents.sum(axis=1)
    odd = (np.abs(extents - np.round(extents)) > 1e-9).any(axis=1).astype(float)
    return np.stack([np.log2(lines), (volume - USUAL_BITS) ** 2, volume - x, odd], axis=1)


def _beside_first(covariance: Array) -> Array:
    """Covariance of differences to the first, the recorded shape, whose loss is 0."""
    beside: Array = covariance - covariance[:1] - covariance[:, :1] + covariance[0, 0]
    return beside
