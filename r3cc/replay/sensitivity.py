"""How far rounding alone may move a kernel's results: as far as inputs do that are a few units in the last place off.

Where large terms cancel, rounding errors follow the terms and not what is left of them, so no tolerance that is
relative to the results fits honest rewrites. The original kernel itself says what does: it runs a few times on inputs
that are nudged at random, and each result may then be off by about as much as it moved. A sum in single precision is
off by 10^7 times as much.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from r3cc.replay.elements import floats, is_float, size_of, words
from r3cc.replay.facts import KernelFacts
from r3cc.replay.perturbed import PerturbedLaunches
from r3cc.store.model import GlobalImage, Launch, Region

Bytes = npt.NDArray[np.uint8]
Doubles = npt.NDArray[np.float64]

LARGEST_NUDGE = 16
"""Units in the last place: rounding in some hundred operations adds up to about so much."""
DRAWS = 5
"""Runs on nudged inputs: five say how far one result moves within a factor of two, but for one in a million."""
SEED = 40
REACH = 8
"""Elements on either side whose movement counts for one, too: chance, or terms made of one input, can hide its own."""
MARGIN = 4.0
"""Times the movement that an element may be off: it is known from a few runs, and not of every term."""
NORM_MARGIN = 2.0
"""Likewise for all elements together, where chance plays no part."""

_PRECISIONS = {"double": 2.0**-52, "float": 2.0**-23}
"""Of the types that this is for: the tolerance of shorter ones is as large as a nudge."""


def most_allowed(element: str) -> float:
    """Relative to an array's largest magnitude: half of its type's digits have to be right whatever the kernel does.

    0 for types that nothing is granted.
    """
    return math.sqrt(_PRECISIONS.get(element, 0.0))


class Sensitivity:
    """How far each element of an array moves when the kernel's inputs are nudged."""

    def __init__(self, element: str, size: int, largest: float) -> None:
        """``size`` in bytes, of whole elements; ``largest`` is the largest magnitude of the array's."""
        self._element = element
        self._unit = largest or 1.0
        """All distances are kept in it: squares of numbers near either end of a type's range are none."""
        self._squares = np.zeros(size // size_of(element))
        self._draws = 0
        self._most = most_allowed(element) if largest else 0.0

    def begin_draw(self) -> None:
        """What is added now comes from a further run."""
        self._draws += 1

    def add(self, offset: int, expected: Bytes, moved: Bytes) -> None:
        """Results from a byte offset on, as they are and as they were on nudged inputs."""
        with np.errstate(all="ignore"):
            distance = (floats(moved, self._element) - floats(expected, self._element)) / self._unit
            squares = np.where(np.isfinite(distance), distance, 0.0) ** 2
        first = offset // size_of(self._element)
        self._squares[first : first + len(squares)] += squares

    def allowed(self, offset: int, count: int) -> Doubles:
        """Distance that is granted to each of ``count`` elements, the first at a byte offset."""
        first = offset // size_of(self._element)
        start = max(first - REACH, 0)
        around = self._squares[start : first + count + REACH]
        means = np.convolve(around, np.full(2 * REACH + 1, 1.0 / (2 * REACH + 1)))[REACH : REACH + len(around)]
        moved = self._root_mean(np.maximum(around, means)[first - start :][:count])
        return self._unit * np.minimum(MARGIN * moved, self._most)

    def norm_allowed(self) -> float:
        """Euclidean distance that is granted to the whole array: an element that jumps adds little."""
        granted = np.minimum(NORM_MARGIN * self._root_mean(self._squares), self._most)
        return self._unit * float(np.linalg.norm(granted))

    def _root_mean(self, squares: Doubles) -> Doubles:
        """Of sums over the draws."""
        return np.sqrt(squares / max(self._draws, 1))


def nudged(images: PerturbedLaunches, launch: Launch, facts: KernelFacts, element: str, draw: int) -> Launch | None:
    """The launch on inputs of an element type that are a little off; None where it has none.

    The new images are kept in ``images``. Inputs of other types stay: those of less precision would hide that a
    kernel computes in it.
    """

    def other(each: Region | GlobalImage, number: int, kind: str) -> Bytes | None:
        random = np.random.default_rng((SEED, draw, number))
        return nudge_elements(images.image(each.before, each.size), element, random) if kind == element else None

    arguments = _nudge_arguments(launch, facts, element, np.random.default_rng((SEED, draw)))
    return images.on_others(launch, facts, other, arguments)


def nudge_elements(content: Bytes, element: str, random: np.random.Generator) -> Bytes:
    """Each finite number but zero, moved by up to ``LARGEST_NUDGE`` units in its last place."""
    assert is_float(element)
    whole = len(content) - len(content) % size_of(element)
    bits = words(content[:whole].copy(), element)
    steps = random.integers(-LARGEST_NUDGE, LARGEST_NUDGE + 1, len(bits)).astype(bits.dtype)
    moved = bits + steps  # magnitudes are ordered as their bits are; those of negative steps wrap around
    kept = np.isfinite(floats(moved.view(np.uint8), element)) & _is_normal(floats(content[:whole], element), element)
    return np.concatenate([np.where(kept, moved, bits).view(np.uint8), content[whole:]])


def _is_normal(values: Doubles, element: str) -> npt.NDArray[np.bool_]:
    """Whether numbers are so far from zero that a nudge keeps their sign."""
    smallest = np.finfo(np.float64 if element == "double" else np.float32).tiny
    return np.isfinite(values) & (np.abs(values) >= smallest)


def _nudge_arguments(launch: Launch, facts: KernelFacts, element: str, random: np.random.Generator) -> bytes:
    arguments = np.frombuffer(launch.arguments, np.uint8).copy()
    for index, kind in sorted(facts.scalars.items()):
        if kind == element and index < len(launch.parameters):
            place = launch.parameters[index]
            where = slice(place.offset, place.offset + place.size)
            arguments[where] = nudge_elements(arguments[where], element, random)
    return arguments.tobytes()
