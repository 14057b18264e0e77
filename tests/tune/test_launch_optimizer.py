"""The model of launches: near the best in few evaluations, on landscapes that it was not fitted on."""

import itertools
import math
import random
import statistics
from collections import Counter

import pytest

from r3cc.tune.arms import KnobArm, LaunchArm, arms_of
from r3cc.tune.blocks import Shape, block_knob, legal_blocks, volume
from r3cc.tune.genotype import Genotype
from r3cc.tune.knobs import BLOCK, Knob, Scope
from r3cc.tune.launch_optimizer import LaunchOptimizer
from r3cc.tune.proposers import OPENING, TURNS, ArmProposer
from r3cc.tune.register_bounds import distinct
from tests.tune.synthetic import describe

PLANE = Shape(grid=(256, 256, 1), block=(16, 16, 1))
BOX = Shape(grid=(32, 32, 64), block=(8, 8, 4))
CAPS = ("32", "40", "48", "64", "96", "128", "255")
THREADS = (128, 32, 64, 96, 192, 256, 384, 512, 768, 1024)
"""Extents of a block in one dimension, the recorded one first."""


def landscape(seed):
    """Time of a block on a made-up device: transactions by row, occupancy in steps, a cache that likes one height,
    a price of a block and of a long tail."""
    rng = random.Random(seed)
    row, registers = rng.choice((8, 16, 32, 64)), rng.choice((24, 32, 40, 64, 96))
    height, likes, launch, tail = rng.uniform(0, 5), rng.uniform(0.0, 0.1), rng.uniform(0.0, 0.1), rng.uniform(0.0, 0.4)

    def time(block):
        x, y, z = block
        threads = volume(block)
        resident = min(2048, 65536 // registers) // threads * threads
        latency = 1.0 if resident == 0 else max(1.0, 900 / resident) ** 0.6
        memory = max(1.0, row / x) ** 0.8
        return (
            latency * memory * (1 + likes * abs(math.log2(y * z) - height))
            + launch * 32 / threads
            + tail * threads / 1024
        )

    return time


def needed(shape, seed, order):
    """Part of the legal blocks that is asked for until within 2 % of the best."""
    time = landscape(seed)
    blocks = legal_blocks(describe(), [shape])
    recorded = time(shape.block)
    best = min(map(time, (shape.block, *blocks)))
    if recorded <= 1.02 * best:
        return 0.0
    for number, block in enumerate(order(shape.block, blocks, lambda b: math.log(time(b) / recorded)), 1):
        if time(block) <= 1.02 * best:
            return number / len(blocks)
    return 1.0


def by_model(recorded, blocks, loss):
    shapes = (recorded, *blocks)
    optimizer = LaunchOptimizer(shapes)
    while (setting := optimizer.ask()) is not None:
        yield shapes[setting[0]]
        optimizer.tell(setting, loss(shapes[setting[0]]))


def at_random(draw):
    return lambda recorded, blocks, loss: iter(random.Random(draw).sample(blocks, len(blocks)))


def test_within_two_percent_of_the_best_in_a_tenth_of_the_evaluations():
    cases = [(shape, seed) for shape in (PLANE, BOX) for seed in range(20)]
    parts = [needed(*case, by_model) for case in cases]
    control = [needed(*case, at_random(draw)) for case in cases for draw in range(5)]
    assert statistics.median(parts) <= 0.1 and statistics.median(parts) < statistics.median(control)
    assert statistics.fmean(parts) < statistics.fmean(control) * 0.8


def test_each_setting_is_asked_for_once_however_late_the_answers():
    blocks = legal_blocks(describe(), [PLANE])
    for values, possible in ((), len(blocks)), ([("32", "64")], 3 * len(blocks)):
        optimizer = LaunchOptimizer((PLANE.block, *blocks), values)
        asked = [optimizer.ask() for _ in range(20)]
        assert len(set(asked)) == 20 < possible and (0,) * len(asked[0]) not in asked
        for setting in asked:
            optimizer.tell(setting, -0.1)
        assert optimizer.ask() not in asked


def test_it_stops_where_no_gain_is_expected():
    blocks = legal_blocks(describe(), [PLANE])
    asked = list(by_model(PLANE.block, blocks, lambda block: 0.5))
    assert asked and len(asked) < len(blocks) / 2
    optimizer = LaunchOptimizer((PLANE.block, *blocks))
    for number in range(1, len(blocks) + 1):
        optimizer.tell((number,), 0.0)
    assert optimizer.ask() is None


def test_failures_turn_it_to_other_blocks():
    def loss(block):
        return 0.1 if block[0] > 32 else -0.3 + 0.05 * abs(math.log2(block[0]) - 4)

    asked = list(by_model(PLANE.block, legal_blocks(describe(), [PLANE]), loss))
    best = min(asked, key=loss)
    assert best[0] == 16 and asked.index(best) < 12


def test_the_same_seed_asks_for_the_same():
    def course(seed):
        optimizer = LaunchOptimizer((PLANE.block, *legal_blocks(describe(), [PLANE])), [CAPS], seed)
        asked = []
        for _ in range(12):
            asked.append(optimizer.ask())
            optimizer.tell(asked[-1], 0.01 * asked[-1][0] / (1 + asked[-1][1]))
        return asked

    assert course(1) == course(1) != course(2)


def test_block_and_register_cap_are_chosen_together_from_the_start():
    optimizer = LaunchOptimizer((PLANE.block, *legal_blocks(describe(), [PLANE])), [CAPS, ("1", "2", "4")])
    opening = [optimizer.ask() for _ in range(12)]
    for part in range(3):
        assert len({setting[part] for setting in opening}) >= 3
    assert sum(sum(value > 0 for value in setting) > 1 for setting in opening) >= 6


def resident(registers, need, threads, cap, blocks):
    """Time on a made-up multiprocessor that holds 64 Ki registers: few warps hide latency badly, spills cost."""
    if cap is not None or blocks is not None:
        registers = min(need, cap or 255, 65536 // (threads * (blocks or 1)))
    warps = 65536 // (max(registers, 16) * threads) * threads / 32
    return max(1.0, 40 / min(warps, 64)) ** 0.4 * (1 + 0.01 * max(0, need - registers)) if warps else math.inf


def together(seed):
    """Loss of a block (a number of threads), register cap and blocks a multiprocessor, which act on one another."""
    rng = random.Random(seed)
    need, likes = rng.choice((40, 48, 66, 90, 130)), rng.uniform(0.0, 0.06)
    registers = min(need, rng.choice((32, 40, 64)))
    first = resident(registers, need, 128, None, None)

    def loss(threads, cap, blocks):
        time = resident(registers, need, threads, cap, blocks) / first
        return min(math.log(time * (1 + likes * abs(math.log2(threads) - 6))), 1.0)

    return loss


def asked_until_near(seed, settings):
    """Evaluations until within 1 % of the best of all settings."""
    loss = together(seed)
    best = min(loss(*each) for each in itertools.product(THREADS, (None, *map(int, CAPS)), (None, 1, 2, 4, 8)))
    if best >= -0.01:
        return 0
    for number, setting in enumerate(settings(loss), 1):
        if loss(*setting) <= best + 0.01 or number == 80:
            return number


def chosen_by_model(seed):
    def settings(loss):
        optimizer = LaunchOptimizer([(threads, 1, 1) for threads in THREADS], [CAPS, ("1", "2", "4", "8")], seed)
        while (setting := optimizer.ask()) is not None:
            block, cap, blocks = setting
            known = (THREADS[block], (None, *map(int, CAPS))[cap], (None, 1, 2, 4, 8)[blocks])
            yield known
            optimizer.tell(setting, loss(*known))

    return settings


def chosen_at_random(seed):
    def settings(loss):
        rng = random.Random(seed)
        while True:
            yield rng.choice(THREADS), rng.choice((None, *map(int, CAPS))), rng.choice((None, 1, 2, 4, 8))

    return settings


def test_settings_that_act_together_are_found_in_fewer_evaluations_than_at_random():
    cases = range(12)
    ours = [asked_until_near(case, chosen_by_model(case)) for case in cases]
    control = [asked_until_near(case, chosen_at_random(draw)) for case in cases for draw in range(5)]
    assert None not in ours, "it never gives up before it is near"
    assert statistics.median(ours) <= statistics.median(control)
    assert statistics.fmean(ours) < statistics.fmean(control) * 0.8


def asked_until_best(need, seed, values, counts):
    """Evaluations until within 1 % of the best block and cap of a kernel whose baseline takes what it needs."""
    first = resident(need, need, 128, None, None)

    def loss(threads, cap):
        return min(math.log(resident(need, need, threads, cap, None) / first), 1.0)

    best = min(loss(threads, cap) for threads in THREADS for cap in (None, *map(int, CAPS)))
    optimizer = LaunchOptimizer([(threads, 1, 1) for threads in THREADS], [values], seed, counts)
    for number in itertools.count(1):
        setting = optimizer.ask()
        assert setting is not None, "it never gives up before it is near"
        found = loss(THREADS[setting[0]], (None, *map(int, values))[setting[1]])
        if found <= best + 0.01:
            return number
        optimizer.tell(setting, found)


def test_where_the_baselines_registers_are_known_the_best_is_found_sooner():
    blind, knowing = [], []
    for need, seed in itertools.product((66, 90, 110, 130, 160), range(3)):
        values = distinct(CAPS, need)
        blind.append(asked_until_best(need, seed, CAPS, ()))
        knowing.append(asked_until_best(need, seed, values, [need, *(min(need, int(each)) for each in values)]))
    assert statistics.fmean(knowing) < statistics.fmean(blind)


def test_the_launch_is_an_arm_of_its_own():
    knobs = (
        Knob("maxnreg", Scope.KERNEL, ("32", "64"), "", with_block=True),
        Knob("unroll", Scope.MODULE, ("1", "2"), ""),
        *block_knob(describe(), [PLANE]),
    )
    launch, knob = arms_of(knobs, seed=1, width=2)
    assert isinstance(launch, LaunchArm) and isinstance(knob, KnobArm)
    best = Genotype((), ((BLOCK, "64,4,1"), ("maxnreg", "32"), ("unroll", "2")))
    for _ in range(5):
        told, genotype = launch.ask(best)
        assert dict(genotype.knobs)["unroll"] == "2" and launch.part(genotype) != launch.part(best)
        told(-0.1)
        assert launch.part(knob.ask(best)[1]) == ((BLOCK, "64,4,1"), ("maxnreg", "32"))


def test_arms_keep_what_another_arm_found():
    knobs = (Knob("unroll", Scope.KERNEL, ("32",), ""), *block_knob(describe(), [PLANE]))
    proposer = ArmProposer(arms_of(knobs, 1, 1))
    seen = {}
    for _ in range(40):
        suggestion = proposer.ask()
        if suggestion is None:
            break
        chosen = dict(suggestion.genotype.knobs)
        loss = (-0.2 if chosen.get("unroll") == "32" else 0.0) + (-0.3 if chosen.get(BLOCK) == "64,4,1" else 0.0)
        seen[suggestion.genotype] = loss
        proposer.tell(suggestion.ticket, loss)
    assert min(seen.values()) == -0.5


class Listening:
    """An arm that notes what it is told."""

    def __init__(self, name, key):
        self.name, self.key, self.told = name, key, []

    def ask(self, best):
        return self.told.append, Genotype((), tuple(sorted({**dict(best.knobs), self.key: "asked"}.items())))

    def part(self, genotype):
        return dict(genotype.knobs).get(self.key)

    def graft(self, best, donor):
        return Genotype((), tuple(sorted({**dict(best.knobs), **dict(donor.knobs)}.items())))

    def adopt(self, genotype, loss):
        self.told.append(loss)


def test_what_was_not_asked_for_counts_for_every_arm_that_it_differs_in():
    launch, knobs = Listening("launch", "a"), Listening("knobs", "b")
    proposer = ArmProposer([launch, knobs])
    proposer.adopt(Genotype((), (("a", "1"), ("b", "1"))), -0.4)
    assert launch.told == knobs.told == [-0.2]
    proposer.adopt(Genotype((), (("a", "2"), ("b", "1"))), -0.5)
    assert launch.told[-1] == pytest.approx(-0.3) and knobs.told == [-0.2]
    suggestion = proposer.ask()
    proposer.tell(suggestion.ticket, -0.7)
    assert suggestion.source == "launch" and launch.told[-1] == pytest.approx(-0.5), (
        "what the other arm holds is its own"
    )


def test_the_launch_opens_and_turns_go_by_share_after_that():
    proposer = ArmProposer([Listening("pipeline", "a"), Listening("launch", "b"), Listening("knobs", "c")])
    sources = []
    for _ in range(OPENING["launch"] + sum(TURNS.values())):
        suggestion = proposer.ask()
        proposer.tell(suggestion.ticket, 0.0)
        sources.append(suggestion.source)
    assert set(sources[: OPENING["launch"]]) == {"launch"}
    assert Counter(sources[OPENING["launch"] :]) == TURNS
