"""Edits to default<O3>: what they mean, and that LLVM takes every pipeline that they make."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np
import pytest

from r3cc.errors import R3Error
from r3cc.tune.activity import EVEN, MEASURED
from r3cc.tune.edits import (
    DEFAULT,
    EXPANDED_OPTIONS,
    Anchor,
    BasePipeline,
    Change,
    Drop,
    Edit,
    Edits,
    Insert,
    Swap,
    describe,
    fits,
)
from r3cc.tune.mutation import MAX_EDITS, EditSampler
from r3cc.tune.passes import Level, Vocabulary
from r3cc.tune.pipeline import parse_pipeline, print_pipeline
from tests.tune import synthetic
from tests.tune.llvm_opt import run_pipeline

SMALL = BasePipeline("globalopt,function<eager-inv>(sroa<modify-cfg>,loop-mssa(licm<a>),gvn<>,gvn<>),function(),verify")


def small(*edits: Edit) -> str:
    return SMALL.apply(edits)


def test_no_edit_is_the_default_pipeline() -> None:
    assert small() == DEFAULT


def test_edits_that_change_nothing_are_the_default_pipeline() -> None:
    swap = Swap(Anchor("gvn", 1), Anchor("gvn", 2))
    assert small(swap, swap) == DEFAULT


def test_drop_takes_the_named_occurrence_and_an_emptied_adaptor() -> None:
    assert small(Drop(Anchor("gvn", 2)), Drop(Anchor("licm", 1))) == (
        "globalopt,function<eager-inv>(sroa<modify-cfg>,gvn<>),verify"
    )


def test_inserted_passes_get_the_adaptors_of_their_place() -> None:
    text = small(
        Insert(Anchor("globalopt", 1), "indvars", Level.LOOP),
        Insert(Anchor("gvn", 1), "licm", Level.LOOP_MSSA, "allowspeculation"),
        Insert(Anchor("licm", 1), "lnicm", Level.LOOP_MSSA),
        Insert(Anchor("verify", 1), "inline", Level.CGSCC),
    )
    assert text == (
        "function(loop(indvars)),globalopt,function<eager-inv>(sroa<modify-cfg>,loop-mssa(lnicm,licm<a>),"
        "loop-mssa(licm<allowspeculation>),gvn<>,gvn<>),cgscc(inline),verify"
    )


def test_change_follows_the_pass_and_spares_one_that_was_dropped() -> None:
    change = Change(Anchor("sroa", 1), "preserve-cfg")
    assert "sroa<preserve-cfg>" in small(change)
    assert "sroa" not in small(Drop(Anchor("sroa", 1)), change)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (Drop(Anchor("gvn", 3)), "has no pass gvn#3"),
        (Swap(Anchor("gvn", 1), Anchor("globalopt", 1)), "different levels"),
        (Insert(Anchor("gvn", 1), "globaldce", Level.MODULE), "cannot stand among function passes"),
        (Insert(Anchor("licm", 1), "loop-unroll-full", Level.LOOP), "cannot stand among loop-mssa passes"),
    ],
)
def test_impossible_edits_are_one_sentence(edit: Edit, message: str) -> None:
    with pytest.raises(R3Error, match=message):
        small(edit)


def test_edits_read_as_people_write_them() -> None:
    edits: Edits = (
        Drop(Anchor("gvn", 1)),
        Insert(Anchor("sroa", 1), "licm", Level.LOOP_MSSA, "allowspeculation"),
        Swap(Anchor("gvn", 1), Anchor("gvn", 2)),
        Change(Anchor("sroa", 1), "preserve-cfg"),
    )
    assert describe(edits) == (
        "drop gvn#1, insert licm<allowspeculation> before sroa#1, swap gvn#1 and gvn#2, change sroa#1 to "
        "sroa<preserve-cfg>"
    )
    assert msgspec.json.decode(msgspec.json.encode(edits), type=Edits) == edits


def test_the_expanded_text_gives_the_code_of_the_default_pipeline(base: BasePipeline) -> None:
    options = [f"-{key.removeprefix('mllvm:')}={value}" for key, value in EXPANDED_OPTIONS]
    expanded, default = run_pipeline(str(base), *options), run_pipeline(DEFAULT)
    assert default.returncode == 0, default.stderr
    assert expanded.stdout == default.stdout
    assert run_pipeline(DEFAULT, *options).stdout == default.stdout


def _compile_all(pipelines: list[str]) -> list[str]:
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(run_pipeline, pipelines))
    return [f"{pipeline}: {run.stderr[:200]}" for pipeline, run in zip(pipelines, runs, strict=True) if run.returncode]


def test_every_pass_inserted_alone_compiles_a_kernel(base: BasePipeline, passes: Vocabulary) -> None:
    assert len(passes) > 80
    pipelines = []
    for spec in passes.values():
        places = [anchor for anchor, level in base.places.items() if fits(spec.level, level)]
        pipelines.append(base.apply((Insert(places[len(places) // 2], spec.name, spec.level, spec.parameters(())),)))
    assert _compile_all(pipelines) == []


def test_every_parameter_value_of_the_vocabulary_parses(base: BasePipeline, passes: Vocabulary) -> None:
    edits = []
    for spec in passes.values():
        place = next(anchor for anchor, level in base.places.items() if fits(spec.level, level))
        for option in spec.options:
            edits += [Insert(place, spec.name, spec.level, spec.parameters([value])) for value in option.values[:3]]
    assert _compile_all([base.apply(tuple(edits[at : at + 8])) for at in range(0, len(edits), 8)]) == []


def test_random_genotypes_make_valid_pipelines(base: BasePipeline, passes: Vocabulary) -> None:
    sampler, rng = EditSampler(base, passes), np.random.RandomState(7)
    pipelines, edits = [], sampler.sample(rng)
    for _ in range(40):
        edits = sampler.mutate(sampler.recombine(edits, sampler.sample(rng), rng), rng)
        assert len(edits) <= MAX_EDITS
        pipelines.append(base.apply(edits))
    for pipeline in pipelines:
        assert print_pipeline(parse_pipeline(pipeline)) == pipeline
    assert len(set(pipelines)) > 30
    assert _compile_all(pipelines) == []


def test_denied_and_protected_passes_stay_out(base: BasePipeline, passes: Vocabulary) -> None:
    assert not {"print", "trigger-crash-function", "asan", "internalize"} & passes.keys()
    assert "no-verify-fixpoint" in str(passes["instcombine"].parameters(()))
    movable = {anchor.name for anchor in EditSampler(base, passes).movable}
    assert not {"nvvm-reflect", "require", "verify"} & movable


def test_passes_that_change_code_are_drawn_more_often_and_every_one_may_be() -> None:
    names = ["dce", "attributor", "licm"]
    assert EVEN.shares(EVEN.inserted, names) == [1 / 3] * 3
    idle, always, seldom = MEASURED.shares(MEASURED.inserted, names)
    assert 0 < idle < seldom < always and idle + always + seldom == pytest.approx(1)
    made_up = synthetic.space()
    sampler, rng = EditSampler(made_up.base, made_up.vocabulary, MEASURED), np.random.RandomState(3)
    drawn = [edit.name for _ in range(400) if isinstance(edit := sampler.edit(rng), Insert)]
    assert len(set(drawn)) > 15 and drawn.count("sink") > drawn.count("dce")
