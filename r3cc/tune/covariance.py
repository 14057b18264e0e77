"""Settings of a launch as numbers, and how alike what they do is."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
"""Settings, one a row: a block by its place among the shapes, then each knob's value by its place among the values; 0
is the recorded."""


def smooth(places: Array, reach: float) -> Array:
    """Matérn's covariance with half-integer order 3/2, between places in a space of doublings."""
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2)) * math.sqrt(3) / reach
    smooth: Array = (1 + apart) * np.exp(-apart)
    return smooth
