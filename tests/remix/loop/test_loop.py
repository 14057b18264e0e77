"""The loop over a synthetic world: order, continuing, repetition, budgets, every failure that a proposer can have."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from r3cc.remix.archive.state import fold
from r3cc.remix.events import Build, Decision, Failed, Reply, Request, Tuned, Verdict
from r3cc.remix.model import FailureKind, Prompt, ProposerError
from r3cc.remix.prompts import layout
from r3cc.remix.proposers.transcript import TranscriptProposer
from r3cc.remix.search import Allowed
from r3cc.replay.events import End, Result, Stop
from tests.remix.synthetic import SETTINGS, Ran, Scribe, World, exhausted, search, target


def jitter(seed: int, longest: float = 0.01) -> Callable[[], float]:
    rng = random.Random(seed)
    return lambda: rng.random() * longest


def test_a_search_finds_better_kernels(tmp_path: Path) -> None:
    ran = search(tmp_path / "log", [Scribe()], allowed=Allowed(proposals=60))
    (result,) = ran.of(Result)
    assert result.n is not None
    assert result.speedup.low > 1.2
    assert result.candidate.variant is not None
    (change,) = result.regions
    assert (change.name, change.path, change.begin) == ("k", "k.cu", 100)
    assert change.before != change.after
    assert ran.of(Stop)[0].reason in ("budget", "plateau")
    assert ran.of(End)


def test_verdicts_come_in_order_and_fold_to_the_state(tmp_path: Path) -> None:
    ran = search(tmp_path / "log", [Scribe(latency=jitter(1))], allowed=Allowed(proposals=30))
    assert [verdict.n for verdict in ran.of(Verdict)] == list(range(30))
    folded = fold("abc", SETTINGS, ran.events)
    assert list(folded.archive) == list(ran.states["abc"].archive)
    assert folded.stages == ran.states["abc"].stages


def test_equal_sources_are_built_and_measured_once(tmp_path: Path) -> None:
    world = World()
    ran = search(tmp_path / "log", [Scribe()], world=world, allowed=Allowed(proposals=40))
    assert max(world.builds.values()) == 1
    reasons = {verdict.reason for verdict in ran.of(Verdict)}
    assert reasons & {"duplicate_source", "duplicate_ir", "unchanged"}


def test_a_transcript_repeats_a_search_to_the_byte(tmp_path: Path) -> None:
    first = search(tmp_path / "first", [Scribe(latency=jitter(2)), Scribe("other", latency=jitter(3))])
    scripts = [tmp_path / "first", tmp_path / "second"]
    for number, script in enumerate(scripts):
        world = World()
        repeated = search(
            tmp_path / ("second", "third")[number], [TranscriptProposer(script)], world=world, script=script
        )
        assert repeated.archives == first.archives
        assert not world.builds, "a transcript's builds are not repeated"
        assert set(world.rebuilt) == {repeated.of(Result)[0].candidate.variant}, "but the winner's"
        assert not repeated.of(Failed)
        (one,), (other,) = first.of(Result), repeated.of(Result)
        assert (one.n, one.candidate, one.speedup, one.regions) == (
            other.n,
            other.candidate,
            other.speedup,
            other.regions,
        )


def test_a_transcript_with_tuning_repeats_as_well(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, tune_evaluations=12)
    first = search(tmp_path / "first", [Scribe()], allowed=Allowed(proposals=8), settings=settings)
    assert first.of(Tuned)
    again = search(
        tmp_path / "again", [TranscriptProposer(tmp_path / "first")], settings=settings, script=tmp_path / "first"
    )
    assert again.archives == first.archives


@pytest.mark.parametrize("seed", range(4))
def test_a_transcript_with_repairs_duplicates_and_failures_repeats_as_well(tmp_path: Path, seed: int) -> None:
    """Whichever answer comes first, in the search or in its repetition, the archive is the same."""

    def spoil(prompt: Prompt) -> str | ProposerError | None:
        drawn = random.Random(f"{seed} {prompt.sample} {len(prompt.blocks)}").random()
        if drawn < 0.3:
            return "```r3 region=k\nwrong = 1;\n```" if drawn < 0.1 else GARBAGE[int(drawn * 100) % len(GARBAGE)]
        return ProposerError(FailureKind.OVERLOADED, "busy") if drawn > 0.9 else None

    first = search(
        tmp_path / "first",
        [Scribe(spoil=spoil, latency=jitter(seed, 0.03)), Scribe("other", latency=jitter(seed + 9, 0.03))],
        allowed=Allowed(proposals=40, concurrency=6),
    )
    assert {build.round for build in first.of(Build)} == {0, 1}
    assert first.of(Failed)
    for number in range(2):
        again = search(tmp_path / f"again{number}", [TranscriptProposer(tmp_path / "first")], script=tmp_path / "first")
        assert again.archives == first.archives
        assert [v.reason for v in again.of(Verdict)] == [v.reason for v in first.of(Verdict)]


def test_a_transcript_outlives_the_prompts_that_it_was_made_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = search(tmp_path / "first", [Scribe()])
    shutil.copytree(layout.FOLDER, tmp_path / "prompts")
    (tmp_path / "prompts" / "system.j2").write_text("You rewrite kernels, said in other words.")
    monkeypatch.setattr(layout, "FOLDER", tmp_path / "prompts")
    again = search(tmp_path / "again", [TranscriptProposer(tmp_path / "first")], script=tmp_path / "first")
    assert again.archives == first.archives
    assert {reply.prompt for reply in again.of(Reply)}.isdisjoint({reply.prompt for reply in first.of(Reply)})


def killed(path: Path, after: int) -> None:
    """Cut a log as a kill does, in the middle of a line."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:after]) + lines[after][: len(lines[after]) // 2])


@pytest.mark.parametrize("seed", range(6))
def test_a_killed_search_goes_on_to_the_same_verdicts_as_its_log_says(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "log"
    world = World()
    whole = search(path, [Scribe(latency=jitter(seed))], world=world, allowed=Allowed(proposals=16))
    lines = path.read_bytes().count(b"\n")
    killed(path, random.Random(seed).randrange(8, lines - 4))
    kept = [event for event in read(path) if isinstance(event, Reply)]
    scribe = Scribe(latency=jitter(seed + 1))
    ran = search(path, [scribe], world=world, allowed=Allowed(proposals=16))
    assert [verdict.n for verdict in ran.of(Verdict)] == list(range(16))
    asked = {(prompt.sample, prompt.id) for prompt in scribe.prompts}
    assert not asked & {(reply.n, reply.prompt) for reply in kept}, "what was answered is not asked again"
    assert len({request.n for request in ran.of(Request)}) == 16
    assert fold("abc", SETTINGS, ran.events).stages == ran.states["abc"].stages
    for kind in (Request, Build):
        rounds = Counter((event.n, event.round) for event in ran.of(kind) if not getattr(event, "values", None))
        assert set(rounds.values()) == {1}, "nothing is written down twice"
    assert len(whole.of(Verdict)) == 16


def read(path: Path) -> list[object]:
    from r3cc.remix.events import read_transcript

    return list(read_transcript(path))


def test_a_finished_search_has_nothing_to_do(tmp_path: Path) -> None:
    path = tmp_path / "log"
    search(path, [Scribe()], allowed=Allowed(proposals=6))
    scribe = Scribe()
    search(path, [scribe], allowed=Allowed(proposals=6))
    assert not scribe.prompts


GARBAGE = [
    "",
    "I cannot help with that.",
    "STRATEGY: none\n```cuda\nint x;\n```",
    "```r3 region=k\n__global__",
    "```r3 region=nobody\nint x;\n```",
    "```r3 region=k patch\n<<<<<<< SEARCH\nnot there\n=======\nx\n>>>>>>> REPLACE\n```",
    "```r3 region=k\nsyntax error\n```",
    "```r3 region=k\n#include <cstdlib>\n```",
    "```r3 region=k\nwrong\n```",
    "```r3 region=k\nhang\n```",
    "\0" * 1000,
    "```" * 5000,
]


def test_garbage_is_judged_diagnosed_and_survived(tmp_path: Path) -> None:
    def spoil(prompt: Prompt) -> str | None:
        return GARBAGE[prompt.sample % len(GARBAGE)] if prompt.sample < 2 * len(GARBAGE) else None

    ran = search(tmp_path / "log", [Scribe(spoil=spoil)], allowed=Allowed(proposals=40))
    verdicts = ran.of(Verdict)
    assert len(verdicts) == 40
    assert {"no_block", "cut_block", "unknown_region", "search_missing", "does_not_compile", "include"} <= {
        verdict.reason for verdict in verdicts[: 2 * len(GARBAGE)]
    }
    assert {"mismatch", "timeout"} <= {verdict.reason for verdict in verdicts}
    assert all(verdict.message for verdict in verdicts if verdict.reason)
    assert all(elite.ratio.median < 2 for elite in ran.states["abc"].archive)


def test_an_answer_that_cannot_be_used_is_asked_for_again(tmp_path: Path) -> None:
    def spoil(prompt: Prompt) -> str | None:
        return "```r3 region=k\nsyntax error\n```" if prompt.blocks[-1].name != "repair" else None

    scribe = Scribe(spoil=spoil)
    ran = search(tmp_path / "log", [scribe], allowed=Allowed(proposals=4))
    repairs = [prompt for prompt in scribe.prompts if prompt.blocks[-1].name == "repair"]
    assert len(repairs) == 4
    assert all("expected ';'" in prompt.text and "syntax error" in prompt.text for prompt in repairs)
    first = {prompt.sample: prompt for prompt in scribe.prompts if prompt.blocks[-1].name != "repair"}
    assert all(prompt.text.startswith(first[prompt.sample].text) for prompt in repairs), "a repair shares its prefix"
    assert {build.round for build in ran.of(Build)} == {0, 1}
    assert not any(verdict.reason == "does_not_compile" for verdict in ran.of(Verdict))


def test_the_last_repair_asks_for_whole_regions(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, repairs=2)
    scribe = Scribe(spoil=lambda prompt: "```r3 region=k patch\n<<<<<<< SEARCH\nnone\n=======\n\n>>>>>>> REPLACE\n```")
    ran = search(tmp_path / "log", [scribe], allowed=Allowed(proposals=1), settings=settings)
    assert [len(prompt.blocks) for prompt in scribe.prompts] == [4, 5, 6]
    assert ["no patches" in prompt.text for prompt in scribe.prompts] == [False, False, True]
    assert [verdict.reason for verdict in ran.of(Verdict)] == ["search_missing"]


@pytest.mark.parametrize("kind", list(FailureKind))
def test_failures_of_every_kind_are_events(tmp_path: Path, kind: FailureKind) -> None:
    def spoil(prompt: Prompt) -> ProposerError | None:
        return ProposerError(kind, "as the test says", cost_usd=0.01) if prompt.sample % 3 == 1 else None

    ran = search(tmp_path / "log", [Scribe("flaky", spoil), Scribe("steady")], allowed=Allowed(proposals=12))
    assert len(ran.of(Verdict)) == 12
    failed = ran.of(Failed)
    assert failed and all(event.kind is kind for event in failed)
    assert ran.of(Stop)[0].reason == "budget"
    if kind in (FailureKind.BAD_REQUEST, FailureKind.EXHAUSTED):
        assert all(decision.proposer == "steady" for decision in ran.of(Decision)[-3:])


def test_a_proposer_that_breaks_does_not_end_the_search(tmp_path: Path) -> None:
    class Broken(Scribe):
        async def propose(self, prompt: Prompt, deadline_s: float) -> object:  # type: ignore[override]
            raise ZeroDivisionError("secret detail")

    ran = search(tmp_path / "log", [Broken("broken"), Scribe()], allowed=Allowed(proposals=8))
    assert len(ran.of(Verdict)) == 8
    assert all("secret detail" not in event.message for event in ran.of(Failed))


def test_an_answer_that_repeats_a_key_does_not_bring_it_into_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "hunter2-hunter2")
    spoil = "```r3 region=k\n// hunter2-hunter2\n```"
    search(tmp_path / "log", [Scribe(spoil=lambda prompt: spoil)], allowed=Allowed(proposals=2))
    assert b"hunter2" not in (tmp_path / "log").read_bytes()


def test_a_search_ends_when_nobody_proposes_any_more(tmp_path: Path) -> None:
    ran = search(tmp_path / "log", [Scribe(spoil=lambda prompt: exhausted())], allowed=Allowed(proposals=None))
    assert ran.of(Stop)[0].reason == "exhausted"
    assert ran.of(Result)[0].n is None


def test_a_search_ends_after_many_failures_in_a_row(tmp_path: Path) -> None:
    def spoil(prompt: Prompt) -> ProposerError:
        return ProposerError(FailureKind.UNREACHABLE, "no route")

    ran = search(tmp_path / "log", [Scribe(spoil=spoil)], allowed=Allowed(proposals=None))
    assert ran.of(Stop)[0].reason == "failures"
    assert len(ran.of(Failed)) < 40


def test_no_call_goes_out_that_could_cost_more_than_is_left(tmp_path: Path) -> None:
    scribe = Scribe(cost_usd=0.10, latency=jitter(4))
    ran = search(tmp_path / "log", [scribe], allowed=Allowed(proposals=None, max_cost_usd=1.0))
    spent = sum(reply.answer.cost_usd for reply in ran.of(Reply))
    assert 0.5 < spent <= 1.0
    assert ran.of(Stop)[0].reason == "cost"


def test_tokens_of_lost_answers_count_against_the_cap(tmp_path: Path) -> None:
    def spoil(prompt: Prompt) -> ProposerError:
        return ProposerError(FailureKind.DEADLINE, "broke off", tokens=6000)

    ran = search(
        tmp_path / "log", [Scribe(spoil=spoil)], allowed=Allowed(proposals=None, max_tokens=30_000, concurrency=1)
    )
    assert 20_000 < sum(failed.tokens for failed in ran.of(Failed)) <= 30_000
    assert ran.of(Stop)[0].reason == "cost"


def test_nothing_is_mended_after_the_time(tmp_path: Path) -> None:
    scribe = Scribe(spoil=lambda prompt: GARBAGE[0], latency=lambda: 0.6)
    ran = search(tmp_path / "log", [scribe], allowed=Allowed(proposals=None, time_s=0.4))
    assert ran.of(Verdict)
    assert {request.round for request in ran.of(Request)} == {0}


def test_the_time_is_over(tmp_path: Path) -> None:
    ran = search(tmp_path / "log", [Scribe(latency=lambda: 0.02)], allowed=Allowed(proposals=None, time_s=0.5))
    assert ran.of(Stop)[0].reason == "time"
    assert ran.of(End)


def test_an_interrupt_leaves_a_log_to_go_on_with(tmp_path: Path) -> None:
    path = tmp_path / "log"
    calls = 0

    def latency() -> float:
        nonlocal calls
        calls += 1
        if calls == 9:
            asyncio.get_running_loop().call_soon(interrupt)
        return 0.001

    def interrupt() -> None:
        raise KeyboardInterrupt

    world = World()
    with pytest.raises(KeyboardInterrupt):
        search(path, [Scribe(latency=latency)], world=world, allowed=Allowed(proposals=20))
    ran = search(path, [Scribe()], world=world, allowed=Allowed(proposals=20))
    assert [verdict.n for verdict in ran.of(Verdict)] == list(range(20))


def test_parameters_are_left_to_the_tuner(tmp_path: Path) -> None:
    def spoil(prompt: Prompt) -> str:
        return "STRATEGY: open\n```r3 region=k\n  tile = R3_PARAM(t, 0, 1, 2, 3);\n```"

    settings = msgspec.structs.replace(SETTINGS, tune_evaluations=3)
    world = World()
    ran = search(tmp_path / "log", [Scribe(spoil=spoil)], world=world, allowed=Allowed(proposals=2), settings=settings)
    (result,) = ran.of(Result)
    assert result.parameters == {"t": "2"}
    assert result.regions[0].after == "  tile = 2;"
    assert "t=2" in result.changes


def test_a_transcript_of_a_transcript_knows_the_parameters(tmp_path: Path) -> None:
    def spoil(prompt: Prompt) -> str:
        return "STRATEGY: open\n```r3 region=k\n  tile = R3_PARAM(t, 0, 1, 2, 3);\n```"

    settings = msgspec.structs.replace(SETTINGS, tune_evaluations=6)
    found = [search(tmp_path / "0", [Scribe(spoil=spoil)], allowed=Allowed(proposals=2), settings=settings)]
    for number in (1, 2):
        script = tmp_path / str(number - 1)
        found.append(search(tmp_path / str(number), [TranscriptProposer(script)], settings=settings, script=script))
    results = [ran.of(Result)[0] for ran in found]
    assert [result.parameters for result in results] == [{"t": "2"}] * 3
    assert [result.regions[0].after for result in results] == ["  tile = 2;"] * 3
    assert found[0].archives == found[1].archives == found[2].archives
    trials = [[event for event in ran.of(Build) if event.values] for ran in found]
    assert trials[0] == trials[1] == trials[2] != []


def test_a_kernel_that_cannot_be_rebuilt_gets_a_verdict(tmp_path: Path) -> None:
    class Unbuildable(World):
        def build(self, texts, values=None):  # type: ignore[no-untyped-def]
            from r3cc.remix.model import Rejection, Stage

            return Rejection(Stage.COMPILE, "missing", "k.cu is not there")

    ran = search(tmp_path / "log", [Scribe()], targets=[target(Unbuildable())])
    assert "k.cu is not there" in ran.of(Result)[0].note
    assert isinstance(ran, Ran)
