"""``r3 tune`` and ``r3 report`` on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from r3cc.cli import r3
from r3cc.store import Store
from tests.report.test_report import begin, write
from tests.tune.synthetic import plan
from tests.tune.test_search import run


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(r3, arguments)


@pytest.fixture
def searched(small_store: Store) -> Path:
    search = small_store.searches.create()
    write(search.events_path, begin(plan()))
    run(search.events_path, budget=40)
    return small_store.path


def test_report_prints_the_latest_search(searched: Path) -> None:
    result = invoke("report", "--store", str(searched))
    assert result.exit_code == 0, result.output
    assert "cpu device: not a prediction for any GPU" in result.stdout
    assert re.search(r"^k\s+\d", result.stdout, re.MULTILINE)


def test_report_says_how_winners_get_into_the_next_build(searched: Path) -> None:
    said = invoke("report", "--store", str(searched)).stderr
    command = f"r3 apply --search {Store.open(searched).searches.find().id} --device cpu -o tuned.r3.json"
    assert f"next: `{command} --store {searched}` takes the winners" in said


def test_report_json_is_one_document(searched: Path) -> None:
    result = invoke("report", "--store", str(searched), "--json")
    (kernel,) = json.loads(result.stdout)["kernels"]
    assert {"baseline", "best", "speedup", "candidate", "statuses"} <= kernel.keys()
    assert {"median", "low", "high", "samples"} == kernel["speedup"].keys()


def sentence(result: Result) -> str:
    assert result.exit_code != 0
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("r3: ")
    return lines[0]


def test_a_store_without_a_search(small_store: Store) -> None:
    assert "run `r3 tune` first" in sentence(invoke("report", "--store", str(small_store.path)))


def test_an_unknown_kernel(small_store: Store) -> None:
    assert "no kernel is called 'nonsense'" in sentence(invoke("tune", "nonsense", "--store", str(small_store.path)))


def test_the_wrong_kind_of_device(small_store: Store) -> None:
    result = invoke("tune", "saxpy", "--device", "cuda:0", "--store", str(small_store.path))
    assert "can be replayed on a cpu device only" in sentence(result)


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    assert "no capture store" in sentence(invoke("tune", "--store", str(tmp_path / "nowhere")))


def test_skipped_kernels_are_left_alone(small_store: Store, tmp_path: Path) -> None:
    settings = tmp_path / "r3.toml"
    settings.write_text('[[kernel]]\nname = "."\nskip = true\n')
    result = invoke("--config", str(settings), "tune", "--store", str(small_store.path))
    assert "every kernel is skipped" in sentence(result)


def test_a_bad_option_is_a_usage_error(small_store: Store) -> None:
    result = invoke("tune", "--optimizer", "magic", "--store", str(small_store.path))
    assert result.exit_code == 2
    assert "'magic' is not one of" in sentence(result)
