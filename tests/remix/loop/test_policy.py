"""Policies of model choice: what must hold whatever happened before."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from r3cc.errors import UsageError
from r3cc.remix.choosing import Experience, Situation
from r3cc.remix.loop.policy import FLOOR, ClockPolicy, Estimate, FixedPolicy, UniformPolicy, open_policy

NAMES = ("fast", "strong", "rules")


def situation(evaluations: int = 0, n: int = 0, **more: object) -> Situation:
    base = Situation(n, NAMES[:2], ("explore",), {}, evaluations, 4, 0)
    return msgspec.structs.replace(base, **more)


def experience(
    proposer: str, gain: float, seconds: float, cost_usd: float = 0.0, operator: str = "explore"
) -> Experience:
    return Experience(proposer, operator, gain, seconds, seconds / 4, 100, 0.5, cost_usd, gain > 0.0)


experiences = st.builds(
    Experience,
    proposer=st.sampled_from(NAMES),
    operator=st.sampled_from(("explore", "refine")),
    gain=st.floats(0.0, 3.0),
    seconds=st.floats(0.0, 600.0),
    first_token_s=st.floats(0.0, 60.0),
    output_tokens=st.integers(0, 20_000),
    cached=st.floats(0.0, 1.0),
    cost_usd=st.floats(0.0, 2.0),
    applied=st.booleans(),
)
situations = st.builds(
    Situation,
    n=st.integers(0, 500),
    proposers=st.lists(st.sampled_from(NAMES), min_size=1, unique=True).map(tuple),
    operators=st.lists(st.sampled_from(("explore", "refine")), min_size=1, max_size=3).map(tuple),
    in_flight=st.dictionaries(st.sampled_from(NAMES), st.integers(0, 5)),
    evaluations=st.integers(0, 20),
    width=st.integers(1, 8),
    stagnation=st.integers(0, 100),
)


@given(st.lists(experiences, max_size=30), situations)
def test_the_log_is_the_state(history: list[Experience], now: Situation) -> None:
    one, other = ClockPolicy(), ClockPolicy()
    for each in history:
        one.learn(each)
        one.choose(now)  # looking changes nothing
    for each in history:
        other.learn(each)
    assert one.choose(now) == other.choose(now)


@pytest.mark.parametrize("name", ["clock", "fixed", "uniform"])
@settings(max_examples=50)
@given(history=st.lists(experiences, max_size=30), now=situations)
def test_only_who_can_be_asked_is_asked(name: str, history: list[Experience], now: Situation) -> None:
    policy = open_policy(name)
    for each in history:
        policy.learn(each)
    choice = policy.choose(now)
    assert choice.proposer in now.proposers
    msgspec.json.encode(choice.inputs)


@settings(max_examples=25)
@given(st.dictionaries(st.sampled_from(NAMES), st.tuples(st.floats(0, 2), st.floats(0.1, 300), st.floats(0, 1))))
def test_nobody_is_forgotten(worth: dict[str, tuple[float, float, float]]) -> None:
    policy, last = ClockPolicy(), dict.fromkeys(NAMES, 0)
    for turn in range(1, 120):
        chosen = policy.choose(situation(proposers=NAMES)).proposer
        gain, seconds, cost = worth.get(chosen, (0.0, 30.0, 0.0))
        policy.learn(experience(chosen, gain, seconds, cost))
        last[chosen] = turn
        assert turn - min(last.values()) <= FLOOR * len(NAMES) + len(NAMES)


def chosen_share(policy: ClockPolicy, name: str, evaluations: int, worth: dict[str, tuple[float, float]]) -> float:
    count = 0
    for _ in range(100):
        chosen = policy.choose(situation(evaluations)).proposer
        policy.learn(experience(chosen, *worth[chosen]))
        count += chosen == name
    return count / 100


WORTH = {"fast": (0.02, 3.0), "strong": (0.20, 90.0)}
COSTS = {"fast": 0.0, "strong": 0.02}


def test_idle_device_asks_the_fast_one_and_full_queue_the_strong_one() -> None:
    def share(evaluations: int) -> float:
        policy, strong = ClockPolicy(), 0
        for _ in range(100):
            chosen = policy.choose(situation(evaluations)).proposer
            gain, seconds = WORTH[chosen]
            policy.learn(experience(chosen, gain, seconds, COSTS[chosen]))
            strong += chosen == "strong"
        return strong / 100

    assert share(0) < 0.3
    assert share(8) > share(0) + 0.2


def test_of_two_equal_ones_the_quicker_is_asked_more_often() -> None:
    assert chosen_share(ClockPolicy(), "fast", 0, {"fast": (0.1, 5.0), "strong": (0.1, 50.0)}) > 0.7


def test_of_two_equal_ones_the_cheaper_is_asked_more_often() -> None:
    policy, cheap = ClockPolicy(), 0
    for _ in range(100):
        chosen = policy.choose(situation()).proposer
        policy.learn(experience(chosen, 0.1, 10.0, 0.001 if chosen == "fast" else 0.5))
        cheap += chosen == "fast"
    assert cheap > 70


def test_a_model_that_ran_dry_is_left() -> None:
    policy = ClockPolicy()
    for _ in range(20):
        policy.learn(experience("fast", 0.5, 5.0))
        policy.learn(experience("strong", 0.1, 5.0))
    assert policy.choose(situation()).proposer == "fast"
    for _ in range(40):
        policy.learn(experience("fast", 0.0, 5.0))
        policy.learn(experience("strong", 0.1, 5.0))
    assert policy.choose(situation()).proposer == "strong"


def test_forecast_depends_on_what_the_cache_holds() -> None:
    estimate = Estimate()
    estimate.learn(Experience("m", "explore", 0.0, 12.0, 2.0, 500, 0.8, 0.0, False))
    assert estimate.forecast_s(cached=0.8) == pytest.approx(12.0)
    assert estimate.forecast_s(cached=0.0) == pytest.approx(20.0)
    assert estimate.forecast_s(cached=1.0) == pytest.approx(10.0)


def test_a_cache_that_went_cold_makes_a_switch_dearer() -> None:
    policy = ClockPolicy()
    policy.learn(Experience("strong", "explore", 0.1, 20.0, 10.0, 500, 0.9, 0.0, True))
    warm = policy.choose(situation()).inputs["scores"]["strong"]["seconds"]
    for _ in range(20):
        policy.learn(experience("fast", 0.1, 20.0))
    cold = policy.choose(situation()).inputs["scores"]["strong"]["seconds"]
    assert cold > 2 * warm


def test_controls() -> None:
    turns = [UniformPolicy().choose(situation(n=n, operators=("a", "b"))).proposer for n in range(0, 8, 2)]
    assert turns == ["fast", "strong", "fast", "strong"]
    assert {FixedPolicy().choose(situation(n=n)).proposer for n in range(5)} == {"fast"}
    with pytest.raises(UsageError, match="clock, fixed, uniform"):
        open_policy("best")
