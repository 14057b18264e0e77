"""What the recorder is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from r3cc.errors import R3Error, UsageError
from r3cc.record import run
from r3cc.record.options import RecordOptions, Snapshot, recorder_environment
from r3cc.record.preload import preload
from r3cc.record.run import choose_device, joined_environment
from r3cc.record.visible import visible_device


def test_every_option_becomes_a_variable(tmp_path: Path) -> None:
    options = RecordOptions("step|flux", 5, 2, 7, Snapshot.ALL, 1 << 30, 10, "0,4-7", times_only=True, foreign=True)
    assert recorder_environment(options, tmp_path) == {
        "R3_RECORD_DIR": str(tmp_path),
        "R3_RECORD_KERNELS": "step|flux",
        "R3_RECORD_LAUNCHES": "5",
        "R3_RECORD_HELD_OUT": "2",
        "R3_RECORD_SKIP": "7",
        "R3_RECORD_SNAPSHOT": "all",
        "R3_RECORD_QUOTA_BYTES": "1073741824",
        "R3_RECORD_EVERY": "10",
        "R3_RECORD_RANKS": "0,4-7",
        "R3_RECORD_TIMES_ONLY": "1",
        "R3_RECORD_FOREIGN": "1",
    }


def test_the_default_quota_is_part_of_the_free_disk(tmp_path: Path) -> None:
    assert int(recorder_environment(RecordOptions(), tmp_path)["R3_RECORD_QUOTA_BYTES"]) > 0


@pytest.mark.parametrize("expression", ["(", "[a", "a{2"])
def test_a_bad_expression_is_a_sentence(tmp_path: Path, expression: str) -> None:
    with pytest.raises(UsageError, match="regular expression"):
        recorder_environment(RecordOptions(expression), tmp_path)


@pytest.mark.parametrize("ranks", ["a", "1,", "3-1", "-2", "1 2"])
def test_bad_ranks_are_a_sentence(tmp_path: Path, ranks: str) -> None:
    with pytest.raises(UsageError, match="list of ranks"):
        recorder_environment(RecordOptions(ranks=ranks), tmp_path)


def test_what_the_user_preloads_stays() -> None:
    joined = joined_environment({"LD_PRELOAD": "a.so", "HOME": "/h"}, {"LD_PRELOAD": "r3.so", "X": "1"})
    assert joined == {"LD_PRELOAD": "r3.so:a.so", "HOME": "/h", "X": "1"}


@pytest.mark.parametrize(
    ("given", "count", "expected"),
    [(None, 1, "cuda:0"), ("cuda:1", 2, "cuda:1"), ("cpu", 0, "cpu")],
)
def test_the_device(monkeypatch: pytest.MonkeyPatch, given: str | None, count: int, expected: str) -> None:
    monkeypatch.setattr(run, "count_cuda_devices", lambda: count)
    assert choose_device(given) == expected


@pytest.mark.parametrize(
    ("given", "count", "message"),
    [
        (None, 0, "--device cpu"),
        ("cuda:0", 0, "--device cpu"),
        ("cuda:2", 2, "no device cuda:2"),
        ("cuda:*", 2, "on one GPU"),
    ],
)
def test_a_wrong_device_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, given: str | None, count: int, message: str
) -> None:
    monkeypatch.setattr(run, "count_cuda_devices", lambda: count)
    with pytest.raises(R3Error, match=message):
        choose_device(given)


def test_amds_gpus_are_recorded_where_they_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "count_cuda_devices", lambda: 0)
    assert choose_device("hip:0") == "hip:0"


@pytest.mark.parametrize(
    ("device", "visible", "expected"),
    [("cuda:1", None, "1"), ("cuda:1", "", "1"), ("cuda:1", "4, 6", "6"), ("hip:0", "GPU-abc", "GPU-abc")],
)
def test_one_gpu_is_visible(device: str, visible: str | None, expected: str) -> None:
    assert visible_device(device, "VISIBLE", visible) == {"VISIBLE": expected}


@pytest.mark.parametrize(("device", "visible"), [("cuda:2", "0,1"), ("hip:1", "0"), ("cuda:*", None)])
def test_a_gpu_that_is_not_visible_is_a_sentence(device: str, visible: str | None) -> None:
    with pytest.raises(UsageError, match=r"no device|one GPU"):
        visible_device(device, "VISIBLE", visible)


@pytest.mark.parametrize("folder", ["my programs", "a:b"])
def test_a_library_that_cannot_be_preloaded_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    library = tmp_path / folder / "lib/r3cc/libr3record.so"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.setenv("R3_PREFIX", str(tmp_path / folder))
    with pytest.raises(R3Error, match="a blank or a colon"):
        preload("libr3record.so")
