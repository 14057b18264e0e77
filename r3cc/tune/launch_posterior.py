"""What is expected of a pool of launch settings after some were measured: a Gaussian process that grows step by step.

Every setting that is asked for adds a row to a Cholesky factor, and every one that enters the pool a column to what the
rows explain of it, so neither is computed twice: an ask costs a small part of an evaluation.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from r3cc.tune.covariance import Array, Numbers
from r3cc.tune.launch_model import NOISE, LaunchModel

FIRST_ROWS = 64
"""Rows that there is room for at first."""
DOUBT = 4.0
"""Measured settings that the model's own scale counts for, against what they turn out to vary by."""
LEAST_SCALE = 0.25
"""Of the model's variance: where little has mattered so far, less is expected of the rest."""


class Posterior:
    """Mean and variance of the losses of a pool's settings; those that are under way turn out as expected."""

    def __init__(self, model: LaunchModel, parts: int, places: int) -> None:
        """``parts`` of a setting; ``places`` in the pool."""
        self._model = model
        self.pool: Numbers = np.zeros((places, parts), dtype=int)
        self._prior: Array = np.zeros(places)
        self._variance: Array = np.zeros(places)
        """Of the pool, before it is scaled."""
        self._asked: Numbers = np.zeros((0, parts), dtype=int)
        self._losses: Array = np.zeros(0)
        """NaN while it is not known."""
        self._factor: Array = np.zeros((FIRST_ROWS, FIRST_ROWS))
        """Lower Cholesky factor of the covariance of what was asked for, noise included."""
        self._inverse: Array = np.zeros((FIRST_ROWS, FIRST_ROWS))
        self._explained: Array = np.zeros((FIRST_ROWS, places))
        """The inverse times the covariance with the pool."""

    def put(self, places: npt.NDArray[np.int64], settings: Numbers) -> None:
        """Have these settings at these places of the pool."""
        count = len(self._asked)
        explained = self._inverse[:count, :count] @ self._model.covariance(self._asked, settings)
        self.pool[places] = settings
        self._explained[:count, places] = explained
        self._prior[places] = self._model.mean(settings)
        self._variance[places] = self._model.variance(settings) - (explained**2).sum(axis=0)

    def ask(self, setting: tuple[int, ...]) -> int:
        """A setting is under way; its number."""
        count = len(self._asked)
        if count == len(self._factor):
            self._grow()
        row = np.array([setting])
        known = self._inverse[:count, :count] @ self._model.covariance(self._asked, row)[:, 0]
        rest = np.sqrt(self._model.variance(row)[0] + NOISE**2 - known @ known)
        explained = (self._model.covariance(row, self.pool)[0] - known @ self._explained[:count]) / rest
        self._factor[count, : count + 1] = *known, rest
        self._inverse[count, :count] = -(known @ self._inverse[:count, :count]) / rest
        self._inverse[count, count] = 1 / rest
        self._explained[count] = explained
        self._variance -= explained**2
        self._asked = np.concatenate([self._asked, row])
        self._losses = np.append(self._losses, np.nan)
        return count

    def tell(self, number: int, loss: float) -> None:
        """The loss of what was asked for."""
        self._losses[number] = loss

    def of_pool(self) -> tuple[Array, Array]:
        """Mean and variance of each place's setting."""
        told = ~np.isnan(self._losses)
        if not told.any():
            return self._prior, self._variance
        factor = self._factor[: len(told), : len(told)]
        surprise = self._losses[told] - self._model.mean(self._asked[told])
        if told.all():
            weights = self._inverse[: len(told), : len(told)] @ surprise
            fit = float(weights @ weights)
        else:
            solved = np.linalg.solve(factor[told] @ factor[told].T, surprise)
            weights = solved @ factor[told]
            fit = float(surprise @ solved)
        scale = max(LEAST_SCALE, (DOUBT + fit) / (DOUBT + len(surprise)))
        return self._prior + weights @ self._explained[: len(told)], scale * self._variance

    def _grow(self) -> None:
        rows = len(self._factor)
        self._factor = np.pad(self._factor, (0, rows))
        self._inverse = np.pad(self._inverse, (0, rows))
        self._explained = np.pad(self._explained, ((0, rows), (0, 0)))
