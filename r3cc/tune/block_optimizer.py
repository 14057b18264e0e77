"""Which block shape to try next: a Gaussian process over the logarithms of its extents.

What is expected before anything was measured is a small cost model: rows shorter than a warp read memory badly, blocks
far from a few hundred threads hide latency badly. How much either matters differs from kernel to kernel, so both enter
as terms with uncertain weights, beside a smooth rest. Next is the shape with the largest expected gain over the best
known one; the recorded shape is known from the start. Values of the model were fitted on tables of kernels on GPUs of
several makes, and tried on others (benchmarks/README.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from r3cc.store.model import Dim3

Array = npt.NDArray[np.float64]

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
NOISE = 0.02
"""Standard deviation of one measured loss, and of what is not smooth."""
DOUBT = 4.0
"""Measured shapes that the model's own scale counts for, against what they turn out to vary by."""
STALE = 0.06
"""The same for a loss that was measured beside other values of the rest of the genotype."""
WORST = 0.8
"""Losses above this say no more than that: a smooth model cannot follow a cliff."""
NO_GAIN = 0.0003
"""Expected gains below this are not worth an evaluation."""


class BlockOptimizer:
    """Asks for block shapes, each once beside the same rest, until no gain is expected of any."""

    def __init__(self, recorded: Dim3, others: Sequence[Dim3]) -> None:
        self._shapes = (recorded, *others)
        self._at = {shape: number for number, shape in enumerate(self._shapes)}
        extents = np.log2(np.array(self._shapes, dtype=float))
        terms = _terms(extents)
        terms -= terms[0]
        self._mean: Array = terms @ EXPECTED
        self._covariance: Array = (terms * SPREAD**2) @ terms.T + REST**2 * _beside_first(_smooth(extents)) + OFFSET**2
        self._losses: dict[int, float | None] = {}
        """Of what was asked for; None while its loss is not known."""
        self._stale: set[int] = set()
        """Those whose loss was measured beside another rest: they may be asked for again."""

    def ask(self) -> Dim3 | None:
        """The shape of which most is expected; None when there is nothing to expect."""
        gains = self._expected_gains()
        at = int(np.argmax(gains))
        if gains[at] < NO_GAIN:
            return None
        self._losses[at] = None
        self._stale.discard(at)
        return self._shapes[at]

    def tell(self, shape: Dim3, loss: float) -> None:
        """The loss of a shape, asked for or not: log of its time over the recorded shape's."""
        at = self._at[shape]
        self._losses[at] = min(loss, WORST)
        self._stale.discard(at)

    def renew(self, current: Dim3) -> None:
        """The rest of the genotype has changed, with which ``current`` was measured: other shapes may do better now."""
        told = {at for at, loss in self._losses.items() if loss is not None}
        self._stale |= told - {self._at[current]}

    def _expected_gains(self) -> Array:
        """By how much each untried shape is expected to lower the best loss."""
        mean, variance = self._posterior()
        known = [loss for loss in self._losses.values() if loss is not None]
        best = min(0.0, *known) if known else 0.0
        deviation = np.sqrt(np.maximum(variance, 1e-12))
        distance = (best - mean) / deviation
        density = np.exp(-(distance**2) / 2) / math.sqrt(2 * math.pi)
        below = np.array([(1 + math.erf(each / math.sqrt(2))) / 2 for each in distance])
        gains: Array = deviation * (distance * below + density)
        gains[[0, *(at for at in self._losses if at not in self._stale)]] = -math.inf
        return gains

    def _posterior(self) -> tuple[Array, Array]:
        """Mean and variance of every shape's loss; what is under way is taken to turn out as expected."""
        variance = np.diag(self._covariance)
        if not self._losses:
            return self._mean, variance
        asked = [*self._losses]
        told = [at for at in asked if self._losses[at] is not None]
        surprise = np.array([self._losses[at] for at in told], dtype=float) - self._mean[told]
        weights = self._weights(told)
        mean = self._mean + weights.T @ surprise
        squares = float(surprise @ np.linalg.solve(self._known(told), surprise))
        scale = max(1.0, (DOUBT + squares) / (DOUBT + len(told)))
        return mean, scale * (variance - (self._weights(asked) * self._covariance[asked]).sum(axis=0))

    def _weights(self, at: Sequence[int]) -> Array:
        return np.asarray(np.linalg.solve(self._known(at), self._covariance[at]), dtype=float)

    def _known(self, at: Sequence[int]) -> Array:
        noise = np.array([STALE if each in self._stale else NOISE for each in at])
        known: Array = self._covariance[np.ix_(at, at)] + np.diag(noise**2)
        return known


def _terms(extents: Array) -> Array:
    """The cost model's terms of each shape, given the logarithms of its extents."""
    x, volume = extents[:, 0], extents.sum(axis=1)
    short_rows = np.maximum(0.0, WARP_BITS - x)
    odd = (np.abs(extents - np.round(extents)) > 1e-9).any(axis=1).astype(float)
    return np.stack([short_rows, (volume - USUAL_BITS) ** 2, volume - x, odd], axis=1)


def _smooth(extents: Array) -> Array:
    """Matérn's covariance with half-integer order 3/2."""
    places = np.concatenate([extents, VOLUME_WEIGHT * extents.sum(axis=1, keepdims=True)], axis=1)
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2)) * math.sqrt(3) / RANGE
    smooth: Array = (1 + apart) * np.exp(-apart)
    return smooth


def _beside_first(covariance: Array) -> Array:
    """Covariance of differences to the first, the recorded shape, whose loss is 0."""
    beside: Array = covariance - covariance[:1] - covariance[:, :1] + covariance[0, 0]
    return beside
