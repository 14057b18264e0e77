"""What the lowering refuses, and how the lowered code looks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from r3cc.llvm import CompileRequest, Passes, PassesError, PassesStatus
from r3cc.toolchain.llvm import require_clang
from tests.cpu.conftest import KERNELS, Capture, Runner
from tests.cpu.engine import Launch

UNSUPPORTED = 9
"""R3CPU_UNSUPPORTED of record_runtime/cpu/r3cpu.h."""


def mangled(kernel: str) -> str:
    return f"_Z{len(kernel)}{kernel}Pi"


@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        ("with_ptx", "it uses inline PTX 'createpolicy.fractional.L2::evict_last.b64"),
        ("with_call", "it uses the function 'elsewhere(int)', which this unit does not define"),
        ("with_instruction", "it uses the instruction 'llvm.nvvm.read.ptx.sreg.pm0'"),
        ("with_barrier", "it uses the function 'elsewhere(int)', which this unit does not define"),
    ],
)
def test_a_launch_ends_where_the_host_cannot_go_on(launch: Runner, kernel: str, says: str) -> None:
    answer = launch("unsupported.cu", Launch(mangled(kernel), (2, 1, 1), (32, 1, 1), [np.ones(64, np.int32)]))
    assert answer.status == UNSUPPORTED
    assert f"kernel '{kernel}(int*)': {says}" in answer.message
    assert "which the cpu device does not have" in answer.message


def test_other_kernels_and_other_paths_of_such_a_unit_run(launch: Runner) -> None:
    launches = [
        Launch(mangled("without"), (1, 1, 1), (32, 1, 1), [np.zeros(32, np.int32)]),
        Launch(mangled("with_ptx"), (1, 1, 1), (32, 1, 1), [np.zeros(32, np.int32)]),
    ]
    answer = launch("unsupported.cu", launches)
    assert answer.status == 0, answer.message
    assert [array[0].tolist() for array in answer.arrays] == [[1] * 32, [2] * 32]


def test_a_loop_over_threads_is_vectorised(capture: Capture) -> None:
    passes = Passes()
    lowered = passes.lower_to_host(capture("threads.cu"), "haswell")
    request = CompileRequest(pipeline="default<O3>", emit="bitcode")
    text = passes.text(passes.compile(lowered, request).output)
    entry = text[text.index("@r3cpu.entry.saxpy(") :]
    assert "<8 x float>" in entry[: entry.index("\n}")]


def test_lowering_gives_equal_bytes_each_time(capture: Capture) -> None:
    passes = Passes()
    assert passes.lower_to_host(capture("language.cu")) == passes.lower_to_host(capture("language.cu"))


def test_aliases_of_aliases_and_answers_used_twice(tmp_path: Path) -> None:
    bitcode = tmp_path / "aliases.bc"
    device = ["--target=nvptx64-nvidia-cuda", "-nogpulib", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c"]
    subprocess.run([str(require_clang().path), *device, str(KERNELS / "aliases.ll"), "-o", str(bitcode)], check=True)
    text = Passes().text(Passes().lower_to_host(bitcode.read_bytes()))
    assert "call i32 @twice(ptr" in text
    assert "reflect" not in text


@pytest.mark.parametrize(
    ("bitcode", "status"), [(b"not bitcode", PassesStatus.BAD_BITCODE), (b"", PassesStatus.BAD_BITCODE)]
)
def test_what_is_no_module_is_refused(bitcode: bytes, status: PassesStatus) -> None:
    with pytest.raises(PassesError) as error:
        Passes().lower_to_host(bitcode)
    assert error.value.status is status
