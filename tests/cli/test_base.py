"""The base of the command line: verbs, settings, messages."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

import r3cc
from r3cc.cli import VERBS, r3
from r3cc.cli.options import Dimensions, Duration, Size
from r3cc.cli.settings import KernelSetting, Settings, current_settings
from r3cc.store import Store
from tests.cli.conftest import R3


def test_help_lists_every_verb(run_r3: R3) -> None:
    result = run_r3("--help")
    assert result.exit_code == 0
    assert all(verb in result.output for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_a_command(verb: str) -> None:
    command = r3.get_command(click.Context(r3), verb)
    assert command is not None
    assert command.name == verb
    assert command.get_short_help_str()


def test_the_version_is_the_packages(run_r3: R3) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert run_r3("--version").stdout == f"r3 {project['version']}\n"
    assert r3cc.__version__ == project["version"]


@pytest.mark.parametrize("module", ["r3cc.cli.ls", "r3cc.cli.record", "r3cc.cli.show", "r3cc.farm.compile_worker"])
def test_what_reads_no_memory_starts_without_numpy(module: str) -> None:
    code = f"import sys, {module}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2]).returncode == 0


def test_an_unknown_verb_is_one_sentence(run_r3: R3) -> None:
    result = run_r3("frobnicate")
    assert result.exit_code == 2
    assert result.stderr.startswith("r3: No such command 'frobnicate'")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_an_unknown_option_names_the_help(run_r3: R3) -> None:
    result = run_r3("ls", "--frobnicate")
    assert result.exit_code == 2
    assert "r3: No such option" in result.stderr
    assert "`r3 ls --help`" in result.stderr


def test_an_interrupt_is_quiet(run_r3: R3, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(path: Path) -> Store:
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "open", interrupt)
    result = run_r3("ls")
    assert result.exit_code == 130
    assert result.output.strip() == ""


def test_a_deleted_working_directory_is_one_sentence(
    run_r3: R3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    result = run_r3("ls")
    assert result.exit_code == 1
    assert result.stderr == "r3: the working directory has been deleted: go to one that is there\n"


@pytest.mark.parametrize("option", ["--rtol", "--atol"])
def test_a_tolerance_is_a_number(option: str, run_r3: R3) -> None:
    """Comparisons with nan are false: some would accept anything."""
    for verb in ("tune", "replay", "remix"):
        result = run_r3(verb, "k", option, "nan")
        assert result.exit_code == 2
        assert "'nan' is not a number" in result.stderr
    assert "'nan' is not a number" in run_r3("remix", "--max-cost", "nan").stderr
    assert "'nan' is not a number" in run_r3("check", "--min-speedup", "nan").stderr


def test_the_store_comes_from_the_command_line_then_the_variable_then_the_file(run_r3: R3, tmp_path: Path) -> None:
    assert "r3-store" in run_r3("ls").stderr
    (tmp_path / "r3.toml").write_text('[ls]\nstore = "from-file"\n')
    assert "from-file" in run_r3("ls").stderr
    assert "from-variable" in run_r3("ls", R3_STORE="from-variable").stderr
    assert "from-option" in run_r3("ls", "--store", "from-option", R3_STORE="from-variable").stderr


def test_a_shared_option_may_stand_at_the_top(run_r3: R3, tmp_path: Path) -> None:
    (tmp_path / "r3.toml").write_text('store = "shared"\n[ls]\nstore = "own"\n')
    assert "own" in run_r3("ls").stderr
    assert "shared" in run_r3("store", "ls").stderr


def test_another_file_can_be_named(run_r3: R3, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('[ls]\nstore = "from-other"\n')
    assert "from-other" in run_r3("--config", "other.toml", "ls").stderr
    assert "from-other" in run_r3("ls", R3_CONFIG="other.toml").stderr
    missing = run_r3("--config", "missing.toml", "ls")
    assert (missing.exit_code, missing.stderr) == (
        2,
        "r3: cannot read the settings file missing.toml: No such file or directory\n",
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[frobnicate]\n", "unknown key 'frobnicate' at the top"),
        ("colour = 1\n", "unknown key 'colour' at the top"),
        ("[ls]\ncolour = 1\n", "unknown key 'colour' in [ls]; keys are binary, json, recording, store"),
        ("[store.ls]\ncolour = 1\n", "unknown key 'colour' in [store.ls]"),
        ("[record]\nlaunches = 'many'\n", "record.launches = 'many'"),
        ("[record]\nquota = 'much'\n", "'much' is not a size"),
        ("[[kernel]]\nname = 'a'\ncolour = 1\n", "[[kernel]]: Object contains unknown field `colour`"),
        ("[[kernel]]\nskip = true\n", "missing required field `name`"),
        ("[[kernel]]\nname = '('\n", "not a regular expression"),
        ("[[kernel]]\nname = 'a'\nnumerics = 'loose'\n", "numerics 'loose' is unknown"),
        ('[[kernel]]\nname = "k"\nrtol = nan\n', "Expected `float` >= 0.0"),
        ("kernel = 1\n", "[[kernel]]: Expected `array`"),
        ("= 1\n", "is not TOML"),
    ],
)
def test_a_bad_settings_file_is_one_sentence(run_r3: R3, tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "r3.toml").write_text(content)
    result = run_r3("ls")
    assert result.exit_code == 2
    assert result.stderr.startswith("r3: r3.toml")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_kernel_settings_reach_the_verbs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r3.toml").write_text(
        '[[kernel]]\nname = "saxpy"\nrtol = 1e-3\n[[kernel]]\nname = "^_Z6"\nskip = true\n'
    )
    with r3.make_context("r3", ["ls"], auto_envvar_prefix="R3") as context:
        context.invoke(r3.callback or pytest.fail, config=None)
        settings = current_settings()
    assert settings.for_kernel("_Z5saxpyv", "saxpy()") == KernelSetting("saxpy", rtol=1e-3)
    assert settings.for_kernel("_Z6reducev", "reduce()") == KernelSetting("^_Z6", skip=True)
    assert settings.for_kernel("_Z4flux", "flux()") is None
    assert current_settings() == Settings()


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15m", 900), ("2h", 7200), ("1.5m", 90), ("250ms", 0.25)])
def test_durations(text: str, seconds: float) -> None:
    assert Duration()(text) == seconds


@pytest.mark.parametrize("text", ["90", "s", "-1s", "2d", "1m30s", "", "0s"])
def test_bad_durations(text: str) -> None:
    with pytest.raises(click.BadParameter, match="90s, 15m or 2h"):
        Duration()(text)


@pytest.mark.parametrize(("text", "size"), [("512", 512), ("1K", 1024), ("20G", 20 << 30), ("1.5MiB", 1572864)])
def test_sizes(text: str, size: int) -> None:
    assert Size()(text) == size


@pytest.mark.parametrize(("text", "extents"), [("256", (256, 1, 1)), ("16,8", (16, 8, 1)), ("8,4,2", (8, 4, 2))])
def test_dimensions(text: str, extents: tuple[int, int, int]) -> None:
    assert Dimensions()(text) == extents


@pytest.mark.parametrize("text", ["0", "1,2,3,4", "a", "1,,2", "-1"])
def test_bad_dimensions(text: str) -> None:
    with pytest.raises(click.BadParameter, match="positive numbers"):
        Dimensions()(text)


def test_a_full_output_is_one_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-c", "from r3cc.cli import main; main()", "--help"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "r3: cannot write: No space left on device\n")
