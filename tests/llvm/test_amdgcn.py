"""The replay compiler for AMD's GPUs: clang's own code at the recorded options, code objects, knobs."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from r3cc.llvm import (
    CodeObjectResources,
    CompileRequest,
    CompileResult,
    KernelAttributes,
    link_code_object,
    resources_of,
)
from r3cc.toolchain.llvm import find_llvm_program, require_clang
from tests.llvm.compiler import compile_one

SOURCE = Path(__file__).parent / "inputs/amd_kernels.hip"
KERNELS = 6
TILE = "_Z4tilePKfS0_Pfi"

Compile = Callable[..., bytes]


@pytest.fixture(scope="session")
def hip(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """clang's output for the kernels, compiled for the device alone, once for each set of flags."""
    folder = tmp_path_factory.mktemp("hip")

    @cache
    def compile_device(architecture: str, *flags: str) -> bytes:
        target = folder / "output"
        device = ["-x", "hip", "--cuda-device-only", f"--offload-arch={architecture}", "-nogpuinc", "-nogpulib"]
        command = [require_clang().path, *device, "-cuid=1", *flags, "-o", target, SOURCE]
        subprocess.run([str(part) for part in command], check=True)
        return target.read_bytes()

    return compile_device


def start(hip: Compile, architecture: str, level: int = 3) -> bytes:
    """The module as it is at the start of clang's pipeline."""
    flags = ("-Xclang", "-disable-llvm-passes", "-Xclang", "-emit-llvm-uselists")
    return hip(architecture, f"-O{level}", "-emit-llvm", "-c", *flags)


def request(level: int = 3, **changes: object) -> CompileRequest:
    optimised = level > 1
    return CompileRequest(
        pipeline=f"default<O{level}>",
        codegen_level=level,
        fp_contract="on",
        vectorize_loops=optimised,
        vectorize_slp=optimised,
        unroll_loops=optimised,
        **changes,  # type: ignore[arg-type]
    )


def code_lines(text: bytes) -> list[str]:
    """Assembly without comments, and without lists of symbols that say nothing about code."""
    lines = (line.split(";")[0].rstrip() for line in text.decode().splitlines())
    return [line for line in lines if line and not re.match(r"\s*\.(addrsig|ident|file)", line)]


def link(made: CompileResult) -> dict[str, CodeObjectResources]:
    linker = find_llvm_program("ld.lld")
    if linker is None:
        pytest.skip("needs ld.lld")
    return resources_of(link_code_object(made.output, linker.path, 60.0))


@pytest.mark.parametrize("architecture", ["gfx90a", "gfx942", "gfx1100"])
@pytest.mark.parametrize("level", [1, 2, 3])
def test_recorded_options_give_clangs_code(hip: Compile, architecture: str, level: int) -> None:
    made = compile_one(start(hip, architecture, level), request(level))
    assert code_lines(made.output) == code_lines(hip(architecture, f"-O{level}", "-S"))


@pytest.mark.parametrize(("architecture", "wave"), [("gfx90a", 64), ("gfx1100", 32)])
def test_code_objects_say_what_kernels_need(hip: Compile, architecture: str, wave: int) -> None:
    made = compile_one(start(hip, architecture), request(emit="object"))
    resources = link(made)
    assert len(resources) == KERNELS and made.occupancy.keys() == resources.keys()
    assert {each.wave for each in resources.values()} == {wave}
    assert resources["_Z4scanPKiPi"].shared == 2 * 256 * 4
    assert resources[TILE].vgprs > 64


def test_waves_are_had_as_asked(hip: Compile) -> None:
    bitcode = start(hip, "gfx90a")
    free, bound = (
        compile_one(bitcode, request(emit="object", kernel_attributes=attributes))
        for attributes in (KernelAttributes(), KernelAttributes(waves_per_eu="8"))
    )
    assert free.occupancy[TILE] < bound.occupancy[TILE] == 8
    assert link(bound)[TILE].vgprs <= 64 < link(free)[TILE].vgprs


@pytest.mark.parametrize(
    "attributes",
    [
        KernelAttributes(waves_per_eu="8"),
        KernelAttributes(flat_work_group_size="1,64"),
        KernelAttributes(num_vgpr="32"),
    ],
    ids=str,
)
def test_every_attribute_changes_the_code(hip: Compile, attributes: KernelAttributes) -> None:
    bitcode = start(hip, "gfx90a")
    plain, changed = (
        compile_one(bitcode, request(emit="object", kernel_attributes=each))
        for each in (KernelAttributes(), attributes)
    )
    assert plain.output != changed.output
