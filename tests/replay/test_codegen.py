"""What a candidate's options make of the recorded build's own."""

from __future__ import annotations

import pytest

from r3cc.llvm import CompileRequest
from r3cc.replay.codegen import BuildOptions


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        (("-O3",), ("-O3", "--maxrregcount=24")),
        (("-O3", "--maxrregcount=64", "-lineinfo"), ("-O3", "-lineinfo", "--maxrregcount=24")),
        (("-O3", "--maxrregcount", "64", "-lineinfo"), ("-O3", "-lineinfo", "--maxrregcount=24")),
        (("-O3", "-maxrregcount", "64"), ("-O3", "--maxrregcount=24")),
    ],
)
def test_a_flag_of_ptxas_is_replaced_with_its_value(recorded: tuple[str, ...], expected: tuple[str, ...]) -> None:
    build = BuildOptions(CompileRequest(pipeline="default<O3>"), recorded)
    assert build.changed(None, (("maxrregcount", "24"),)).ptxas == expected
