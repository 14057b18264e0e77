"""The values of replay: what is equal is written alike."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from r3cc.replay.events import Proposal, decode_event
from r3cc.replay.model import Candidate, LaunchConfiguration, Specialisation, Table

DIM3 = st.tuples(*[st.integers(1, 64)] * 3)
LAUNCHES = st.builds(
    LaunchConfiguration, block=st.none() | DIM3, shapes=st.just(()) | st.tuples(st.tuples(DIM3, DIM3, st.just(0)))
)
TABLES = st.builds(Table, content=st.just("00"), argument=st.integers(0, 2))
SPECIAL = st.builds(Specialisation, block=st.none() | DIM3, tables=st.just(()) | st.tuples(TABLES))
CANDIDATES = st.builds(
    Candidate,
    pipeline=st.sampled_from([None, "default<O3>"]),
    codegen=st.sampled_from([(), (("maxnreg", "64"),)]),
    launch=LAUNCHES,
    specialisation=SPECIAL,
)


@given(CANDIDATES, CANDIDATES)
def test_equal_candidates_have_equal_ids_and_others_have_not(one: Candidate, other: Candidate) -> None:
    assert (one == other) == (one.canonical() == other.canonical())
    assert (one == other) == (one.id == other.id)


@given(CANDIDATES)
def test_a_candidate_of_a_log_is_the_one_that_was_written(candidate: Candidate) -> None:
    written = Proposal(at=1.0, n=0, kernel="k", source="seed", genotype={}, candidate=candidate, changes=())
    read = decode_event(msgspec.json.decode(msgspec.json.encode(written)))
    assert isinstance(read, Proposal)
    assert (read.candidate, read.candidate.id) == (candidate, candidate.id)


def test_the_recorded_build_has_one_id() -> None:
    spelt_out = Candidate(launch=LaunchConfiguration(), specialisation=Specialisation())
    assert spelt_out.canonical() == Candidate().canonical() == b"{}"
