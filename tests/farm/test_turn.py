"""Turns on a device, between processes."""

import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from r3cc.farm import turn as turns
from r3cc.farm.turn import DeviceTurn
from r3cc.replay.stages import Stage
from tests.python_path import python_path

HOLDER = """
import sys
from contextlib import nullcontext
from pathlib import Path
from r3cc.farm.turn import DeviceTurn
class Watch:
    def stage(self, stage, seconds):
        return nullcontext()
with DeviceTurn("GPU-1", Path(sys.argv[1])).taken(Watch()):
    print("taken", flush=True)
    sys.stdin.readline()
"""


class Watch:
    def __init__(self):
        self.stages = []

    @contextmanager
    def stage(self, stage, seconds):
        self.stages.append(stage)
        yield


@pytest.fixture
def holder(tmp_path):
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"PYTHONPATH": python_path()}
    )
    assert process.stdout.readline() == b"taken\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("end", [lambda process: process.communicate(b"\n"), lambda process: process.kill()])
def test_a_process_waits_for_the_other_one_even_if_that_dies(tmp_path, holder, end):
    had = threading.Event()

    def take():
        with DeviceTurn("GPU-1", tmp_path).taken(Watch()):
            had.set()

    thread = threading.Thread(target=take)
    thread.start()
    assert not had.wait(0.3)
    end(holder)
    assert had.wait(60)
    thread.join()


def test_a_process_that_is_stuck_is_not_waited_for_for_ever(tmp_path, holder, monkeypatch):
    monkeypatch.setattr(turns, "LONGEST_WAIT_S", 0.1)
    watch = Watch()
    with DeviceTurn("GPU-1", tmp_path).taken(watch):
        assert watch.stages == [Stage.TURN]


def test_other_devices_and_devices_without_a_name_are_not_waited_for(tmp_path, holder):
    watch = Watch()
    with DeviceTurn("GPU-2", tmp_path).taken(watch), DeviceTurn("", tmp_path).taken(watch):
        assert watch.stages == [Stage.TURN]


def test_a_folder_that_cannot_be_had_is_as_no_turns(tmp_path):
    (tmp_path / "file").touch()
    watch = Watch()
    for _ in range(2):
        with DeviceTurn("GPU-1", tmp_path / "file").taken(watch):
            assert watch.stages.pop() is Stage.TURN
