from __future__ import annotations

import re

import pytest

from r3cc.llvm import Passes, PassesError, PassesStatus
from r3cc.llvm.model import SpecialiseRequest
from tests.llvm.compiler import baseline, compile_one
from tests.llvm.conftest import Capture

SAXPY = "_Z5saxpyifPKfPf"


def ptx(passes: Passes, bitcode: bytes, kernel: str, **wanted: object) -> str:
    special = passes.specialise(passes.extract(bitcode, kernel), SpecialiseRequest(kernel, **wanted))  # type: ignore[arg-type]
    return compile_one(special, baseline(3)).output.decode()


def test_arguments_become_constants_and_parameters_keep_their_layout(passes: Passes, pipeline_start: Capture) -> None:
    bitcode = pipeline_start("saxpy.cu", 3)
    plain = ptx(passes, bitcode, SAXPY)
    fixed = ptx(passes, bitcode, SAXPY, arguments=("0=e8030000", "1=00000040"))
    parameters = re.findall(r"\.param (.*)", plain.split(")")[0])
    assert re.findall(r"\.param (.*)", fixed.split(")")[0]) == parameters
    assert f"[{SAXPY}_param_0]" in plain
    assert f"[{SAXPY}_param_0]" not in fixed
    assert f"[{SAXPY}_param_1]" not in fixed
    assert re.search(r"\b(1000|999)\b", fixed)
    assert "0f40000000" in fixed


def test_launch_dimensions_become_constants(passes: Passes, pipeline_start: Capture) -> None:
    bitcode = pipeline_start("saxpy.cu", 3)
    assert "%ntid.x" in ptx(passes, bitcode, SAXPY)
    fixed = ptx(passes, bitcode, SAXPY, block="128,1,1", grid="8,1,1")
    assert "%ntid" not in fixed
    assert "%nctaid" not in fixed


@pytest.mark.parametrize(
    ("wanted", "part"),
    [
        ({"arguments": ("9=00000000",)}, "no parameter"),
        ({"arguments": ("0=zz",)}, "no parameter"),
        ({"arguments": ("0=0000",)}, "no scalar and no struct without pointers of 2 bytes"),
        ({"arguments": ("2=0000000000000000",)}, "no scalar and no struct without pointers of 8 bytes"),
        ({"block": "128"}, "no three extents"),
        ({"grid": "1,0,1"}, "no three extents"),
    ],
)
def test_what_cannot_be_constant_is_said(
    passes: Passes, pipeline_start: Capture, wanted: dict[str, object], part: str
) -> None:
    with pytest.raises(PassesError, match=part) as caught:
        ptx(passes, pipeline_start("saxpy.cu", 3), SAXPY, **wanted)
    assert caught.value.status is PassesStatus.BAD_REQUEST
