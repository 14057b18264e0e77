"""Which block shape and which knobs beside it to try next: a Gaussian process over both together.

What a block does depends on the registers and the blocks a multiprocessor that the code is made for, so they are chosen
together, from the first proposal on. Next is the setting with the largest expected gain over the best known one, of a
pool: all that differ from the recorded or the best one in one part, and some drawn ones, of which those that promise
least make way for others. The recorded setting is known from the start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from r3cc.llvm import AccessPattern
from r3cc.store.model import Dim3
from r3cc.tune.covariance import Array, Numbers
from r3cc.tune.launch_model import LaunchModel
from r3cc.tune.launch_posterior import Posterior

Setting = tuple[int, ...]
"""A block by its place among the shapes, then each knob's value by its place among the values; 0 is the recorded."""
WORST = 0.8
"""Losses above this say no more than that: a smooth model cannot follow a cliff."""
NO_GAIN = 0.0003
"""Expected gains below this are not worth an evaluation."""
DRAWN = 500
"""Settings of the pool that are drawn."""
FRESH = 64
"""How many of these are others from one proposal to the next."""
_DISTANCES = np.linspace(-6, 6, 401)
_BELOW = np.array([(1 + math.erf(distance / math.sqrt(2))) / 2 for distance in _DISTANCES])
"""The standard normal distribution there."""


class LaunchOptimizer:
    """Asks for settings, each once, until no gain is expected of any."""

    def __init__(
        self,
        shapes: Sequence[Dim3],
        values: Sequence[Sequence[str]] = (),
        seed: int = 0,
        registers: Sequence[int] = (),
        accesses: Sequence[AccessPattern] = (),
    ) -> None:
        """``shapes``: the recorded block, then the others. ``values``: those of each knob beside its recorded one.

        ``registers``: where the first knob bounds them, a thread's with each of its values, the recorded one first.
        ``accesses`` of the kernel, where they are known.
        """
        self._sizes = (len(shapes), *(1 + len(each) for each in values))
        self._rng = np.random.RandomState(seed)
        self._numbers: dict[Setting, int] = {}
        """Of what was asked for or told."""
        self._best: Setting = (0,) * len(self._sizes)
        self._best_loss = 0.0
        near = self._near(self._best)
        drawn = DRAWN if len(values) else 0
        model = LaunchModel(shapes, values, registers, accesses)
        self._posterior = Posterior(model, len(self._sizes), 2 * len(near) + drawn)
        self._near_best = len(near) + np.arange(len(near))
        self._drawn = 2 * len(near) + np.arange(drawn)
        self._known = np.ones(2 * len(near) + drawn, dtype=bool)
        """Places of the pool whose settings were asked for or told, or are the recorded one."""
        self._put(np.arange(len(near)), near)
        self._put(self._drawn, self._draw(drawn))

    def ask(self) -> Setting | None:
        """The setting of which most is expected; None when there is nothing to expect of any."""
        gains = self._expected_gains()
        at = int(np.argmax(gains))
        if gains[at] < NO_GAIN:
            return None
        setting: Setting = tuple(map(int, self._posterior.pool[at]))
        self._number(setting)
        least = self._drawn[np.argsort(gains[self._drawn], kind="stable")[:FRESH]]
        self._put(least, self._draw(len(least)))
        return setting

    def tell(self, setting: Setting, loss: float) -> None:
        """The loss of a setting, asked for or not: log of its time over the recorded one's."""
        self._posterior.tell(self._number(setting), min(loss, WORST))
        if loss < self._best_loss:
            self._best, self._best_loss = setting, loss
            self._put(self._near_best, self._near(setting))

    def _number(self, setting: Setting) -> int:
        """A known setting's number; an unknown one is known from now on."""
        if setting not in self._numbers:
            self._numbers[setting] = self._posterior.ask(setting)
            self._known |= (self._posterior.pool == setting).all(axis=1)
        return self._numbers[setting]

    def _put(self, places: npt.NDArray[np.int64], settings: Numbers) -> None:
        self._posterior.put(places, settings)
        self._known[places] = [not any(each) or tuple(each) in self._numbers for each in settings.tolist()]

    def _near(self, setting: Setting) -> Numbers:
        """All settings that differ from this one in one part."""
        return np.array(
            [
                (*setting[:part], value, *setting[part + 1 :])
                for part, size in enumerate(self._sizes)
                for value in range(size)
                if value != setting[part]
            ],
            dtype=int,
        ).reshape(-1, len(self._sizes))

    def _draw(self, count: int) -> Numbers:
        drawn: Numbers = self._rng.randint(self._sizes, size=(count, len(self._sizes)))
        return drawn

    def _expected_gains(self) -> Array:
        """By how much each setting of the pool is expected to lower the best loss; nothing of known ones."""
        mean, variance = self._posterior.of_pool()
        deviation = np.sqrt(np.maximum(variance, 1e-12))
        distance = (self._best_loss - mean) / deviation
        density = np.exp(-(distance**2) / 2) / math.sqrt(2 * math.pi)
        gains: Array = deviation * (distance * np.interp(distance, _DISTANCES, _BELOW) + density)
        gains[self._known] = 0.0
        return gains
