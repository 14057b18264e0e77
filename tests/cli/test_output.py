"""Tables on terminals of any width."""

from __future__ import annotations

import io

import pytest
from rich.table import Table

from r3cc.cli.output import FOLDED, print_table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [10, 40, 200])
def test_nothing_is_cut_off_however_narrow_the_terminal_is(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    table = Table(box=None, pad_edge=False)
    table.add_column("id", no_wrap=True)
    table.add_column("kernel", overflow="fold")
    table.add_column("launches", justify="right", no_wrap=True)
    name = "abcdefghij" * 3
    table.add_row("371061a7f6cb", name, "40")
    print_table(table)
    text = screen.getvalue()
    assert "…" not in text
    assert "371061a7f6cb" in text and "launches" in text and "40" in text
    assert name in text if columns == 200 else name[:FOLDED] in text
