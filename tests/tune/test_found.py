"""What a search found seeds the next one on a similar kernel."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from r3cc.replay.events import Baseline, Proposal, decode_event
from r3cc.replay.model import Candidate, Status
from r3cc.store.eventlog import EventLog, read_events
from r3cc.tune.blocks import Shape
from r3cc.tune.budget import Limits
from r3cc.tune.edits import Anchor, Drop, Insert, Preset, Swap
from r3cc.tune.found import MOST_SEEDS, VERSION, Finding, Library, distance, features, usable_in, user_library
from r3cc.tune.genotype import Genotype
from r3cc.tune.journal import Journal
from r3cc.tune.passes import Level
from r3cc.tune.search import Target, Tuner
from r3cc.tune.watcher import Silent
from tests.tune.synthetic import SyntheticEvaluator, describe, plan, space

SLSR = Insert(Anchor("sink", 1), "slsr", Level.FUNCTION)
GENOTYPE = Genotype((SLSR,), (("minctasm", "2"),))


def finding(number: int = 0, genotype: Genotype = GENOTYPE, **changes: object) -> Finding:
    plain = Finding(
        version=VERSION,
        search="20260101-000000-abcd",
        kernel=f"k{number}",
        name="k(int)",
        device="cpu",
        device_name="a processor",
        features=features(space().facts, space().shapes),
        genotype=genotype.document(),
        changes=("insert slsr before sink#1",),
        speedup=1.2,
    )
    return msgspec.structs.replace(plain, **changes)  # type: ignore[arg-type]


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library([tmp_path / "store" / "library.jsonl", tmp_path / "user" / "library.jsonl"])


def test_a_finding_seeds_a_similar_kernel_of_the_same_kind_of_device(library: Library) -> None:
    library.add([finding()])
    assert library.seeds(space(), "cpu") == (GENOTYPE,)
    assert library.seeds(space(), "cuda:0") == ()


def test_kernels_that_differ_learn_nothing(library: Library) -> None:
    other = features(
        describe(barriers=30, warp_operations=20, atomics=9, static_shared=4096), [Shape((1, 1, 1), (1024, 1, 1))]
    )
    library.add([finding(features=other)])
    assert distance(other, features(space().facts, space().shapes)) > 2.5
    assert library.seeds(space(), "cpu") == ()


def test_what_a_space_does_not_know_is_left_out() -> None:
    assert usable_in(space(), Genotype((), (("minctasm", "2"), ("waves", "4"))).document()) == Genotype(
        (), (("minctasm", "2"),)
    )
    assert usable_in(space(), Genotype((Drop(Anchor("no-such-pass", 1)),)).document()) is None
    misplaced = Insert(Anchor("licm", 1), "globaldce", Level.MODULE)  # another LLVM had it elsewhere
    assert usable_in(space(), Genotype((misplaced,)).document()) is None
    assert usable_in(space(), Genotype((Swap(Anchor("licm", 1), Anchor("globalopt", 1)),)).document()) is None
    assert usable_in(space(), {"edits": "nonsense"}) is None
    assert usable_in(space(), Genotype().document()) is None


def test_each_finding_is_kept_once_and_the_nearest_come_first(library: Library, tmp_path: Path) -> None:
    library.add([finding()])
    library.add(
        [finding(), *(finding(n, Genotype((Preset("O1"), *[SLSR] * n)), speedup=1 + n / 10) for n in range(1, 9))]
    )
    assert len(library.findings()) == 9
    seeds = library.seeds(space(), "cpu")
    assert len(seeds) == MOST_SEEDS
    assert seeds[0] == Genotype((Preset("O1"), *[SLSR] * 8)), "equally near: the one that gained most"


def test_damaged_lines_and_unwritable_files_are_no_obstacle(library: Library, tmp_path: Path) -> None:
    library.add([finding()])
    with (tmp_path / "store" / "library.jsonl").open("ab") as file:
        file.write(b'{"version": 1, "search": \n\xff\n')
    assert len(library.findings()) == 1
    blocked = Library([tmp_path / "store" / "library.jsonl" / "inside"])
    blocked.add([finding()])
    assert blocked.findings() == []


def test_the_users_file_may_be_moved_or_switched_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("R3_LIBRARY", "")
    assert user_library() == []
    monkeypatch.setenv("R3_LIBRARY", str(tmp_path / "mine"))
    assert user_library() == [tmp_path / "mine"]
    monkeypatch.delenv("R3_LIBRARY")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert user_library() == [tmp_path / "r3" / "library.jsonl"]


def test_seeds_are_tried_first_and_stay_the_same_when_the_search_is_continued(tmp_path: Path) -> None:
    def model(candidate: Candidate) -> float | Status:
        return 0.8 if "slsr" in (candidate.pipeline or "") else 1.0

    def search(found: tuple[Genotype, ...], budget: int) -> None:
        earlier = [decode_event(event) for event in read_events(tmp_path / "log")]
        with EventLog(tmp_path / "log") as events:
            target = Target(plan(), space(), lambda: SyntheticEvaluator(model), lambda: found)
            Tuner(Journal(events, earlier), [target], Silent(), "r3", 1, Limits(budget)).run()

    search((GENOTYPE,), 30)
    lines = (tmp_path / "log").read_bytes().splitlines(keepends=True)
    proposals = [e for e in map(decode_event, read_events(tmp_path / "log")) if isinstance(e, Proposal)]
    assert Genotype.of(proposals[1].genotype) == GENOTYPE
    asks = [b'"event":"proposal"' in line for line in lines]
    cut = next(at for at in range(len(lines) // 3, len(lines)) if asks[at] and not asks[at - 1])  # nothing in flight
    (tmp_path / "log").write_bytes(b"".join(lines[:cut]))
    search((), 30)
    again = [e for e in map(decode_event, read_events(tmp_path / "log")) if isinstance(e, (Proposal, Baseline))]
    assert [e.candidate for e in again if isinstance(e, Proposal)] == [p.candidate for p in proposals]


def test_a_preset_is_llvms_own_pipeline_and_nothing_else() -> None:
    candidate = space().candidate(Genotype((SLSR, Preset("Os"))))
    assert candidate == Candidate("default<Os>")
    assert space().changes(Genotype((Preset("Os"),))) == ("default<Os>",)
