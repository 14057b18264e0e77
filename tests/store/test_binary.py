"""Notes in linked files, made here with the assembler as docs/binary-format.md says."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
import zstandard

from r3cc.errors import R3Error
from r3cc.store.binary import read_binary
from r3cc.store.elf import ElfFile, is_elf

BITCODE = b"BC\xc0\xde" + bytes(range(200))
INFO = {"version": 1, "module": hashlib.sha256(BITCODE).hexdigest(), "architecture": "sm_90"}

NOTE = """
  .section .note.GNU-stack,"",@progbits
  .section .note.r3,"a",@note
  .p2align 2
  .long 3, 80, 1
  .asciz "R3"
  .p2align 2
  .long {version}, {flags}
1: .quad {wrapper}
2: .quad .Lbitcode{n} - 2b
  .quad {bitcode_size}
3: .quad .Ljson{n} - 3b
  .quad {json_size}
  .fill 32, 1, 0xab
  .data
.Lwrapper{n}: .quad 0
  .section .r3.bitcode,"aR",@progbits
.Lbitcode{n}: .incbin "{folder}/module.bc"
  .section .r3.json,"aR",@progbits
.Ljson{n}: .incbin "{folder}/module.json.zst"
"""

needs_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc to assemble and link")


def build(folder: Path, *options: str, count: int = 1, version: int = 1, flags: int = 0) -> Path:
    """Link a program or library with ``count`` notes."""
    packed = zstandard.ZstdCompressor().compress(json.dumps(INFO).encode())
    (folder / "module.bc").write_bytes(BITCODE)
    (folder / "module.json.zst").write_bytes(packed)
    (folder / "main.c").write_text("int main(void) { return 0; }\n")
    for n in range(count):
        text = NOTE.format(
            n=n,
            version=version,
            flags=flags,
            wrapper=f".Lwrapper{n} - 1b" if not flags & 1 else "0",
            bitcode_size=len(BITCODE),
            json_size=len(packed),
            folder=folder,
        )
        (folder / f"note{n}.s").write_text(text)
    output = folder / "out"
    notes = [str(folder / f"note{n}.s") for n in range(count)]
    subprocess.run(["gcc", *options, str(folder / "main.c"), *notes, "-o", str(output)], check=True)
    return output


@needs_compiler
@pytest.mark.parametrize("options", [[], ["-shared", "-fPIC"], ["-no-pie"], ["-s"], ["-static"]], ids=" ".join)
def test_modules_are_read_from_every_kind_of_file(tmp_path: Path, options: list[str]) -> None:
    modules = read_binary(build(tmp_path, *options, count=2))
    assert [(module.bitcode, module.info) for module in modules] == [(BITCODE, INFO)] * 2
    assert modules[0].wrapper is not None
    assert not modules[0].relocatable
    assert modules[0].fat_binary_digest == "ab" * 32


@needs_compiler
def test_relocatable_device_code_has_no_wrapper(tmp_path: Path) -> None:
    (module,) = read_binary(build(tmp_path, flags=1))
    assert module.relocatable
    assert module.wrapper is None


@needs_compiler
@pytest.mark.skipif(shutil.which("llvm-strip-22") is None, reason="needs llvm-strip")
def test_section_headers_are_not_needed(tmp_path: Path) -> None:
    binary = build(tmp_path)
    subprocess.run(["llvm-strip-22", "--strip-sections", str(binary)], check=True)
    assert len(read_binary(binary)) == 1


@needs_compiler
def test_a_newer_note_is_refused(tmp_path: Path) -> None:
    with pytest.raises(R3Error, match="R3 note of version 9"):
        read_binary(build(tmp_path, version=9))


@needs_compiler
def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    binary = build(tmp_path)
    content = binary.read_bytes()
    for length in range(0, len(content), 97):
        binary.write_bytes(content[:length])
        try:
            modules = read_binary(binary)
        except R3Error:
            continue
        assert [module.bitcode for module in modules] == [BITCODE]


@needs_compiler
def test_a_plain_program_has_no_modules_and_names_its_libraries(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", str(tmp_path / "main.c"), "-o", str(tmp_path / "plain")], check=True)
    assert read_binary(tmp_path / "plain") == []
    with ElfFile(tmp_path / "plain") as file:
        assert "libc.so.6" in file.needed()
        assert file.interpreter is not None


@needs_compiler
def test_an_object_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-c", str(tmp_path / "main.c"), "-o", str(tmp_path / "main.o")], check=True)
    with pytest.raises(R3Error, match="is an object file"):
        read_binary(tmp_path / "main.o")


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF\x02\x01"])
def test_what_is_no_binary_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(R3Error, match="file"):
        read_binary(tmp_path / "file")
    assert is_elf(tmp_path / "file") == content.startswith(b"\x7fELF")
