"""``r3 remix`` on the command line, on a real program and the cpu device, without a model."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from r3cc.remix.events import Reply, Request, Verdict, read_transcript
from r3cc.replay.events import End
from r3cc.store.binary import read_binary
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_program
from tests.examples.programs import ROOT, Example, compile_example, r3, r3_json
from tests.once import once

SAXPY = Example("first-steps/saxpy.cu", ("20000",), {"saxpy": 1})
EXAMPLE = ROOT / "examples" / "transcripts" / "weather-sum_mass-rules.jsonl"
SHORT = ("--budget", "2", "--time", "3m")
STUBBORN = """
import sys, time
prompt = sys.stdin.read()
time.sleep(0.5)
print("STRATEGY: nothing yet")
"""
WRONG = """STRATEGY: one too many

```r3 region=saxpy
__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i] + 1.0f;
}
```
"""
POOL = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

class Pool(ProcessPoolExecutor):
    def submit(self, work, *arguments):
        with open("judged", "a") as file:
            print(work.__name__, file=file)
        return super().submit(work, *arguments)

def pool():
    return Pool(1, mp_context=multiprocessing.get_context("spawn"))
"""


@pytest.fixture(scope="session")
def recorded(shared: Path) -> Path:
    """A store with a recording of saxpy; its tests copy it."""

    def make(store: Path) -> None:
        cuda = find_cuda()
        assert cuda is not None
        program = store.parent / "saxpy"
        compile_example(native_program("r3-clang++"), cuda.path, SAXPY, program)
        assert read_binary(program)
        done = r3("record", "--device", "cpu", "--", str(program), *SAXPY.arguments, store=store)
        assert done.returncode == 0, done.stderr

    return once(shared / "remix-cli" / "r3-store", make)


@pytest.fixture
def store(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded, tmp_path / "r3-store"))


@pytest.fixture(scope="session")
def searched(recorded: Path, shared: Path) -> Path:
    """A store with a finished search; its tests only read it."""

    def make(store: Path) -> None:
        shutil.copytree(recorded, store)
        done = r3("remix", "saxpy", *SHORT, store=store)
        assert done.returncode == 0, done.stderr

    return once(shared / "remix-searched" / "r3-store", make)


def log_of(store: Path, at: int = -1) -> Path:
    return sorted((store / "searches").iterdir())[at] / "events.jsonl"


def test_a_search_without_a_model(searched: Path) -> None:
    events = read_transcript(log_of(searched))
    assert any(isinstance(event, End) for event in events)
    verdicts = [event for event in events if isinstance(event, Verdict)]
    assert [verdict.n for verdict in verdicts] == list(range(len(verdicts)))
    measured = [verdict for verdict in verdicts if verdict.ratio is not None and not verdict.reason]
    assert measured, [(verdict.stage, verdict.reason, verdict.message) for verdict in verdicts]
    report = r3_json("report", store=searched)
    assert (report["optimizer"], report["complete"]) == ("remix", True)


def test_a_proposal_is_shown(searched: Path) -> None:
    verdict = next(e for e in read_transcript(log_of(searched)) if isinstance(e, Verdict) and e.ratio is not None)
    shown = r3_json("remix", "--show", str(verdict.n), store=searched)
    assert shown["strategy"] == verdict.strategy
    assert "+" in shown["diff"]
    assert shown["lineage"][-1]["n"] == verdict.n
    by_variant = r3_json("remix", "--show", str(verdict.variant), store=searched)
    assert by_variant["variant"] == verdict.variant
    text = r3("remix", "--show", str(verdict.n), store=searched).stdout
    assert "lineage" in text and "speedup" in text
    assert "no proposal and no variant" in r3("remix", "--show", "9999", store=searched).stderr


def test_a_transcript_gives_the_same_archive(searched: Path, recorded: Path, tmp_path: Path) -> None:
    fresh = Path(shutil.copytree(recorded, tmp_path / "r3-store"))
    first = log_of(searched)
    done = r3("remix", "saxpy", "--llm", f"transcript:{first}", store=fresh)
    assert done.returncode == 0, done.stderr
    assert (log_of(fresh).parent / "archive.json").read_bytes() == (first.parent / "archive.json").read_bytes()


def test_a_repeated_search_is_of_the_device_that_it_ran_on(searched: Path, recorded: Path, tmp_path: Path) -> None:
    fresh = Path(shutil.copytree(recorded, tmp_path / "r3-store"))
    begin, *others = log_of(searched).read_text().splitlines()
    elsewhere = json.loads(begin) | {"device": "cuda:0", "device_name": "Another GPU"}
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    whole.write_text("\n".join([json.dumps(elsewhere), *others]) + "\n")
    cut.write_text("\n".join([json.dumps(elsewhere), *others[:-1]]) + "\n")
    for script, device in ((whole, "cuda:0 (Another GPU)"), (cut, "cpu")):
        done = r3("remix", "--llm", f"transcript:{script}", store=fresh)
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith("r3: compiling the source of saxpy as it was recorded\n")
        assert f" on {device}" in done.stdout


def test_the_example_transcript_repeats_and_goes_home(tmp_path: Path) -> None:
    """A transcript that was made elsewhere, on the same source."""
    cuda = find_cuda()
    assert cuda is not None
    program, store = tmp_path / "weather", tmp_path / "r3-store"
    compile_example(native_program("r3-clang++"), cuda.path, Example("weather/weather.cu", (), {}), program)
    assert r3("record", "--device", "cpu", "--", str(program), "32", "2", store=store).returncode == 0
    done = r3("remix", "sum_mass", "--llm", f"transcript:{EXAMPLE}", store=store)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads((log_of(store).parent / "archive.json").read_bytes())
    elites = [each["elite"] for island in found["islands"] for each in island]
    recorded = [event for event in read_transcript(EXAMPLE) if isinstance(event, Verdict)]
    assert found["proposals"] == len(recorded)
    assert {each["n"] for each in elites} <= {event.n for event in recorded if event.ratio is not None}
    assert min(each["ratio"]["median"] for each in elites) == min(
        e.ratio.median for e in recorded if e.ratio is not None
    )
    replayed = [event for event in read_transcript(log_of(store)) if isinstance(event, Verdict)]
    assert [(v.n, v.stage, v.reason, v.texts) for v in replayed] == [
        (v.n, v.stage, v.reason, v.texts) for v in recorded
    ]
    applied = r3("apply", "--device", "cpu", "-o", str(tmp_path / "tuned.r3.json"), store=store)
    assert applied.returncode == 0, "the digests of its rewrites are those that they have here"
    assert (tmp_path / "tuned.r3.patch").is_file()


def test_a_dry_run_asks_nobody(store: Path) -> None:
    prompt = r3_json("remix", "saxpy", "--dry-run", store=store)
    assert [block["name"] for block in prompt["blocks"]] == ["system", "kernel", "parent", "request"]
    assert "__global__ void saxpy" in prompt["blocks"][1]["text"]
    assert [Path(name).name for name in prompt["files"]] == ["saxpy.cu"]
    assert Path(prompt["files"][0]).is_file()
    assert not (store / "searches").exists()


def test_sigterm_ends_in_order_and_the_next_run_goes_on(store: Path, tmp_path: Path) -> None:
    program = tmp_path / "stubborn.py"
    program.write_text(STUBBORN)
    arguments = ["remix", "saxpy", "--llm", f"command:{sys.executable} {program}", "--budget", "6", "--time", "3m"]
    command = [sys.executable, "-c", "from r3cc.cli import main; main()", *arguments, "--store", str(store)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=None, cwd=ROOT)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (answered := answers(store)):
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert answered, said
    assert process.returncode == 130
    assert "interrupted" in said and "Traceback" not in said
    done = r3(*arguments, store=store)
    assert done.returncode == 0, done.stderr
    assert "going on with search" in done.stderr
    events = read_transcript(log_of(store))
    assert len({event.n for event in events if isinstance(event, Request)}) == 6
    assert {verdict.reason for verdict in events if isinstance(verdict, Verdict)} == {"no_block"}


def test_an_answer_written_beforehand_is_judged_on_an_executor(store: Path) -> None:
    prepared = store.parent / "box" / "prepared" / "saxpy"
    prepared.mkdir(parents=True)
    (prepared / "01.md").write_text(WRONG)
    (prepared.parents[1] / "closed").touch()
    (store.parent / "pools.py").write_text(POOL)
    mailbox = ("--llm", "mailbox:box", "--concurrency", "1")
    done = r3("remix", "saxpy", *mailbox, "--executor", "pools:pool", "--time", "3m", store=store)
    assert done.returncode == 0, done.stderr
    first = next(event for event in read_transcript(log_of(store)) if isinstance(event, Verdict))
    assert (first.strategy, first.stage, first.reason) == ("one too many", "correct", "mismatch")
    judged = (store.parent / "judged").read_text().split()
    assert judged in (["judge"] * 2, ["judge"] * 3), "the baseline, once more on a noisy machine, then the rewrite"
    assert not list(prepared.iterdir())


def test_a_search_is_judged_by_parsl_workers(store: Path) -> None:
    pytest.importorskip("parsl")
    config = ROOT / "tests" / "farm" / "parsl_config.py"
    done = r3("remix", "saxpy", *SHORT, "--executor", f"parsl:{config}", store=store)
    assert done.returncode == 0, done.stderr
    events = read_transcript(log_of(store))
    assert any(isinstance(event, End) for event in events)
    verdicts = [event for event in events if isinstance(event, Verdict)]
    assert len(verdicts) == 2
    assert any(event.ratio is not None and not event.reason for event in verdicts), verdicts


def answers(store: Path) -> list[object]:
    if not (store / "searches").exists():
        return []
    log = log_of(store)
    return [event for event in read_transcript(log) if isinstance(event, Reply)] if log.exists() else []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--llm", "oracle:x"), "there is no proposer 'oracle'"),
        (("--llm", "transcript:nowhere"), "there is no transcript nowhere"),
        (("--llm", "rules", "--llm", "transcript:x"), "transcript"),
        (("--llm", "anthropic:claude-sonnet-5"), "ANTHROPIC_API_KEY"),
        (("--device", "cuda:0"), "can be replayed on a cpu device only"),
        (("--show", "1"), "the store holds no remix search"),
        (("nonsense",), "no kernel is called 'nonsense'"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(recorded: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = r3("remix", *arguments, store=recorded)
    assert done.returncode != 0
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_changed_source_is_said(store: Path, tmp_path: Path) -> None:
    """The store knows which text was compiled; another one is not rewritten."""
    program = tmp_path / "other"
    source = tmp_path / "other.cu"
    source.write_text(SAXPY.path.read_text())
    cuda = find_cuda()
    assert cuda is not None
    compile_example(native_program("r3-clang++"), cuda.path, Example(str(source), (), {}), program)
    assert r3("record", "--device", "cpu", "--", str(program), "1000", store=store).returncode == 0
    source.write_text(source.read_text() + "\n__global__ void another(int *x) { *x = 1; }\n")
    done = r3("remix", *SHORT, store=store)
    assert done.returncode != 0
    assert "other.cu" in done.stderr and "record" in done.stderr


def test_the_archive_document_is_json(searched: Path) -> None:
    (found,) = json.loads((log_of(searched).parent / "archive.json").read_bytes())
    assert found["dimensions"] == ["synchronisation", "access", "work"]
    assert len(found["islands"]) == 2
    assert sum(found["ended"].values()) == found["proposals"]
