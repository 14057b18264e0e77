import itertools
import random

import pytest

from r3cc.replay.model import L2State
from r3cc.replay.sampling import SHORTEST_NS, Sampler
from r3cc.replay.session import nearer_state
from r3cc.replay.statistics import interval
from tests.replay.synthetic_device import SyntheticDevice, SyntheticRunnable


def test_what_marks_cost_is_no_part_of_a_sample():
    device = SyntheticDevice(mark_overhead_ns=2500.0)
    assert Sampler(device, None).sample(SyntheticRunnable(device, lambda: 3000.0), 4) == pytest.approx(3000.0)


def test_a_sample_is_never_shorter_than_the_floor():
    device = SyntheticDevice()
    device.mark_overhead_ns, runnable = 0.0, SyntheticRunnable(device, lambda: 10.0)
    assert Sampler(device, None).sample(runnable, 1) == SHORTEST_NS


def test_a_launch_that_waited_for_the_host_is_taken_again_under_a_longer_hold():
    device = SyntheticDevice()
    runnable = SyntheticRunnable(device, lambda: 3000.0, host_ns=1_000_000.0)
    sampler = Sampler(device, None)
    assert sampler.sample(runnable, 1) == pytest.approx(3000.0)
    assert sampler.late == 0
    assert device.holds == sorted(set(device.holds)) and len(device.holds) > 1
    device.holds.clear()
    sampler.sample(runnable, 1)
    assert len(device.holds) == 1  # the longer hold stays


def test_launches_that_cannot_be_queued_in_time_are_counted():
    device = SyntheticDevice()
    sampler = Sampler(device, None)
    sampler.sample(SyntheticRunnable(device, lambda: 3000.0, host_ns=1e9), 2)
    assert sampler.late == 2


@pytest.mark.parametrize("blocks", [4, 8, 16, 31])
def test_the_baseline_against_itself_is_no_different_in_at_least_95_percent(blocks):
    draw = random.Random(blocks)
    trials = 300
    equal = sum(holds_one(baseline_against_itself(draw, blocks)) for _ in range(trials))
    # Three standard deviations of that many trials below 95 %; the extremes of 4 blocks bound a median less surely.
    assert (0.915 if blocks > 5 else 0.82) * trials <= equal


def baseline_against_itself(draw, blocks):
    """Ratios of equal code, sampled as a session does, on a device on which nothing is steady.

    Clocks drift, some launches are disturbed, and of any two launches in a row the second is 5 % slower: the first one
    comes after a pause.
    """
    device = SyntheticDevice(mark_overhead_ns=2500.0)
    drift = draw.uniform(0.5, 2.0)
    launches = itertools.count()

    def duration():
        slow = 1.0 + drift * device.device_ns * 1e-9
        second = 1.05 if next(launches) % 2 else 1.0
        disturbed = 1.0 + (draw.random() < 0.05) * draw.expovariate(5.0)
        return 12_000.0 * slow * second * disturbed * draw.lognormvariate(0.0, 0.02)

    sampler = Sampler(device, None)
    candidate, baseline = (SyntheticRunnable(device, duration) for _ in range(2))
    ratios = []
    for number in range(blocks):
        if (blocks - number) % 2:
            candidate_ns, baseline_ns = sampler.block(candidate, baseline, 1)
        else:
            baseline_ns, candidate_ns = sampler.block(baseline, candidate, 1)
        ratios.append(candidate_ns / baseline_ns)
    return interval(ratios)


def holds_one(found):
    return found.low <= 1.0 <= found.high


def test_a_real_difference_is_seen():
    draw = random.Random(9)
    found = interval([draw.lognormvariate(-0.05, 0.02) for _ in range(61)])
    assert found.high < 1.0


@pytest.mark.parametrize(
    ("app_ns", "state"),
    [
        (1.0, L2State.WARM),
        (21.0, L2State.WARM),
        (29.0, L2State.COLD),
        (50.0, L2State.COLD),
    ],
)
def test_the_cache_state_is_the_nearer_one_and_cold_above_both(app_ns, state):
    assert nearer_state(20.0, 30.0, app_ns) is state


def test_noise_between_equal_states_does_not_make_a_longer_application_time_warm():
    assert nearer_state(30.5, 30.0, 50.0) is L2State.COLD
