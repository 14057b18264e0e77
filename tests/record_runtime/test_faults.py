"""What stays readable when the program, the disk or the process goes away."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from r3cc.store import Store
from r3cc.store.verify import verify
from tests.record_runtime.bench import Bench, Recorded
from tests.record_runtime.build_programs import SCALE, SPIN


@pytest.mark.parametrize("seed", range(4))
def test_killed_program_leaves_what_was_complete(bench: Bench, seed: int) -> None:
    path = bench.folder / "killed"
    many = {"R3_RECORD_LAUNCHES": "1"}
    with bench.start(path, bench.programs.dynamic, "large", "1000", **many) as process:
        assert process.stdout is not None
        for _ in range(random.Random(seed).randint(2, 9)):
            process.stdout.readline()
        process.kill()
    report = verify(bench.open(path))
    assert report.sound
    assert report.killed
    assert report.packs[0].documents >= 2


def test_full_disk_stops_recording_and_nothing_else(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "filelimit", "12")
    assert recorded.status == 0
    assert recorded.output == bench.plain(bench.programs.dynamic, "large", "12")
    (message,) = recorded.messages.splitlines()
    assert message.startswith("r3: recording stopped") and "File too large" in message
    report = verify(recorded.store)
    assert report.sound and report.packs[0].torn is None
    assert 0 < recorded.kernel(SCALE).recorded == len(recorded.launches(SCALE)) < 12


def test_quota_stops_recording(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "large", "12", R3_RECORD_QUOTA_BYTES="16000000")
    (message,) = recorded.messages.splitlines()
    assert "it reached its size limit" in message
    kernel = recorded.kernel(SCALE)
    assert kernel.launches == 12
    assert 0 < kernel.recorded == len(recorded.launches(SCALE)) < 12
    report = verify(recorded.store)
    assert report.sound and not report.killed
    assert report.packs[0].bytes < 16_100_000


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_full_file_system(bench: Bench, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], stderr=subprocess.DEVNULL)
    if mounted.returncode:
        pytest.skip("no right to mount")
    try:
        with bench.start(folder / "store", bench.programs.dynamic, "large", "12") as process:
            _, messages = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "No space left on device" in messages
        with Store.open(folder / "store") as store:  # there is no room for its index
            assert verify(store).sound
            assert 0 < store.find_kernel(SCALE).recorded == len(store.launches(store.find_kernel(SCALE)))
    finally:
        subprocess.run(["umount", folder], check=True)


def test_forked_child_leaves_the_pack_alone(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "fork", "10")
    assert recorded.output == bench.plain(bench.programs.dynamic, "fork", "10")
    report = verify(recorded.store)
    assert report.sound and not report.killed
    assert [pack.torn for pack in report.packs] == [None]
    assert recorded.kernel(SCALE).launches == 20


def test_exit_without_destructors_is_complete(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "_exit", "10")
    assert recorded.status == 7
    assert not verify(recorded.store).killed
    assert (recorded.kernel(SCALE).launches, recorded.kernel(SCALE).timed) == (10, 10)


def test_exit_in_a_handler_does_not_wait_for_the_thread_that_it_interrupts(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "alarmed", "80", FAKE_CUDA_ALARM="1")
    assert recorded.status == 7
    assert recorded.kernel(SCALE).launches > 0


def test_memory_can_be_freed_after_the_recording_has_ended(bench: Bench) -> None:
    library = bench.folder / "libfarewell.so"
    source = "void (*atUnload)(); __attribute__((destructor)) static void leave() { if (atUnload) atUnload(); }"
    subprocess.run(["g++", "-shared", "-fPIC", "-xc", "-", "-o", library], input=source, text=True, check=True)
    recorded = bench.record(bench.programs.dynamic, "farewell", "10", FAREWELL=str(library))
    assert recorded.output == bench.plain(bench.programs.dynamic, "farewell", "10", FAREWELL=str(library))
    assert recorded.output.endswith("freed with 0\n")
    assert not verify(recorded.store).killed


def ended_by(bench: Bench, scenario: str, ending: signal.Signals) -> Recorded:
    """A recorded run that gets a signal once it has said that it is ready."""
    path = bench.folder / "signalled"
    with bench.start(path, bench.programs.dynamic, scenario, "10") as process:
        assert process.stdout is not None
        while process.stdout.readline() != "ready\n":
            pass
        process.send_signal(ending)
        output, messages = process.communicate(timeout=60)
    return Recorded(process.returncode, output, messages, bench.open(path))


def wait_for_launches(store: Path, kernel: str, count: int) -> None:
    """Until so many launches of a kernel can be read: they are written beside the program."""
    end = time.monotonic() + 60
    while True:
        with Store.open(store) as opened:
            if sum(len(opened.launches(each)) for each in opened.kernels() if each.name == kernel) == count:
                return
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_a_launch_that_runs_when_the_program_ends_is_said_to(bench: Bench, ending: signal.Signals) -> None:
    recorded = ended_by(bench, "stuck", ending)
    assert recorded.status == -ending
    assert recorded.kernel(SPIN).recorded == 0
    assert recorded.refusals(SPIN) == {"it was still running when the program ended": 1}


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_recording_first(bench: Bench, ending: signal.Signals) -> None:
    recorded = ended_by(bench, "waiting", ending)
    assert recorded.status == -ending
    report = verify(recorded.store)
    assert report.sound and not report.killed
    assert (recorded.kernel(SCALE).launches, recorded.kernel(SCALE).timed) == (10, 10)


def test_a_program_keeps_its_own_handler(bench: Bench) -> None:
    recorded = ended_by(bench, "warned", signal.SIGUSR1)
    assert recorded.status == 0
    assert not verify(recorded.store).killed
    assert recorded.kernel(SCALE).launches == 10


def test_a_signal_to_a_forked_child_is_the_childs(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "endedchild", "10")
    assert recorded.output == bench.plain(bench.programs.dynamic, "endedchild", "10")
    assert "child ended by 15" in recorded.output
    assert not verify(recorded.store).killed
    assert recorded.kernel(SCALE).launches == 20


def test_launches_of_static_destructors_are_recorded(bench: Bench) -> None:
    recorded = bench.record(bench.programs.dynamic, "late", "10")
    assert recorded.output == bench.plain(bench.programs.dynamic, "late", "10")
    assert not verify(recorded.store).killed
    assert (recorded.kernel(SCALE).launches, recorded.kernel(SCALE).recorded) == (10, 3)


def test_a_crash_leaves_what_was_complete(bench: Bench) -> None:
    path = bench.folder / "crashed"
    with bench.start(path, bench.programs.dynamic, "waiting", "10") as process:
        wait_for_launches(path, SCALE, 3)
        process.send_signal(signal.SIGABRT)
        output, messages = process.communicate(timeout=60)
    recorded = Recorded(process.returncode, output, messages, bench.open(path))
    assert recorded.status == -signal.SIGABRT
    report = verify(recorded.store)
    assert report.sound and report.killed
    assert len(recorded.launches(SCALE)) == 3


def test_a_quota_holds_for_all_processes_of_a_recording(bench: Bench) -> None:
    path = bench.folder / "job"
    for _ in range(3):
        with bench.start(path, bench.programs.dynamic, "large", "12", R3_RECORD_QUOTA_BYTES="20000000") as process:
            process.communicate(timeout=60)
    packs = verify(bench.open(path)).packs
    assert len(packs) == 3
    assert 10_000_000 < sum(pack.bytes for pack in packs) < 20_200_000


def test_unwritable_recording_leaves_the_program_alone(bench: Bench) -> None:
    environment = bench.environment(LD_PRELOAD=str(bench.recorder), R3_RECORD_DIR="/nonexistent/recording")
    done = subprocess.run([bench.programs.dynamic, "basic"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout == bench.plain(bench.programs.dynamic, "basic")
    assert done.stderr.startswith("r3: can't write a recording in '/nonexistent/recording': No such file or directory")
