"""The examples build under plain clang and r3-clang++, and R3 changes nothing but what it adds."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.llvm import find_llvm_program
from r3cc.toolchain.native import native_program
from tests.examples.programs import ALL, EXAMPLES, ROOT, Example, compile_example, function_name, r3_json


@pytest.mark.parametrize("example", ALL, ids=lambda example: example.name)
def test_device_code_is_that_of_plain_clang(
    example: Example, build: Callable[[Example], Path], cuda: Path, tmp_path: Path
) -> None:
    clang = find_llvm_program("clang++")
    assert clang is not None
    plain = tmp_path / example.name
    compile_example(clang.path, cuda, example, plain)
    ours = build(example)
    assert section_bytes(plain, ".nv_fatbin") == section_bytes(ours, ".nv_fatbin")


@pytest.mark.parametrize("example", ALL, ids=lambda example: example.name)
def test_binary_names_its_kernels(example: Example, build: Callable[[Example], Path], tmp_path: Path) -> None:
    found = r3_json("ls", "--binary", str(build(example)), store=tmp_path / "r3-store")
    (module,) = found["modules"]
    assert module["architecture"] == "sm_90"
    kernels = {function_name(kernel["demangled"]) for kernel in module["kernels"]}
    assert kernels >= set(example.launches)


@pytest.mark.parametrize("folder", sorted(path.parent.name for path in EXAMPLES.glob("*/CMakeLists.txt")))
def test_cmake_build_with_the_toolchain_file(folder: str, tmp_path: Path) -> None:
    configure = [
        "cmake",
        "-S",
        str(EXAMPLES / folder),
        "-B",
        str(tmp_path),
        "-G",
        "Ninja",
        "--toolchain",
        str(ROOT / "cmake/R3Toolchain.cmake"),
        f"-DR3_CLANGXX={native_program('r3-clang++')}",
        "-DCMAKE_CUDA_ARCHITECTURES=90",
        *toolkit_option(),
    ]
    for command in (configure, ["cmake", "--build", str(tmp_path)]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    programs = {path.stem for path in (EXAMPLES / folder).glob("*.cu")}
    assert programs <= {path.name for path in tmp_path.iterdir()}


def toolkit_option() -> list[str]:
    """The CUDA tree that the other tests use."""
    found = find_cuda()
    return [f"-DCUDAToolkit_ROOT={found.path}"] if found else []


def section_bytes(binary: Path, section: str) -> bytes:
    """One section of an ELF file; it has to be there."""
    tool = find_llvm_program("llvm-objcopy")
    assert tool is not None
    out = binary.with_name(binary.name + section)
    subprocess.run([tool.path, "-O", "binary", f"--only-section={section}", binary, out], check=True)
    content = out.read_bytes()
    assert content
    return content
