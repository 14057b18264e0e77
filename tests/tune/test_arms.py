"""The arms of R3's optimizer."""

from r3cc.tune.arms import PipelineArm
from r3cc.tune.genotype import Genotype
from r3cc.tune.library import first_edits
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
