"""Builds the fake driver and the test programs, with the R3 notes that a compiler would have put into them."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

HERE = Path(__file__).parent
BITCODE = b"BC\xc0\xde" + b"test bitcode " * 100
MODULE = hashlib.sha256(BITCODE).hexdigest()

SCALE, CHASE, COUNT = "_Z5scalePffi", "_Z5chaseP4Node", "_Z5countv"
HIDDEN, SPIN, LOST = "_Z6hiddenm", "_Z4spinPVi", "_Z4lostv"
SAMPLE = "_Z6sampley"

_POINTER = [{"offset": 0, "size": 8, "type": "ptr", "name": "p"}]


def _kernel(name: str, parameters: list[dict[str, Any]], reached: tuple[str, ...] = (), **more: bool) -> dict[str, Any]:
    return {"name": name, "line": 1, "parameters": parameters, "globals": list(reached), **more}


INFO: dict[str, Any] = {
    "version": 1,
    "module": MODULE,
    "architecture": "sm_90",
    "triple": "nvptx64-nvidia-cuda",
    "source": "kernels.cu",
    "kernels": [
        _kernel(
            SCALE,
            [
                {"offset": 0, "size": 8, "type": "ptr", "name": "data"},
                {"offset": 8, "size": 4, "type": "float", "name": "by"},
                {"offset": 12, "size": 4, "type": "i32", "name": "n"},
            ],
        ),
        _kernel(CHASE, _POINTER),
        _kernel(COUNT, [], ("counter", "table")),
        _kernel(HIDDEN, _POINTER),
        _kernel(SPIN, _POINTER),
        _kernel(LOST, [], ("missing",)),
        _kernel(SAMPLE, _POINTER, textures=True),
    ],
    "globals": [
        {"name": "counter", "size": 8, "space": "global", "internal": True, "mutable": True},
        {"name": "table", "size": 32, "space": "constant", "internal": False, "mutable": False},
        {"name": "missing", "size": 4, "space": "global", "internal": True, "mutable": True},
    ],
}


@dataclass(frozen=True)
class Programs:
    """Where the built things are."""

    libraries: Path
    """Holds the fake libcuda.so.1."""
    linked: Path
    """A program linked to libcuda."""
    dynamic: Path
    """The same with dlopen, dlsym and cuGetProcAddress."""
    relocatable: Path
    """The same, noted as relocatable device code: its note names no fat binary."""


RELOCATABLE = 1


def _note_assembly(folder: Path, digest: bytes, wrapper: str = "noted_wrapper - .", flags: int = 0) -> Path:
    """The note of docs/binary-format.md, with offsets that the linker resolves."""
    (folder / "bitcode").write_bytes(BITCODE)
    (folder / "info").write_bytes(zstandard.ZstdCompressor().compress(json.dumps(INFO).encode()))
    digest_bytes = ", ".join(str(byte) for byte in digest)
    assembly = folder / "note.S"
    assembly.write_text(
        f"""
    .section .r3.bitcode, "a", @progbits
r3_bitcode: .incbin "{folder}/bitcode"
r3_bitcode_end:
    .section .r3.json, "a", @progbits
r3_json: .incbin "{folder}/info"
r3_json_end:
    .section .note.r3, "a", @note
    .balign 4
    .long 3, 80, 1
    .asciz "R3"
    .balign 4
    .long 1, {flags}
    .quad {wrapper}
    .quad r3_bitcode - .
    .quad r3_bitcode_end - r3_bitcode
    .quad r3_json - .
    .quad r3_json_end - r3_json
    .byte {digest_bytes}
    .section .note.GNU-stack, "", @progbits
"""
    )
    return assembly


def _compile(*arguments: str | Path) -> None:
    subprocess.run(["g++", "-std=c++17", "-O0", *map(str, arguments)], check=True)


def programs_in(folder: Path) -> Programs:
    """What :func:`build` has built."""
    return Programs(folder, folder / "linked", folder / "dynamic", folder / "relocatable")


def build(folder: Path, include: Path) -> None:
    """Builds everything into ``folder``, which it makes; ``include`` holds cuda.h."""
    folder.mkdir(exist_ok=True)
    driver = folder / "libcuda.so.1"
    source = HERE / "fake_cuda" / "fake_driver.cpp"
    flags = ["-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-soname,libcuda.so.1", "-Wl,-Bsymbolic"]
    _compile(*flags, f"-I{include}", source, "-o", driver, "-pthread")

    program = HERE / "programs" / "driver_program.cpp"
    built = programs_in(folder)
    linked, dynamic, relocatable = built.linked, built.dynamic, built.relocatable
    linked_object, dynamic_object = folder / "linked.o", folder / "dynamic.o"
    _compile("-c", f"-I{include}", program, "-o", linked_object)
    _compile("-c", "-DDYNAMIC", f"-I{include}", program, "-o", dynamic_object)
    # The image holds addresses, so it is linked once to learn them, without PIE to keep them.
    for _ in range(2):
        digest = hashlib.sha256(_image(linked)).digest() if linked.exists() else bytes(32)
        _compile("-no-pie", linked_object, _note_assembly(folder, digest), driver, "-o", linked, "-pthread")
    _compile(dynamic_object, _note_assembly(folder, bytes(32)), "-o", dynamic, "-pthread", "-ldl")
    note = _note_assembly(folder, bytes(32), wrapper="0", flags=RELOCATABLE)
    _compile(dynamic_object, note, "-o", relocatable, "-pthread", "-ldl")


def _image(program: Path) -> bytes:
    environment = {"LD_LIBRARY_PATH": str(program.parent)}
    return subprocess.run([program, "image"], env=environment, check=True, stdout=subprocess.PIPE).stdout
