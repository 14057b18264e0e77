"""What is expected of fewer registers a thread: values that spill, and more warps for a multiprocessor to hold.

On an H200 what spilling costs grew with the square of the doublings by which registers fell short (0.3 of the time for
half of them, 1.2 for a quarter, on kernels of three programs), and a bound a little below what the baseline takes was
often the best that a launch could have.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from r3cc.store.model import Dim3
from r3cc.tune.covariance import Array, Numbers, smooth
from r3cc.tune.register_bounds import MOST_THREADS, REGISTERS

EXPECTED = np.array([0.28, -0.1])
SPREAD = np.array([0.15, 0.12])
"""Mean and standard deviation of the terms' weights: loss for a squared doubling of registers that fell short, and for
a doubling of warps."""
RANGE = 0.6
"""Distance, in doublings of registers, over which the smooth rest keeps its value."""
SET, VALUE, BESIDE = 0.03, 0.08, 0.06
"""Standard deviations of what any bound does, of what one does whatever the block, and beside one block alone."""
IMPOSSIBLE = 1.0
"""Loss of a block that a multiprocessor has not got the registers for."""


class RegisterModel:
    """Means, variances and covariances of what registers add to settings' losses, the recorded setting's being 0.

    The first knob of a setting is the one that bounds them.
    """

    def __init__(self, shapes: Sequence[Dim3], registers: Sequence[int]) -> None:
        """``shapes``: the recorded block, then the others. ``registers``: a thread's by the knob's values."""
        counts, threads = np.array(registers, dtype=float), np.array(shapes).prod(axis=1)[:, None]
        short = np.log2(counts[0] / counts)
        held = np.minimum(MOST_THREADS, REGISTERS // counts) // threads * threads
        self._impossible = held == 0
        warps = np.log2(np.maximum(held, 32) / max(held[0, 0], 32))
        self._terms = np.stack([np.broadcast_to(short**2, held.shape), warps], axis=2)
        alike = smooth(short[:, None], RANGE)
        self._alike: Array = alike - alike[:1] - alike[:, :1] + 1

    def mean(self, settings: Numbers) -> Array:
        """Of each setting."""
        at = settings[:, 0], settings[:, 1]
        mean: Array = self._terms[at] @ EXPECTED + IMPOSSIBLE * self._impossible[at]
        return mean

    def variance(self, settings: Numbers) -> Array:
        """Of each setting."""
        known = self._terms[settings[:, 0], settings[:, 1]] ** 2 @ SPREAD**2
        alike = self._alike[settings[:, 1], settings[:, 1]]
        variance: Array = known + SET**2 * (settings[:, 1] > 0) + (VALUE**2 + BESIDE**2) * alike
        return variance

    def covariance(self, rows: Numbers, columns: Numbers, blocks: Array) -> Array:
        """Of each pair; ``blocks``: how far theirs are alike."""
        terms = self._terms[rows[:, 0], rows[:, 1]] * SPREAD**2 @ self._terms[columns[:, 0], columns[:, 1]].T
        both = (rows[:, 1] > 0)[:, None] & (columns[:, 1] > 0)[None]
        alike = self._alike[rows[:, 1][:, None], columns[:, 1][None]]
        covariance: Array = terms + SET**2 * both + alike * (VALUE**2 + BESIDE**2 * blocks)
        return covariance
