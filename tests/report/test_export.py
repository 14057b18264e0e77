"""What other programs read: T4 JSON, CSV, command lines."""

from __future__ import annotations

import csv
import io
import re
import shlex
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given

from r3cc.replay.events import Answer, AnyEvent, KernelPlan, Proposal
from r3cc.replay.model import Candidate, Evaluation, Interval, LaunchConfiguration, Specialisation, Status
from r3cc.report.export import COLUMNS, INVALIDITY, _configuration, kernel_commands, t4, table
from r3cc.store.model import Module
from tests.replay.test_model import CANDIDATES
from tests.report.test_report import begin
from tests.tune.synthetic import plan
from tests.tune.test_search import events_of, faulty, run

CODEGEN = {
    "pipeline": "default<O3>",
    "codegen_level": 3,
    "fp_contract": "fast",
    "cpu": "sm_90",
    "features": "+ptx88,+sm_90",
    "mllvm": ["-enable-memcpyopt-without-libcalls"],
    "vectorize_loops": True,
    "vectorize_slp": True,
    "unroll_loops": True,
    "ptxas": ["-O3"],
}


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[AnyEvent]:
    log = tmp_path_factory.mktemp("search") / "log"
    run(log, model=faulty, budget=60)
    return [begin(plan()), *events_of(log)]


def test_t4_has_what_its_schema_requires_for_every_evaluation(events: list[AnyEvent]) -> None:
    document = t4(events)
    assert re.fullmatch(r"\d+\.\d+\.\d+", document["schema_version"])
    answers = [event for event in events if isinstance(event, Answer)]
    assert len(document["results"]) == len(answers) > 40
    for result, answer in zip(document["results"], answers, strict=True):
        assert {"configuration", "times", "invalidity", "correctness"} <= result.keys()
        assert isinstance(result["configuration"], dict)
        assert isinstance(result["correctness"], float)
        assert result["invalidity"] == INVALIDITY[answer.evaluation.status]
        assert all(isinstance(result["times"][name], float) for name in ("compilation_time", "framework", "validation"))
        assert bool(result["times"]["runtimes"]) == (answer.evaluation.status is Status.OK)
        assert all({"name", "value", "unit"} == measured.keys() for measured in result["measurements"])
        datetime.fromisoformat(result["timestamp"])


def test_evaluations_of_a_remix_search_are_exported_too() -> None:
    """They answer requests to a model, which are no proposals of an optimizer."""
    candidate = Candidate(variant="0" * 16)
    evaluation = Evaluation(candidate, Status.OK, ratio=Interval(0.8, 0.7, 0.9, 6))
    log = [begin(plan()), Answer(at=1.0, n=3, kernel="abc", evaluation=evaluation, loss=-0.2, stage="full")]
    (row,) = csv.DictReader(io.StringIO(table(log)))
    assert (row["n"], row["source"], row["ratio"], row["demangled"]) == ("3", "full", "0.8", "k(int)")
    (result,) = t4(log)["results"]
    assert result["configuration"] == {"kernel": "k(int)", "variant": "0" * 16}


def test_code_without_ir_has_no_commands() -> None:
    module = Module("foreign:m", None, {"format": "cubin", "architecture": "sm_90"}, "app")
    (said,) = kernel_commands(module, plan(), "r", Candidate(codegen=(("maxrregcount", "64"),)))
    assert "carries no IR" in said


def test_every_status_has_its_word() -> None:
    assert set(INVALIDITY) == set(Status)
    assert set(INVALIDITY.values()) == {"timeout", "compile", "runtime", "correctness", "constraints", "correct"}


def test_csv_has_a_row_for_every_evaluation(events: list[AnyEvent]) -> None:
    rows = list(csv.DictReader(io.StringIO(table(events))))
    assert [int(row["n"]) for row in rows] == [event.n for event in events if isinstance(event, Answer)]
    assert rows[0].keys() == set(COLUMNS)
    candidates = {event.n: event.candidate for event in events if isinstance(event, Proposal)}
    for row in rows:
        assert row["pipeline"] == (candidates[int(row["n"])].pipeline or "")
        assert (row["ratio"] != "") == (row["status"] == "ok")


def plan_of(demangled: str) -> KernelPlan:
    return KernelPlan("abc", "m", "_Z1kPf", demangled, 1.0, "rounding")


def lines_of(candidate: Candidate, triple: str = "nvptx64-nvidia-cuda", demangled: str = "k(float*)") -> list[str]:
    blank = dict.fromkeys(Module.__struct_fields__)
    info = {"triple": triple, "architecture": "sm_90", "codegen": CODEGEN}
    module = Module(**{**blank, "info": info})  # type: ignore[arg-type]
    return kernel_commands(module, plan_of(demangled), "20260102-030405-abcd", candidate)


def test_commands_name_every_option_of_the_candidate() -> None:
    codegen = (("fp-contract", "never"), ("maxntid", "64,1,1"), ("mllvm:disable-lsr", "1"), ("ptxas-opt", "2"))
    candidate = Candidate("default<O3>,function(slsr)", codegen, LaunchConfiguration(block=(64, 1, 1)))
    words = [shlex.split(line) for line in lines_of(candidate)]
    tools = [line[0] for line in words]
    assert tools == ["r3", "sed", "sed", "opt", "llc", "ptxas", "#"]
    opt, llc, ptxas = words[3:6]
    assert "-passes=default<O3>,function(slsr)" in opt
    assert "-disable-lsr=1" in opt and "-disable-lsr=1" in llc
    assert {"-mcpu=sm_90", "-mattr=+ptx88,+sm_90", "-fp-contract=off", "-O3"} <= set(llc)
    assert "-O2" in ptxas and "-O3" not in ptxas
    assert 'nvvm.maxntid"="64,1,1' in words[1][3]


def test_commands_of_a_template_s_kernel_name_files_that_a_shell_takes(tmp_path: Path) -> None:
    demangled = "void heat::step<double, (heat::Order)2>(Grid, double const*)"
    first, *_ = lines_of(Candidate("default<O1>"), demangled=demangled)
    subprocess.run(["sh", "-ec", f'r3() {{ echo "$@"; }}; {first}'], cwd=tmp_path, check=True)
    (made,) = tmp_path.iterdir()
    assert made.name == "heat_step_double_heat_Order_2-abc.ll"
    assert made.read_text() == "show abc --recording 20260102-030405-abcd --ir\n"


@pytest.mark.parametrize(
    ("candidate", "triple", "part"),
    [
        (Candidate(variant="abc"), "nvptx64-nvidia-cuda", "rewritten"),
        (Candidate(specialisation=Specialisation(((0, "01000000"),))), "nvptx64-nvidia-cuda", "specialised"),
        (Candidate("default<O1>"), "amdgcn-amd-amdhsa", "NVPTX"),
    ],
)
def test_what_no_command_can_make_is_said(candidate: Candidate, triple: str, part: str) -> None:
    (line,) = lines_of(candidate, triple)
    assert line.startswith("# ")
    assert part in line


@given(CANDIDATES, CANDIDATES)
def test_t4_tells_candidates_apart(one: Candidate, other: Candidate) -> None:
    assert (_configuration(one) == _configuration(other)) == (one == other)
