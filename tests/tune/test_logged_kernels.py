"""Kernels modelled after logs: they are what the log measured, and obey ptxas's rules where it did not."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import numpy as np
import pytest

from benchmarks.logged_kernels import FEWEST_POINTS, Logged, World, foretold, read_kernels
from r3cc.replay.events import Answer, Begin, KernelPlan, Proposal
from r3cc.replay.model import Candidate, Evaluation, Interval, LaunchConfiguration, Specialisation, Status
from r3cc.store.eventlog import EventLog
from r3cc.store.model import Dim3
from r3cc.tune.edits import Anchor, Drop, Insert, Preset
from r3cc.tune.genotype import Genotype
from r3cc.tune.passes import Level
from r3cc.tune.specialisation import Constants

BLOCKS: tuple[Dim3, ...] = tuple((threads, 1, 1) for threads in (32, 64, 128, 256, 512, 1024))
GOOD = Insert(Anchor("dse", 1), "gvn", Level.FUNCTION)
IDLE = Drop(Anchor("gvn", 1))


def loss_at(block: Dim3, registers: int) -> float:
    return 0.02 * (math.log2(block[0]) - 7) ** 2 + 0.3 * math.log2(96 / registers) ** 2


def kernel() -> Logged:
    points = {(block, count): loss_at(block, count) for block in BLOCKS[:5] for count in (32, 64, 96)}
    return Logged("k", (128, 1, 1), Constants(), 96, 96, points, {str(GOOD): -0.05, str(IDLE): 0.0}, {}, 0.2)


def candidate(block: Dim3 | None = None, **codegen: str) -> Candidate:
    return Candidate(codegen=tuple(sorted(codegen.items())), launch=LaunchConfiguration(block=block))


def test_a_world_passes_through_what_was_measured() -> None:
    for seed in range(3):
        world = World(kernel(), BLOCKS[:2] + BLOCKS[3:], [], seed)
        for threads, maxnreg in ((64, "32"), (256, "64"), (128, "255")):
            measured = loss_at((threads, 1, 1), min(96, int(maxnreg)))
            found = world.loss(Genotype(), candidate((threads, 1, 1), maxnreg=maxnreg))
            assert found == pytest.approx(measured, rel=0.3, abs=0.03)
        assert world.loss(Genotype(), candidate()) == 0.0


def test_what_cannot_be_launched_fails_and_equal_code_is_equal() -> None:
    world = World(kernel(), BLOCKS[:2] + BLOCKS[3:], [], 1)
    assert world.judge(Genotype(), candidate((1024, 1, 1))).status is Status.LAUNCH_ERROR
    assert world.judge(Genotype(), candidate((1024, 1, 1), maxntid="1024,1,1")).status is Status.OK
    one = world.judge(Genotype(), candidate((256, 1, 1), maxnreg="128"))
    other = world.judge(Genotype((IDLE,)), candidate((256, 1, 1), maxnreg="168"))
    assert one.object_hash == other.object_hash and one.ratio == other.ratio
    assert one.object_hash != world.judge(Genotype(), candidate((256, 1, 1), maxnreg="64")).object_hash


def test_edits_do_what_they_did_in_the_log_and_a_preset_leaves_them_nothing_to_do() -> None:
    world = World(kernel(), BLOCKS[:2] + BLOCKS[3:], [kernel()], 1)
    plain = world.loss(Genotype(), candidate())
    better = world.loss(Genotype((GOOD, IDLE)), candidate())
    assert plain is not None and better is not None and better < plain - 0.01
    preset = Genotype((GOOD, Preset("O1")))
    assert world.loss(preset, candidate()) == world.loss(Genotype((Preset("O1"),)), candidate())


def test_the_process_foretells_more_than_it_misses() -> None:
    spread, missed = foretold(kernel())
    assert missed < spread / 2


def evaluation(chosen: Candidate, ratio: float, code: str, registers: int) -> Evaluation:
    interval = Interval(ratio, ratio, ratio, 2)
    return Evaluation(chosen, Status.OK, object_hash=code, ratio=interval, resources={"registers": registers})


def test_a_log_is_read_as_launches_edits_and_constants(tmp_path: Path) -> None:
    shapes = [(block, count) for block in BLOCKS[:5] for count in (32, 64, 96)]
    judged = [(Genotype(), evaluation(candidate(), 1.0, "own", 96))]
    for block, count in shapes:
        genotype = Genotype((), (("block", ",".join(map(str, block))), ("maxnreg", str(count))))
        chosen = candidate(block, maxnreg=str(count), maxntid=",".join(map(str, block)))
        judged.append((genotype, evaluation(chosen, math.exp(loss_at(block, count)), f"{block} {count}", count)))
    judged.append((Genotype((IDLE,)), evaluation(candidate(), 1.0, "own", 96)))
    judged.append((Genotype((IDLE, GOOD)), evaluation(candidate(), 0.9, "better", 96)))
    special = msgspec.structs.replace(candidate(), specialisation=Specialisation(arguments=((3, "00"),)))
    judged.append((Genotype((), (("specialise:3", "recorded"),)), evaluation(special, 0.95, "special", 96)))
    plan = KernelPlan(kernel="abc", module="m", name="k", demangled="k(int)", share=1.0, numerics="rounding")
    with EventLog(tmp_path / "events.jsonl") as log:
        begin = {"version": 1, "recording": "r", "device": "cuda:0", "device_name": "G", "optimizer": "r3", "seed": 1}
        log.append(Begin(at=0.0, kernels=(plan,), versions={}, **begin))
        for n, (genotype, found) in enumerate(judged):
            asked = {"genotype": genotype.document(), "candidate": found.candidate, "changes": ()}
            log.append(Proposal(at=0.0, n=n, kernel="abc", source="launch", **asked))
            log.append(Answer(at=0.0, n=n, kernel="abc", evaluation=found, loss=0.0))
    (read,) = read_kernels(tmp_path / "events.jsonl")
    assert len(read.points) >= FEWEST_POINTS and read.own_registers == read.free_registers == 96
    assert read.points[(64, 1, 1), 32] == pytest.approx(loss_at((64, 1, 1), 32))
    assert read.effects[str(IDLE)] == 0.0 and read.effects[str(GOOD)] < -0.05
    assert read.active == 0.5 and read.constants_effects["specialise:3"] < -0.03
    assert np.isfinite(read.measured[1]).all()
