"""Bitcode as text."""

from __future__ import annotations

import subprocess

from r3cc.errors import R3Error
from r3cc.toolchain.llvm import find_llvm_program, require_clang

TIMEOUT_S = 120


def disassemble(bitcode: bytes) -> str:
    """LLVM IR text of bitcode, by llvm-dis, or by clang where LLVM's programs are not installed."""
    program = find_llvm_program("llvm-dis")
    command = [str(program.path), "-o", "-", "-"] if program else _clang_command()
    try:
        answer = subprocess.run(command, input=bitcode, capture_output=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise R3Error(f"cannot run {command[0]}: {error}") from None
    if answer.returncode != 0:
        raise R3Error(f"{command[0]} cannot read the bitcode: {answer.stderr.decode(errors='replace').strip()}")
    return answer.stdout.decode()


def _clang_command() -> list[str]:
    options = "-cc1 -x ir -emit-llvm -disable-llvm-passes -o - -"
    return [str(require_clang().path), *options.split()]
