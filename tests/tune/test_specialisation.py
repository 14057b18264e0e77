"""What a search may take for granted: only what every recorded launch has."""

from __future__ import annotations

import struct
from pathlib import Path

import msgspec
import pytest

from r3cc.replay.model import Candidate, LaunchConfiguration, Specialisation, Table
from r3cc.replay.specialise import guard_problem
from r3cc.replay.tables import RecordedTable
from r3cc.store.model import Dim3, Launch, Parameter
from r3cc.tune.blocks import Shape
from r3cc.tune.edits import BasePipeline
from r3cc.tune.genotype import Genotype
from r3cc.tune.space import Space
from r3cc.tune.specialisation import Constants, constants
from tests.tune.synthetic import BASE_TEXT, describe

FACTS = describe(
    parameters=[
        {"offset": 0, "size": 4, "type": "i32", "name": "n"},
        {"offset": 4, "size": 4, "type": "i32", "name": "step"},
        {"offset": 8, "size": 8, "type": "double", "name": "dt"},
        {"offset": 16, "size": 8, "type": "ptr", "name": "x"},
    ],
    reads_grid_size=True,
)


def launch(n: int, step: int, grid: Dim3 = (8, 1, 1), block: Dim3 = (128, 1, 1)) -> Launch:
    arguments = n.to_bytes(4, "little") + step.to_bytes(4, "little") + bytes(16)
    fields = {
        "launch": f"l{step}",
        "grid": grid,
        "block": block,
        "shared": 0,
        "arguments": arguments,
        "parameters": tuple(Parameter(*pair) for pair in ((0, 4), (4, 4), (8, 8), (16, 8))),
    }
    blank = dict.fromkeys(Launch.__struct_fields__, None)
    return Launch(**{**blank, **fields})  # type: ignore[arg-type]


def space(special: Constants) -> Space:
    return Space(BasePipeline(BASE_TEXT), {}, (), FACTS, [Shape((8, 1, 1), (128, 1, 1))], constants=special)


def test_only_scalars_that_every_launch_shares_are_offered() -> None:
    found = constants(FACTS, [launch(1000, 1), launch(1000, 2)])
    assert [(index, value) for index, value, _ in found.arguments] == [(0, "e8030000"), (2, "00" * 8)]
    assert [knob.key for knob in found.knobs()] == [
        "specialise:0",
        "specialise:2",
        "specialise:block",
        "specialise:grid",
    ]
    assert [text for _, _, text in found.arguments] == ["n = 1000", "dt = 0.0"]


def test_floating_point_arguments_are_equal_bit_by_bit() -> None:
    negative = launch(1000, 1)
    arguments = negative.arguments[:8] + struct.pack("<d", -0.0) + negative.arguments[16:]
    found = constants(FACTS, [launch(1000, 1), msgspec.structs.replace(negative, arguments=arguments)])
    assert [index for index, _, _ in found.arguments] == [0, 1]


def test_structs_and_tables_are_knobs_of_their_own() -> None:
    facts = describe(parameters=[{"offset": 0, "size": 4, "type": "%struct.Pair", "name": "pair"}])
    parts = (Table("0000803f", argument=3), Table("00000040", argument=3, offset=8))
    tables = (RecordedTable("@c", "the 4 bytes of c", (Table("0000a040", "c"),)), RecordedTable("*3", "8 bytes", parts))
    assert constants(facts, [launch(1000, 1)]).arguments == ()
    chosen = space(constants(facts, [launch(1000, 1)], (0,), tables))
    keys = ["specialise:0", "specialise:block", "specialise:@c", "specialise:*3"]
    assert [knob.key for knob in chosen.constants.knobs()] == keys
    knobs = (("specialise:*3", "recorded"), ("specialise:0", "recorded"), ("specialise:@c", "recorded"))
    candidate = chosen.candidate(Genotype((), knobs))
    assert candidate.specialisation.arguments == ((0, "e8030000"),)
    assert candidate.specialisation.tables == (Table("0000a040", "c"), *parts)
    assert chosen.candidate(Genotype((), knobs[:1])).specialisation == Specialisation(tables=parts)
    assert chosen.changes(Genotype((), knobs[1:])) == ("specialised: pair (4 bytes)", "specialised: the 4 bytes of c")
    assert guard_problem(Candidate(specialisation=Specialisation(tables=parts)), launch(1, 1)) is None


def test_dimensions_that_differ_are_not_offered() -> None:
    found = constants(FACTS, [launch(1000, 1), launch(1000, 1, (4, 1, 1))])
    assert (found.block, found.grid) == (True, False)
    found = constants(FACTS, [launch(1000, 1), launch(1000, 1, (4, 1, 1), (64, 1, 1))])
    assert (found.block, found.grid) == (False, False)
    assert constants(FACTS, []) == Constants()


def test_the_code_knows_the_block_and_grid_that_are_launched() -> None:
    chosen = space(constants(FACTS, [launch(1000, 1)]))
    knobs = (("block", "32,1,1"), ("specialise:0", "recorded"), ("specialise:block", "launched"))
    candidate = chosen.candidate(Genotype((), (*knobs, ("specialise:grid", "launched"))))
    assert candidate.specialisation == Specialisation(((0, "e8030000"),), (32, 1, 1), (32, 1, 1))
    assert candidate.codegen == ()
    assert "specialised: n = 1000" in chosen.changes(Genotype((), knobs))
    assert chosen.candidate(Genotype()) == Candidate()


@pytest.mark.parametrize(
    ("special", "part"),
    [
        (Specialisation(((0, "00000000"),)), "argument 0"),
        (Specialisation(((7, "00000000"),)), "argument 7"),
        (Specialisation((), (64, 1, 1)), "block 64,1,1"),
        (Specialisation((), None, (9, 1, 1)), "grid 9,1,1"),
        (Specialisation(((0, "e8030000"),), (128, 1, 1), (8, 1, 1)), None),
    ],
)
def test_a_launch_outside_the_guard_is_no_launch_for_the_code(special: Specialisation, part: str | None) -> None:
    found = guard_problem(Candidate(specialisation=special), launch(1000, 1))
    assert found is None if part is None else part in (found or "")


def test_the_guard_looks_at_what_is_launched_not_at_what_was_recorded() -> None:
    candidate = Candidate(
        launch=LaunchConfiguration(block=(64, 1, 1)), specialisation=Specialisation((), (64, 1, 1), (16, 1, 1))
    )
    assert guard_problem(candidate, launch(1000, 1)) is None


def test_candidates_without_one_keep_their_ids(tmp_path: Path) -> None:
    assert msgspec.json.decode(Candidate("default<O3>").canonical()) == {"pipeline": "default<O3>"}
