"""The user's way, end to end, with the commands that a user types: record, ls, replay, tune, report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from r3cc.devices.count import count_cuda_devices
from tests.examples.programs import ALL, DEVICES, MINI_APPS, Example, function_name, r3, r3_json

on_each_device = pytest.mark.parametrize("device", DEVICES)
each_example = pytest.mark.parametrize("example", ALL, ids=lambda example: example.name)
each_mini_app = pytest.mark.parametrize("example", MINI_APPS, ids=lambda example: example.name)

Record = Callable[[Example, str], Path]


@on_each_device
@each_example
def test_every_launch_is_counted_and_recorded(example: Example, device: str, record: Record) -> None:
    kernels = r3_json("ls", store=record(example, device))["kernels"]
    counted = {function_name(kernel["demangled"]): kernel["launches"] for kernel in kernels}
    assert counted.items() >= example.launches.items()
    assert all(kernel["recorded"] > 0 and not kernel["not_recordable"] for kernel in kernels)
    assert all(kernel["device"] == device for kernel in kernels)
    assert sum(kernel["share"] for kernel in kernels) == pytest.approx(1.0)


@on_each_device
@each_example
def test_replay_reproduces_every_kernel(example: Example, device: str, record: Record) -> None:
    store = record(example, device)
    kernels = r3_json("ls", store=store)["kernels"]
    for kernel, passes in [*((each, ()) for each in kernels), (kernels[0], ("--passes", "default<O1>"))]:
        found = r3_json("replay", kernel["id"], "--samples", "1", *passes, store=store)
        assert found["status"] == "ok", found["message"]
        assert found["validation"]["launches"] >= kernel["recorded"] > 0


@on_each_device
def test_recorded_launches_verify(device: str, record: Record) -> None:
    done = r3("store", "verify", store=record(MINI_APPS[0], device))
    assert done.returncode == 0, done.stderr


@on_each_device
@each_mini_app
def test_tune_and_report(example: Example, device: str, own_store: Record) -> None:
    store = own_store(example, device)
    heaviest = r3_json("ls", store=store)["kernels"][0]
    tuned = r3_json("tune", heaviest["id"], "--budget", "6", "--time", "2m", "--seed", "1", store=store)
    assert [kernel["name"] for kernel in tuned["kernels"]] == [heaviest["name"]]
    assert evaluations(tuned) > 0
    assert r3_json("report", store=store) == tuned


def test_recording_without_a_gpu_names_the_cpu_device(build: Callable[[Example], Path], tmp_path: Path) -> None:
    if count_cuda_devices():
        pytest.skip("this machine has a GPU")
    done = r3("record", "--", str(build(ALL[0])), store=tmp_path / "r3-store")
    assert done.returncode != 0
    assert "--device cpu" in done.stderr
    assert "passed" not in done.stdout


def evaluations(report: dict[str, Any]) -> int:
    """Evaluations of all kernels that ended as ``ok``."""
    return sum(kernel["statuses"].get("ok", 0) for kernel in report["kernels"])
