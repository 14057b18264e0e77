"""``r3 ls`` and ``r3 store``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from r3cc.store import Store
from tests.cli.conftest import R3
from tests.conftest import SAXPY
from tests.store.test_binary import build

KEYS = ["id", "name", "demangled", "module", "device", "share", "total_ms", "launches", "recorded", "not_recordable"]


def test_the_table(run_r3: R3, small_store: Store) -> None:
    result = run_r3("ls")
    assert result.exit_code == 0
    header, first, second = result.stdout.splitlines()
    assert header.split() == ["id", "kernel", "share", "total", "launches", "recorded", "not", "recordable"]
    assert first.startswith(small_store.find_kernel("saxpy").id)
    assert first.split()[1:] == ["saxpy", "75.0%", "3", "us", "10", "1"]
    assert "10: texture over an array" in second
    assert result.stderr == ""


def test_the_json_has_the_keys_that_scripts_rely_on(run_r3: R3, small_store: Store) -> None:
    document = json.loads(run_r3("ls", "--json").stdout)
    assert list(document) == ["kernels"]
    saxpy = document["kernels"][0]
    assert list(saxpy) == KEYS
    assert (saxpy["name"], saxpy["share"], saxpy["total_ms"], saxpy["recorded"]) == (SAXPY, 0.75, 0.003, 1)
    assert saxpy["not_recordable"] == []


def test_an_empty_store_is_one_sentence(run_r3: R3, tmp_path: Path) -> None:
    Store.create(tmp_path / "r3-store").close()
    for arguments in (["ls"], ["show", "saxpy"], ["ls", "--json"]):
        result = run_r3(*arguments)
        assert result.exit_code == 1
        assert "is empty: record a run with `r3 record -- app` first" in result.stderr
        assert result.stderr.count("\n") == 1


def test_no_store_is_one_sentence(run_r3: R3) -> None:
    for arguments in (["ls"], ["store", "ls"], ["store", "verify"], ["store", "gc"], ["store", "rm", "x"]):
        result = run_r3(*arguments)
        assert result.exit_code == 1
        assert "r3: there is no capture store in" in result.stderr


def test_a_newer_store_is_one_sentence(run_r3: R3, small_store: Store) -> None:
    (small_store.path / "FORMAT").write_text('{"format": "r3-store", "version": 2}')
    result = run_r3("ls")
    assert result.exit_code == 1
    assert "has format version 2, this R3 reads up to 1" in result.stderr


def test_an_unknown_recording_is_one_sentence(run_r3: R3, small_store: Store) -> None:
    result = run_r3("ls", "--recording", "zzz")
    assert result.exit_code == 1
    assert "'zzz' names no recording; there are: 20260102-030405-abcd" in result.stderr


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_what_a_binary_carries(run_r3: R3, tmp_path: Path) -> None:
    binary = build(tmp_path)
    (module,) = json.loads(run_r3("ls", "--binary", str(binary), "--json").stdout)["modules"]
    assert (module["architecture"], module["kernels"]) == ("sm_90", [])
    assert "sm_90" in run_r3("ls", "--binary", str(binary)).stdout
    plain = run_r3("ls", "--binary", "/bin/true")
    assert plain.exit_code == 0
    assert "carries no device module; build it with r3-clang++" in plain.stderr
    assert "cannot read" in run_r3("ls", "--binary", "no-such-file").stderr


def test_recordings_are_listed_and_removed(run_r3: R3, small_store: Store) -> None:
    assert "20260102-030405-abcd" in run_r3("store", "ls").stdout
    (recording,) = json.loads(run_r3("store", "ls", "--json").stdout)["recordings"]
    assert (recording["kernels"], recording["recorded"], recording["exit_status"]) == (2, 1, 0)
    result = run_r3("store", "rm", "abcd")
    assert result.exit_code == 0
    assert small_store.recordings() == []
    assert "is empty" in run_r3("store", "ls").stderr


def test_a_damaged_recording_is_removed_as_it_says(run_r3: R3, small_store: Store) -> None:
    (small_store.recording_path("20260102-030405-abcd") / "recording.json").write_text("{")
    said = run_r3("ls").stderr
    assert "`r3 store rm 20260102-030405-abcd` removes the recording" in said
    assert run_r3("store", "rm", "20260102-030405-abcd").exit_code == 0
    assert "is empty" in run_r3("store", "ls").stderr


def test_a_recording_that_is_searched_is_not_removed(run_r3: R3, small_store: Store) -> None:
    search = small_store.searches.create()
    with search.open_log() as log:
        log.append({"event": "begin", "recording": "20260102-030405-abcd"})
        refused = run_r3("store", "rm", "abcd")
        assert (refused.exit_code, f"the search {search.id} is running" in refused.stderr) == (1, True)
    assert run_r3("store", "rm", "abcd").exit_code == 0


def test_verify_says_what_it_found(run_r3: R3, small_store: Store) -> None:
    assert "sound: 1 pack," in run_r3("store", "verify").stderr
    (pack,) = small_store.recording_path("20260102-030405-abcd").glob("*.r3pack")
    content = pack.read_bytes()
    pack.write_bytes(content + b"R3PK and no more")
    torn = run_r3("store", "verify")
    assert torn.exit_code == 0
    assert "torn tail: the last 16 bytes are dropped" in torn.stderr
    in_first_chunk = content.index(b"R3PK", 1) + 45
    pack.write_bytes(content[:in_first_chunk] + b"?" + content[in_first_chunk + 1 :])
    damaged = run_r3("store", "verify", "--json")
    assert damaged.exit_code == 1
    assert json.loads(damaged.stdout)["sound"] is False
    assert "missing: module" in run_r3("store", "verify").stderr


def test_gc_says_what_it_frees(run_r3: R3, small_store: Store) -> None:
    (small_store.path / "cache").mkdir()
    (small_store.path / "cache/x").write_bytes(bytes(2048))
    assert "would free 0 B in packs and 2.0 KiB in the cache" in run_r3("store", "gc", "--dry-run").stderr
    assert "freed 0 B in packs and 2.0 KiB in the cache" in run_r3("store", "gc").stderr
    assert not (small_store.path / "cache").exists()
