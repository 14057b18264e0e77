"""The arms of R3's optimizer."""

import numpy as np

from r3cc.tune.arms import KnobArm, PipelineArm, with_knobs
from r3cc.tune.edits import Anchor, Insert
from r3cc.tune.genotype import Genotype
from r3cc.tune.knobs import Knob, Scope
from r3cc.tune.library import first_edits
from r3cc.tune.mutation import EditSampler
from r3cc.tune.nevergrad_optimizers import POPULATION, PipelineOptimizer
from r3cc.tune.passes import Level
from r3cc.tune.proposers import ArmProposer
from tests.tune.synthetic import space

BEST = Genotype((), (("block", "64,1,1"),))


def test_known_edits_are_tried_first_and_beside_the_best_of_the_rest() -> None:
    arm = PipelineArm(space(), 1, 1)
    known = first_edits(space())
    assert known
    asked = [arm.ask(BEST) for _ in known]
    assert tuple(genotype.edits for _, genotype in asked) == known
    assert {genotype.knobs for _, genotype in asked} == {BEST.knobs}
    for told, _ in asked:
        told(0.1)
    _, genotype = arm.ask(BEST)
    assert genotype.edits not in known


def test_what_a_known_edit_gains_is_built_upon() -> None:
    arm = PipelineArm(space(), 1, 1)
    (known, *_) = first_edits(space())
    asked = []
    for _ in range(60):
        told, genotype = arm.ask(BEST)
        asked.append(set(known) <= set(genotype.edits))
        told(-1.0 if asked[-1] else 0.5)
    assert sum(asked[40:]) > 10


def test_more_edits_are_asked_for_than_there_are_known_ones_before_any_is_told() -> None:
    known = first_edits(space()) * POPULATION
    assert len(known) >= POPULATION
    optimizer = PipelineOptimizer(EditSampler(space().base, space().vocabulary), 1, 64, known)
    asked = [optimizer.ask()[1] for _ in range(len(known) + 20)]
    assert tuple(asked[: len(known)]) == known
    assert len(set(asked[len(known) :])) > 10


def test_all_constants_at_once_come_first_and_beside_the_best_launch() -> None:
    constants = [Knob(f"specialise:{n}", Scope.KERNEL, ("recorded",), "") for n in (0, 3)]
    arm = KnobArm([Knob("unroll", Scope.MODULE, ("2", "4"), ""), *constants], 1, 1)
    told, genotype = arm.ask(BEST)
    assert dict(genotype.knobs) == {"block": "64,1,1", "specialise:0": "recorded", "specialise:3": "recorded"}
    told(-0.1)
    later = [arm.ask(BEST)[1] for _ in range(10)]
    assert len({genotype, *later}) > 3


class Listed:
    """An arm that asks for given values of one knob in their order."""

    def __init__(self, name: str, *values: str) -> None:
        self.name = name
        self._left = list(values)
        self.adopted: list[str] = []

    def ask(self, best: Genotype):
        return ((lambda loss: None), self.graft(best, _only(self.name, self._left.pop(0)))) if self._left else None

    def part(self, genotype: Genotype) -> object:
        return dict(genotype.knobs).get(self.name)

    def graft(self, best: Genotype, donor: Genotype) -> Genotype:
        value = dict(donor.knobs).get(self.name)
        return with_knobs(best, (self.name,), () if value is None else ((self.name, value),))

    def adopt(self, genotype: Genotype, loss: float) -> None:
        self.adopted.append(dict(genotype.knobs)[self.name])


def _only(key: str, value: str) -> Genotype:
    return Genotype((), ((key, value),))


def test_what_gained_beside_a_poorer_launch_is_tried_beside_the_best() -> None:
    launch, pipeline = Listed("launch", *"abcdefghijklmnopqrstuvwxyz"), Listed("pipeline", "idle", "good", "bad")
    proposer = ArmProposer([launch, pipeline])
    gains = {"z": -0.3, "good": -0.1, "bad": 0.2}
    late, seen = [], []
    while (suggestion := proposer.ask()) is not None:
        seen.append(suggestion.genotype)
        values = dict(suggestion.genotype.knobs).values()
        if "good" in values and "z" not in values:
            late.append(suggestion.ticket)  # by the time of its answer the launch is another
            continue
        proposer.tell(suggestion.ticket, sum(gains.get(value, 0.0) for value in values))
        if "z" in values and late:
            proposer.tell(late.pop(), gains["good"])
    together = Genotype((), (("launch", "z"), ("pipeline", "good")))
    assert seen.count(together) == 1
    assert pipeline.adopted == ["good"]
    assert Genotype((), (("launch", "z"), ("pipeline", "bad"))) not in seen


def test_what_another_version_tried_is_no_obstacle() -> None:
    """A search that is continued tells of values and passes that a space may not have any more."""
    arm = KnobArm([Knob("unroll", Scope.MODULE, ("2", "4"), "")], 1, 1)
    arm.adopt(Genotype((), (("unroll", "8"),)), -0.5)
    arm.adopt(Genotype((), (("unroll", "2"), ("gone", "1"))), -0.4)
    assert arm.ask(Genotype())
    sampler, rng = EditSampler(space().base, space().vocabulary), np.random.RandomState(1)
    gone = (Insert(Anchor("sink", 1), "gone", Level.FUNCTION),)
    assert len({sampler.mutate(gone, rng) for _ in range(50)}) > 10
