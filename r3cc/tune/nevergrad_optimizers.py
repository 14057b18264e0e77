"""Nevergrad behind two small classes: the only module that knows its API (pinned, some of it experimental).

Chosen by experiment: position-wise categorical slots are the wrong genotype for pipelines; an evolution strategy over
edit lists is the right one. Never NGOpt (broken with numpy >= 2.3), never ``provide_recommendation`` (an unevaluated
point).
"""

from __future__ import annotations

import contextlib
import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import nevergrad as ng
import numpy as np
from nevergrad.parametrization.core import Parameter

from r3cc.tune.edits import Edits
from r3cc.tune.genotype import Knobs
from r3cc.tune.knobs import Knob
from r3cc.tune.mutation import EditSampler

Told = Callable[[float], None]
"""Tells the optimizer the loss of what it asked for."""
POPULATION, OFFSPRINGS, RECOMBINATION = 10, 2, 0.6
"""Small and greedy: a kernel's pipeline gets tens of evaluations, not thousands."""


class PipelineOptimizer:
    """An evolution strategy whose individuals are edit lists; ``first`` are asked before any others."""

    def __init__(self, sampler: EditSampler, seed: int, width: int, first: Sequence[Edits] = ()) -> None:
        strategy = ng.optimizers.EvolutionStrategy(
            popsize=POPULATION, offsprings=OFFSPRINGS, recombination_ratio=RECOMBINATION
        )
        self._seeded = _Seeded(strategy, _EditList(sampler), seed, width)
        self._sampler = sampler
        self._rng = np.random.RandomState(seed)
        self._asked = 0
        self._alone = max(POPULATION, len(first))
        """How often it can be asked before it is told anything."""
        self._is_told = False
        for edits in reversed(first):  # what is suggested last is asked first
            self._seeded.suggest(edits)

    def ask(self) -> tuple[Told, Edits]:
        """An edit list, and how to tell its loss."""
        if self._asked >= self._alone and not self._is_told:  # the strategy has nothing to build upon, and raises
            self._seeded.suggest(self._sampler.sample(self._rng))
        self._asked += 1
        asked = self._seeded.ask()
        return (lambda loss: self._tell(asked, loss)), asked.value

    def adopt(self, edits: Edits, loss: float) -> None:
        """Tell the loss of an edit list that was not asked for."""
        self._is_told = True
        self._seeded.adopt(edits, loss)

    def _tell(self, asked: Any, loss: float) -> None:
        self._is_told = True
        self._seeded.tell(asked, loss)


class KnobOptimizer:
    """A portfolio of discrete one-plus-one strategies over the knobs, starting from the recorded values."""

    def __init__(self, knobs: Sequence[Knob], seed: int, width: int, first: Sequence[Knobs] = ()) -> None:
        """``first`` are asked before any others."""
        self._values: dict[str, tuple[str | None, ...]] = {knob.key: (None, *knob.values) for knob in knobs}
        choices = {knob.key: _choice(knob) for knob in knobs}
        self._seeded = _Seeded(ng.optimizers.PortfolioDiscreteOnePlusOne, ng.p.Dict(**choices), seed, width)
        for values in reversed(first):  # what is suggested last is asked first
            self._seeded.suggest(self._every(values))

    def ask(self) -> tuple[Told, Knobs]:
        """Values of the knobs that differ from the recorded ones, and how to tell their loss."""
        asked = self._seeded.ask()
        knobs = tuple(sorted((key, value) for key, value in asked.value.items() if value is not None))
        return (lambda loss: self._seeded.tell(asked, loss)), knobs

    def adopt(self, knobs: Knobs, loss: float) -> None:
        """Tell the loss of values that were not asked for; of those that no knob has now, nothing is learned."""
        every = self._every(knobs)
        if all(value in self._values[key] for key, value in every.items()):
            self._seeded.adopt(every, loss)

    def _every(self, knobs: Knobs) -> dict[str, str | None]:
        given = dict(knobs)
        return {key: given.get(key) for key in self._values}


def _choice(knob: Knob) -> Any:
    """A choice among the values and None, the recorded one, which stands where a TransitionChoice starts."""
    start = ng.p.TransitionChoice(range(len(knob.values) + 1)).value
    return ng.p.TransitionChoice([*knob.values[:start], None, *knob.values[start:]])


class _Seeded:
    """An optimizer that draws from its own seeds alone: its parameter's and, since some use that, global numpy's."""

    def __init__(self, kind: Any, parameter: Any, seed: int, width: int) -> None:
        self._global = np.random.RandomState(seed).get_state()
        parameter.random_state = np.random.RandomState(seed)
        self._parameter = parameter
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._optimizer = kind(parametrization=parameter, budget=None, num_workers=width)

    def ask(self) -> Any:
        """The next candidate, a nevergrad parameter."""
        with self._own_numpy():
            return self._optimizer.ask()

    def tell(self, asked: Any, loss: float) -> None:
        """The loss of a candidate; finite, since nevergrad clips what is not."""
        with self._own_numpy():
            self._optimizer.tell(asked, loss)

    def suggest(self, value: Any) -> None:
        """Ask for this before anything else."""
        self._optimizer.suggest(value)

    def adopt(self, value: Any, loss: float) -> None:
        """The loss of a value that was not asked for."""
        self.tell(self._parameter.spawn_child(new_value=value), loss)

    @contextlib.contextmanager
    def _own_numpy(self) -> Iterator[None]:
        others = np.random.get_state()
        np.random.set_state(self._global)
        try:
            yield
        finally:
            self._global = np.random.get_state()
            np.random.set_state(others)


class _EditList(Parameter):  # type: ignore[misc]  # nevergrad has no types
    """A nevergrad parameter whose value is a tuple of edits, mutated and recombined as a sequence."""

    def __init__(self, sampler: EditSampler, edits: Edits = ()) -> None:
        super().__init__()
        self._sampler = sampler
        self._edits = edits

    def _layered_get_value(self) -> Edits:
        return self._edits

    def _layered_set_value(self, value: Edits) -> None:
        self._edits = value

    def _layered_mutate(self) -> None:
        self._edits = self._sampler.mutate(self._edits, self.random_state)

    def _layered_recombine(self, *others: _EditList) -> None:
        self._edits = self._sampler.recombine(self._edits, others[0].value, self.random_state)

    def _layered_sample(self) -> _EditList:
        child: _EditList = self.spawn_child()
        child._edits = self._sampler.sample(self.random_state)
        return child

    def get_value_hash(self) -> int:
        """Edits are hashable themselves."""
        return hash(self._edits)

    def _internal_get_standardized_data(self, reference: _EditList) -> Any:
        """Two numbers that stand for the edits: nevergrad's archive needs a key, the strategy never reads it."""
        digest = hashlib.sha256(msgspec.json.encode(self._edits)).digest()
        return np.frombuffer(digest[:16], dtype=np.uint32).astype(float)
