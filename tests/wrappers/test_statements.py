"""The page that says where each statement about the compilers is tested names tests that are there."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "lit/wrappers"
SUFFIXES = (".test", ".cu", ".c")


def rows() -> dict[int, list[str]]:
    """Number of a statement, and the names of its tests."""
    cells = (line.split("|") for line in (FOLDER / "STATEMENTS.md").read_text().splitlines() if line.startswith("|"))
    return {int(row[1]): row[3].strip().split(", ") for row in cells if row[1].strip().isdigit()}


def test_each_statement_has_tests_and_each_is_there() -> None:
    statements = rows()
    assert sorted(statements) == list(range(1, 27))
    names = {name for tests in statements.values() for name in tests}
    missing = {name for name in names if not any((FOLDER / (name + suffix)).is_file() for suffix in SUFFIXES)}
    assert missing == set()
