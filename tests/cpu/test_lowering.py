"""What the lowering refuses, and how the lowered code looks."""

from __future__ import annotations

import pytest

from r3cc.llvm import CompileRequest, Passes, PassesError, PassesStatus
from r3cc.toolchain.disassemble import disassemble
from tests.cpu.conftest import Capture


@pytest.mark.parametrize(
    ("macro", "says"),
    [
        ("INLINE_PTX", "kernel 'with_ptx(int*)' uses inline PTX 'prmt.b32"),
        ("CALL", "kernel 'with_call(int*)' uses the function 'elsewhere(int)'"),
        ("INSTRUCTION", "kernel 'with_instruction(int*)' uses the instruction 'llvm.nvvm.read.ptx.sreg.pm0'"),
    ],
)
def test_what_the_host_cannot_do_is_named(capture: Capture, macro: str, says: str) -> None:
    with pytest.raises(PassesError) as error:
        Passes().lower_to_host(capture("unsupported.cu", f"-D{macro}"))
    assert error.value.status is PassesStatus.UNSUPPORTED
    assert says in str(error.value)


def test_a_loop_over_threads_is_vectorised(capture: Capture) -> None:
    passes = Passes()
    lowered = passes.lower_to_host(capture("threads.cu"), "haswell")
    request = CompileRequest(pipeline="default<O3>", emit="bitcode")
    text = disassemble(passes.compile(lowered, request).output)
    entry = text[text.index("@r3cpu.entry.saxpy(") :]
    assert "<8 x float>" in entry[: entry.index("\n}")]


def test_lowering_gives_equal_bytes_each_time(capture: Capture) -> None:
    passes = Passes()
    assert passes.lower_to_host(capture("language.cu")) == passes.lower_to_host(capture("language.cu"))


@pytest.mark.parametrize(
    ("bitcode", "status"), [(b"not bitcode", PassesStatus.BAD_BITCODE), (b"", PassesStatus.BAD_BITCODE)]
)
def test_what_is_no_module_is_refused(bitcode: bytes, status: PassesStatus) -> None:
    with pytest.raises(PassesError) as error:
        Passes().lower_to_host(bitcode)
    assert error.value.status is status
