"""Which block shape and which knobs beside it to try next: a Gaussian process over both together.

What a block does depends on the registers and the blocks a multiprocessor that the code is made for, so they are chosen
together, from the first proposal on. What is expected of a block before anything was measured is a small cost model:
rows shorter than a warp read memory badly, blocks far from a few hundred threads hide latency badly. How much either
matters differs from kernel to kernel, so both enter as terms with uncertain weights, beside a smooth rest. A knob has
an effect of its own, for being set at all and smooth in its value, and one that changes with the block. Next is the
setting with the largest expected gain over the best known one; the recorded one is known from the start. Values of the
blocks' model were fitted on tables of kernels on GPUs of several makes, and tried on others (benchmarks/README.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from r3cc.store.model import Dim3

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Setting = tuple[int, ...]
"""A block by its place among the shapes, then each knob's value by its place among the values; 0 is the recorded."""

WARP_BITS = 5
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
DOUBT = 4.0
"""Measured settings that the model's own scale counts for, against what they turn out to vary by."""
LEAST_SCALE = 0.25
"""Of the model's variance: where little has mattered so far, less is expected of the rest."""
WORST = 0.8
"""Losses above this say no more than that: a smooth model cannot follow a cliff."""
NO_GAIN = 0.0003
"""Expected gains below this are not worth an evaluation."""
DRAWN = 500
"""Settings that are drawn for each proposal where there are more than can be looked at."""


class LaunchOptimizer:
    """Asks for settings, each once, until no gain is expected of any."""

    def __init__(self, shapes: Sequence[Dim3], values: Sequence[Sequence[str]] = (), seed: int = 0) -> None:
        """``shapes``: the recorded block, then the others. ``values``: those of each knob beside its recorded one."""
        self._blocks = _Blocks(shapes)
        self._alike = [_alike(each) for each in values]
        self._sizes = (len(shapes), *(1 + len(each) for each in values))
        self._rng = np.random.RandomState(seed)
        self._losses: dict[Setting, float | None] = {}
        """Of what was asked for or told; None while its loss is not known."""

    def ask(self) -> Setting | None:
        """The setting of which most is expected; None when there is nothing to expect of any."""
        pool = self._pool()
        if not len(pool):
            return None
        gains = self._expected_gains(pool)
        at = int(np.argmax(gains))
        if gains[at] < NO_GAIN:
            return None
        setting = tuple(map(int, pool[at]))
        self._losses[setting] = None
        return setting

    def tell(self, setting: Setting, loss: float) -> None:
        """The loss of a setting, asked for or not: log of its time over the recorded one's."""
        self._losses[setting] = min(loss, WORST)

    def _pool(self) -> Numbers:
        """Untried settings: all that differ from the recorded and from the best one in one part, and some others."""
        origin = (0,) * len(self._sizes)
        told = {setting: loss for setting, loss in self._losses.items() if loss is not None and loss < 0}
        best = min(told, key=told.__getitem__, default=origin)
        near = {
            (*each[:part], value, *each[part + 1 :])
            for each in (origin, best)
            for part, size in enumerate(self._sizes)
            for value in range(size)
        }
        drawn = self._rng.randint(self._sizes, size=(DRAWN, len(self._sizes))) if len(self._sizes) > 1 else ()
        every = near | {tuple(map(int, each)) for each in drawn}
        return np.array(sorted(every - {origin} - self._losses.keys()), dtype=int)

    def _expected_gains(self, pool: Numbers) -> Array:
        """By how much each setting is expected to lower the best loss."""
        mean, variance = self._posterior(pool)
        best = min([0.0, *(loss for loss in self._losses.values() if loss is not None)])
        deviation = np.sqrt(np.maximum(variance, 1e-12))
        distance = (best - mean) / deviation
        density = np.exp(-(distance**2) / 2) / math.sqrt(2 * math.pi)
        below = np.array([(1 + math.erf(each / math.sqrt(2))) / 2 for each in distance])
        gains: Array = deviation * (distance * below + density)
        return gains

    def _posterior(self, pool: Numbers) -> tuple[Array, Array]:
        """Mean and variance of each setting's loss; what is under way is taken to turn out as expected."""
        mean, variance = self._blocks.mean[pool[:, 0]], self._variance(pool)
        if not self._losses:
            return mean, variance
        asked = np.array(list(self._losses), dtype=int)
        known = self._covariance(asked, asked) + NOISE**2 * np.eye(len(asked))
        beside = self._covariance(asked, pool)
        told = np.array([loss is not None for loss in self._losses.values()])
        losses = np.array([loss for loss in self._losses.values() if loss is not None])
        scale = 1.0
        if told.any():
            surprise = losses - self._blocks.mean[asked[told, 0]]
            solved = np.linalg.solve(known[np.ix_(told, told)], surprise)
            mean = mean + solved @ beside[told]
            scale = max(LEAST_SCALE, (DOUBT + float(surprise @ solved)) / (DOUBT + len(losses)))
        return mean, scale * (variance - (np.linalg.solve(known, beside) * beside).sum(axis=0))

    def _covariance(self, rows: Numbers, columns: Numbers) -> Array:
        blocks = np.ix_(rows[:, 0], columns[:, 0])
        value = VALUE**2 + BESIDE**2 * self._blocks.smooth[blocks]
        covariance = self._blocks.covariance[blocks] + SET**2 * (_set(rows) @ _set(columns).T)
        for part, alike in enumerate(self._alike, 1):
            covariance += value * alike[np.ix_(rows[:, part], columns[:, part])]
        return covariance

    def _variance(self, pool: Numbers) -> Array:
        knob = SET**2 + VALUE**2 + BESIDE**2
        variance: Array = self._blocks.covariance.diagonal()[pool[:, 0]] + knob * _set(pool).sum(axis=1)
        return variance


class _Blocks:
    """What is expected of block shapes' losses: their mean and covariance, the first shape's loss being 0."""

    def __init__(self, shapes: Sequence[Dim3]) -> None:
        extents = np.log2(np.array(shapes, dtype=float))
        terms = _terms(extents)
        terms -= terms[0]
        others = (np.arange(len(shapes)) > 0).astype(float)
        places = np.concatenate([extents, VOLUME_WEIGHT * extents.sum(axis=1, keepdims=True)], axis=1)
        self.smooth = _smooth(places, RANGE)
        self.mean: Array = terms @ EXPECTED
        self.covariance: Array = (
            (terms * SPREAD**2) @ terms.T + REST**2 * _beside_first(self.smooth) + OFFSET**2 * np.outer(others, others)
        )


def _alike(values: Sequence[str]) -> Array:
    """How far a knob's values do the same, 0 to 1; the recorded one, which comes first, does nothing."""
    places = np.array([_place(value, number) for number, value in enumerate(values)])[:, None]
    return np.pad(_smooth(places, VALUE_RANGE), ((1, 0), (1, 0)))


def _set(settings: Numbers) -> Array:
    """1 for each knob of each setting that has not its recorded value, else 0."""
    return (settings[:, 1:] > 0).astype(float)


def _place(value: str, number: int) -> float:
    """Where a value lies among a knob's others: numbers by their logarithm, words one from another."""
    try:
        return math.log2(1 + float(value))
    except ValueError:
        return float(number)


def _terms(extents: Array) -> Array:
    """The cost model's terms of each shape, given the logarithms of its extents."""
    x, volume = extents[:, 0], extents.sum(axis=1)
    short_rows = np.maximum(0.0, WARP_BITS - x)
    odd = (np.abs(extents - np.round(extents)) > 1e-9).any(axis=1).astype(float)
    return np.stack([short_rows, (volume - USUAL_BITS) ** 2, volume - x, odd], axis=1)


def _smooth(places: Array, reach: float) -> Array:
    """Matérn's covariance with half-integer order 3/2, between places in a space of doublings."""
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2)) * math.sqrt(3) / reach
    smooth: Array = (1 + apart) * np.exp(-apart)
    return smooth


def _beside_first(covariance: Array) -> Array:
    """Covariance of differences to the first, the recorded shape, whose loss is 0."""
    beside: Array = covariance - covariance[:1] - covariance[:, :1] + covariance[0, 0]
    return beside
