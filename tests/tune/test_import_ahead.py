"""A slow import goes on beside other work, is there afterwards, and leaves its errors to who imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from r3cc.tune.import_ahead import imported_ahead


def test_a_module_is_imported_beside_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_module.py").write_text(
        "import pathlib, time\n"
        "here = pathlib.Path(__file__).parent\n"
        "while not (here / 'go').exists():\n"
        "    time.sleep(0.01)\n"
        "value = 7\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with imported_ahead("slow_module"):
        (tmp_path / "go").touch()  # reached while the module waits for it
        import slow_module  # type: ignore[import-not-found]

        assert slow_module.value == 7
    del sys.modules["slow_module"]


def test_an_interrupt_ends_the_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "endless_module.py").write_text("import time\nwhile True:\n    time.sleep(0.01)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt), imported_ahead("endless_module"):
        raise KeyboardInterrupt
    assert "endless_module" not in sys.modules


def test_what_cannot_be_imported_is_an_error_where_it_is_needed(tmp_path: Path) -> None:
    with imported_ahead("no_such_module_anywhere"):
        pass
    with pytest.raises(ModuleNotFoundError):
        import no_such_module_anywhere  # type: ignore[import-not-found]  # noqa: F401


def test_a_search_asks_nevergrad_only_when_the_launch_was_tried() -> None:
    """The arms are made, and the launch's settings asked for, without it."""
    program = (
        "import sys\n"
        "from tests.tune.synthetic import space\n"
        "from r3cc.tune.proposers import r3_proposer\n"
        "proposer = r3_proposer(space(), 1, 3)\n"
        "for _ in range(2): proposer.tell(proposer.ask().ticket, -0.1)\n"
        "assert 'nevergrad' not in sys.modules\n"
        "while proposer.ask().source == 'launch': pass\n"
        "assert 'nevergrad' in sys.modules\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
