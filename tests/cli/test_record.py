"""``r3 record`` with a program that writes a recording as the recorder would."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from r3cc.record import run
from r3cc.store import Store
from tests.cli.conftest import R3

APPLICATION = """
import os, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.store.pack_writer import PackWriter
pack = PackWriter(Path(os.environ["R3_RECORD_DIR"]) / "node1-1-1.r3pack")
pack.process(device="cuda:0")
{body}
print("application output")
sys.exit({status})
"""
KERNELS = """
module = pack.module(b"BC")
pack.kernel(module, "_Z4stepv", launches=100, recorded=3, not_recordable=[{"reason": "managed memory", "launches": 7}])
pack.launch(module, "_Z4stepv")
pack.end()
"""
FOREIGN = 'pack.kernel("foreign:1", "gemm", launches=5, recorded=0)\npack.end()\n'
WITHOUT_MODULE = 'pack.kernel("ab" * 32, "_Z4stepv", launches=5, recorded=0)\npack.end()\n'


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One GPU, and a library to preload that does nothing."""
    monkeypatch.setattr(run, "count_cuda_devices", lambda: 1)
    library = tmp_path / "prefix/lib/r3cc/libr3record.so"
    library.parent.mkdir(parents=True)
    source = next(Path("/lib/x86_64-linux-gnu").glob("libm.so.6"), None) or Path(shutil.which("true") or "")
    library.symlink_to(source)
    monkeypatch.setenv("R3_PREFIX", str(tmp_path / "prefix"))


def application(folder: Path, body: str = KERNELS, status: int = 0) -> list[str]:
    root = str(Path(__file__).parents[2])
    (folder / "app.py").write_text(APPLICATION.format(root=root, body=body, status=status))
    return [sys.executable, str(folder / "app.py")]


def test_a_run_is_recorded_and_summed_up(run_r3: R3, tmp_path: Path) -> None:
    result = run_r3("record", "--", *application(tmp_path))
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "1 kernel, 100 launches seen, 3 recorded" in result.stderr
    assert "1.01x slower for snapshots" in result.stderr
    assert "not recordable: 7 launches: managed memory" in result.stderr
    assert "next: `r3 ls`" in result.stderr
    assert all(line.startswith("r3: ") for line in result.stderr.splitlines())
    with Store.open(tmp_path / "r3-store") as store:
        recording = store.recording()
        assert recording.command[1].endswith("app.py")
        assert (recording.exit_status, recording.device) == (0, "cuda:0")
        assert recording.wall_ns > 0
        assert len(store.kernels()) == 1


@pytest.mark.parametrize("status", [3, 255])
def test_the_exit_status_is_the_applications(run_r3: R3, tmp_path: Path, status: int) -> None:
    assert run_r3("record", "--", *application(tmp_path, status=status)).exit_code == status


def test_a_high_exit_status_is_no_signal(run_r3: R3, tmp_path: Path) -> None:
    result = run_r3("record", "--", *application(tmp_path, status=255))
    assert result.exit_code == 255
    assert "exit status 255" in result.stderr


def test_a_signal_ends_r3_with_128_and_its_number(run_r3: R3) -> None:
    result = run_r3("record", "--", "sh", "-c", "kill -SEGV $$")
    assert result.exit_code == 139
    assert "ended by signal 11" in result.stderr


def test_a_program_without_notes_is_told_what_to_build_it_with(run_r3: R3, tmp_path: Path) -> None:
    result = run_r3("record", "--", *application(tmp_path, FOREIGN))
    assert result.exit_code == 0
    assert "carries R3's note; build it with r3-clang++" in result.stderr


def test_a_program_whose_module_had_no_room_is_not_told_to_be_built_again(run_r3: R3, tmp_path: Path) -> None:
    result = run_r3("record", "--", *application(tmp_path, WITHOUT_MODULE))
    assert result.exit_code == 0
    assert "r3-clang++" not in result.stderr


def test_a_program_without_device_work_is_told_so(run_r3: R3) -> None:
    result = run_r3("record", "--", "true")
    assert result.exit_code == 0
    assert "nothing was recorded: true did not use the device" in result.stderr


def test_another_store_is_named_in_what_comes_next(run_r3: R3, tmp_path: Path) -> None:
    result = run_r3("record", "--store", "my store", "--", *application(tmp_path))
    assert "next: `r3 ls --store 'my store'`" in result.stderr


def test_options_of_the_application_are_its_own(run_r3: R3, tmp_path: Path) -> None:
    script = f'echo "$@" >{tmp_path}/arguments; printenv R3_RECORD_KERNELS R3_RECORD_SNAPSHOT >>{tmp_path}/arguments'
    run_r3("record", "--kernels", "a|b", "--snapshot", "all", "sh", "-c", script, "sh", "--kernels", "x", "--", "y")
    assert (tmp_path / "arguments").read_text() == "--kernels x -- y\na|b\nall\n"


def test_no_gpu_names_the_cpu_device(run_r3: R3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run, "count_cuda_devices", lambda: 0)
    result = run_r3("record", "--", "true")
    assert result.exit_code == 1
    assert "`r3 record --device cpu -- app`" in result.stderr
    assert json.loads((tmp_path / "r3-store/FORMAT").read_text())["version"] == 1
    assert list((tmp_path / "r3-store/recordings").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--", "no-such-app"], 1, "there is no program 'no-such-app'"),
        (["--device", "tpu", "--", "true"], 2, "'tpu' is not a device"),
        (["--device", "cuda:5", "--", "true"], 1, "there is no device cuda:5"),
        (["--kernels", "(", "--", "true"], 2, "regular expression"),
        (["--quota", "much", "--", "true"], 2, "'much' is not a size"),
        ([], 2, "Missing argument"),
    ],
)
def test_bad_input_is_one_sentence(run_r3: R3, arguments: list[str], status: int, message: str) -> None:
    result = run_r3("record", *arguments)
    assert result.exit_code == status
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("r3: ")


def test_a_missing_recorder_is_one_sentence(run_r3: R3, tmp_path: Path) -> None:
    (tmp_path / "prefix/lib/r3cc/libr3record.so").unlink()
    result = run_r3("record", "--", "true")
    assert result.exit_code == 1
    assert "libr3record.so was not found" in result.stderr
