"""Policies of model choice: by the clock, and two controls for ablation.

``clock`` asks who is expected to bring the most log-speedup for what a proposal costs: the seconds that the device
would wait for the answer, its share of a full queue, and its price in seconds. While the device is idle, all of an
answer's time counts, and fast models win; while its queue is full, the evaluation is what is dear, and strong ones do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from r3cc.errors import UsageError
from r3cc.remix.choosing import Choice, Experience, Policy, Situation

DECAY = 0.95
"""Weight of an experience after the next one of the same arm: kernels get harder to improve."""
SECONDS_PER_DOLLAR = 300.0
"""What a dollar is worth in waiting."""
LEAST_WAIT = 0.1
"""Part of an answer's time that counts although the device has work: its queue empties in the end."""
SLOT_S = 10.0
"""What a proposal takes of builders and device: with a full queue, gain per proposal counts, not per second."""
QUEUE_SHARE = 0.1
"""Part of an answer's time that each request under way at the same proposer adds."""
GUESS_S = 30.0
"""Time of an answer before the first experience."""
GUESS_GAIN = 0.05
"""Log-speedup that makes an unknown proposer worth a try."""
BORROWED = 2.0
"""Experiences with a proposer's other operators that an operator without its own begins with."""
FLOOR = 6
"""A proposer is asked at least once in as many batches times the number of proposers."""
WARM = 12
"""Experiences with others after which a proposer's cache no longer holds the prompt."""
LEAST_READ = 0.1
"""Part of a prompt that no cache spares."""
BORING = 20
"""Verdicts without a gain that double the wish to explore."""


@dataclass
class Estimate:
    """What asking an arm came to, on average; old experiences fade."""

    weight: float = 0.0
    gain: float = 0.0
    seconds: float = 0.0
    first_token_s: float = 0.0
    cost_usd: float = 0.0
    cached: float = 0.0

    def learn(self, experience: Experience) -> None:
        """Add an experience with weight 1 to the faded ones."""
        kept = self.weight * DECAY
        self.weight = kept + 1.0
        for name in ("gain", "seconds", "first_token_s", "cost_usd", "cached"):
            old, new = getattr(self, name), float(getattr(experience, name))
            setattr(self, name, (kept * old + new) / self.weight)

    def forecast_s(self, cached: float) -> float:
        """Seconds of an answer to a prompt of which that part is in the provider's cache.

        Reading what is not cached is what the first token waits for; writing takes as long as it did.
        """
        reading = self.first_token_s * (1.0 - cached) / max(LEAST_READ, 1.0 - self.cached)
        return reading + max(0.0, self.seconds - self.first_token_s)


class ClockPolicy:
    """Most expected gain for its price in time; discounted, with optimism for what is little known."""

    name = "clock"

    def __init__(self) -> None:
        self._arms: dict[tuple[str, str], Estimate] = {}
        self._proposers: dict[str, Estimate] = {}
        self._learnt = 0
        self._last: dict[str, int] = {}

    def choose(self, situation: Situation) -> Choice:
        """The proposer with the best score, or one that was not asked for long."""
        scores = {name: self._score(name, situation) for name in situation.proposers}
        neglected = self._neglected(situation)
        chosen = neglected or max(scores, key=lambda name: scores[name]["score"])
        inputs = {
            "load": round(_load(situation), 4),
            "neglected": neglected is not None,
            "scores": {name: {key: round(value, 6) for key, value in score.items()} for name, score in scores.items()},
        }
        return Choice(chosen, inputs)

    def learn(self, experience: Experience) -> None:
        """What came of a request."""
        self._learnt += 1
        self._last[experience.proposer] = self._learnt
        self._proposers.setdefault(experience.proposer, Estimate()).learn(experience)
        self._arms.setdefault((experience.proposer, experience.operator), Estimate()).learn(experience)

    def _neglected(self, situation: Situation) -> str | None:
        """Who was not heard of for longest, if that is too long; who is being asked is not neglected."""
        limit = FLOOR * len(situation.proposers) * max(1, len(situation.operators))
        idle = [name for name in situation.proposers if not situation.in_flight.get(name)]
        waits = {name: self._learnt - self._last.get(name, 0) for name in idle}
        longest = max(waits, key=lambda name: waits[name], default=None)
        return longest if longest is not None and waits[longest] > limit else None

    def _score(self, proposer: str, situation: Situation) -> dict[str, float]:
        operators = situation.operators or ("",)
        gain = sum(self._gain(proposer, operator) for operator in operators) / len(operators)
        seconds, cost_usd = self._price(proposer, situation)
        price_s = seconds * _waiting(situation) + SLOT_S * _load(situation) + cost_usd * SECONDS_PER_DOLLAR
        bonus = self._bonus(proposer, situation)
        return {
            "gain": gain,
            "bonus": bonus,
            "seconds": seconds,
            "cost_usd": cost_usd,
            "score": (gain + bonus) / max(price_s, 1e-3),
        }

    def _gain(self, proposer: str, operator: str) -> float:
        """Expected log-speedup of an arm; with few experiences, mostly that of the proposer at large."""
        overall, arm = self._proposers.get(proposer), self._arms.get((proposer, operator))
        if overall is None:
            return 0.0
        if arm is None:
            return overall.gain
        return (arm.weight * arm.gain + BORROWED * overall.gain) / (arm.weight + BORROWED)

    def _price(self, proposer: str, situation: Situation) -> tuple[float, float]:
        """Forecast of seconds and dollars."""
        known = self._proposers.get(proposer)
        if known is None:
            return GUESS_S, 0.0
        under_way = situation.in_flight.get(proposer, 0)
        forgotten = not under_way and self._learnt - self._last[proposer] > WARM
        forecast = known.forecast_s(0.0 if forgotten else known.cached)
        return forecast * (1.0 + QUEUE_SHARE * under_way), known.cost_usd

    def _bonus(self, proposer: str, situation: Situation) -> float:
        """Optimism: larger for the less known, counting what is under way, and when nothing was gained for long."""
        known = self._proposers.get(proposer)
        tries = (known.weight if known else 0.0) + situation.in_flight.get(proposer, 0)
        boredom = 1.0 + situation.stagnation / BORING
        return GUESS_GAIN * boredom * math.sqrt(math.log(2.0 + self._learnt) / (1.0 + tries))


class FixedPolicy:
    """Always the first proposer that can be asked."""

    name = "fixed"

    def choose(self, situation: Situation) -> Choice:
        """The first one."""
        return Choice(situation.proposers[0], {})

    def learn(self, experience: Experience) -> None:
        """It learns nothing."""


class UniformPolicy:
    """Everyone equally often, by the number of the batch."""

    name = "uniform"

    def choose(self, situation: Situation) -> Choice:
        """By turns: batches begin every ``len(operators)`` requests."""
        turn = situation.n // max(1, len(situation.operators))
        return Choice(situation.proposers[turn % len(situation.proposers)], {"turn": turn})

    def learn(self, experience: Experience) -> None:
        """It learns nothing."""


POLICIES: Mapping[str, Callable[[], Policy]] = {"clock": ClockPolicy, "fixed": FixedPolicy, "uniform": UniformPolicy}


def open_policy(name: str) -> Policy:
    """A policy by its name. Raises UsageError for another one."""
    if name not in POLICIES:
        raise UsageError(f"there is no policy '{name}'; policies are {', '.join(POLICIES)}")
    return POLICIES[name]()


def _load(situation: Situation) -> float:
    """How full the evaluator is: 0 idle, 1 busy with as much waiting as it can take."""
    return min(1.0, situation.evaluations / max(1, situation.width))


def _waiting(situation: Situation) -> float:
    """Part of an answer's time that the device would be idle for it."""
    return max(LEAST_WAIT, 1.0 - _load(situation))
