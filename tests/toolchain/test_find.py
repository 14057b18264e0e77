"""What is found, where, and in which order."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.toolchain import cuda, llvm
from r3cc.toolchain.cuda import PARTS, cuda_version, find_cuda, find_ptxas, missing_parts
from r3cc.toolchain.llvm import find_clang, find_llvm_program, require_clang
from r3cc.toolchain.native import native_library, native_program
from r3cc.toolchain.rocm import find_rocm_device_libraries


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is installed but what a test puts there."""
    for name in ("R3_CLANG", "R3_LLVM", "R3_PTXAS", "R3_PREFIX", *cuda.TREE_VARIABLES, "ROCM_PATH", "HIP_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(llvm, "DEBIAN_FOLDER", tmp_path / "llvm-22/bin")
    monkeypatch.setattr(cuda, "SYSTEM_TREE", tmp_path / "cuda")
    monkeypatch.setattr(cuda, "_site_packages", lambda: [tmp_path / "site"])


def program(path: Path, output: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{output}'\n")
    path.chmod(0o755)
    return path


def cuda_tree(path: Path, version: int = 13000) -> Path:
    for part in PARTS:
        (path / part).parent.mkdir(parents=True, exist_ok=True)
        (path / part).touch()
    (path / "include/cuda.h").write_text(f"#define CUDA_VERSION {version}\n")
    program(path / "bin/ptxas", "Cuda compilation tools, release 13.0, V13.0.88")
    return path


def test_nothing_is_found_on_a_bare_machine() -> None:
    assert find_clang() is None
    assert find_cuda() is None
    assert find_ptxas() is None
    with pytest.raises(R3Error, match="needs clang 22: it was not found"):
        require_clang()


def test_the_llvm_that_a_variable_names_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bin/clang", "clang version 22.1.0")
    program(tmp_path / "site-llvm/bin/clang", "clang version 22.1.9")
    monkeypatch.setenv("R3_LLVM", str(tmp_path / "site-llvm"))
    found = find_clang()
    assert found is not None
    assert (found.version, found.origin) == ("22.1.9", "variable R3_LLVM")
    program(tmp_path / "site-llvm/bin/clang", "clang version 21.1.0")
    other = find_clang()
    assert other is not None
    assert other.version == "22.1.0"


def test_clang_of_the_right_version_is_taken(tmp_path: Path) -> None:
    program(tmp_path / "bin/clang", "Debian clang version 14.0.6")
    assert find_clang() is None
    program(tmp_path / "llvm-22/bin/clang", "Debian clang version 22.1.8 (1)")
    found = find_clang()
    assert found is not None
    assert (found.version, found.origin) == ("22.1.8", str(tmp_path / "llvm-22"))
    program(tmp_path / "bin/clang-22", "Debian clang version 22.1.9")
    assert require_clang().origin == "PATH"


def test_the_variable_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path / "bin/clang-22", "clang version 22.1.9")
    own = program(tmp_path / "own/clang", "clang version 19.1.7")
    monkeypatch.setenv("R3_CLANG", str(own))
    found = find_clang()
    assert found is not None
    assert (found.path, found.origin) == (own, "variable R3_CLANG")
    with pytest.raises(R3Error, match=r"own/clang is version 19\.1\.7"):
        require_clang()
    monkeypatch.setenv("R3_CLANG", str(tmp_path / "missing"))
    assert find_clang() is None


@pytest.mark.parametrize("text", ["Debian LLD 22.1.8 (compatible with GNU linkers)", "Debian LLVM version 22.1.8"])
def test_versions_of_llvms_programs(tmp_path: Path, text: str) -> None:
    program(tmp_path / "bin/ld.lld", text)
    found = find_llvm_program("ld.lld")
    assert found is not None
    assert found.major == 22


def test_cuda_comes_from_variable_wheel_path_or_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    origins = []
    for place, setting in (
        (tmp_path / "cuda", ""),
        (tmp_path / "toolkit", "PATH"),
        (tmp_path / "site/nvidia/cu13", ""),
        (tmp_path / "own", "CUDA_PATH"),
    ):
        cuda_tree(place)
        if setting == "PATH":
            program(place / "bin/nvcc", "")
            monkeypatch.setenv("PATH", str(place / "bin"))
        elif setting:
            monkeypatch.setenv(setting, str(place))
        found = find_cuda()
        assembler = find_ptxas()
        assert found is not None
        assert assembler is not None
        assert found.path == place
        assert assembler.path == place / "bin/ptxas"
        assert assembler.version == "13.0.88"
        origins.append(found.origin)
    assert origins == ["system", "PATH", "wheel", "variable CUDA_PATH"]


def test_a_complete_tree_comes_before_one_that_lacks_parts(tmp_path: Path) -> None:
    wheel = cuda_tree(tmp_path / "site/nvidia/cu13")
    (wheel / "nvvm/libdevice/libdevice.10.bc").unlink()
    assert missing_parts(wheel) == ["nvidia-nvvm"]
    found = find_cuda()
    assert found is not None
    assert found.path == wheel
    cuda_tree(tmp_path / "cuda")
    found = find_cuda()
    assert found is not None
    assert found.origin == "system"


@pytest.mark.parametrize(("number", "text"), [(13000, "13.0"), (12090, "12.9")])
def test_the_version_of_a_tree(tmp_path: Path, number: int, text: str) -> None:
    assert cuda_version(cuda_tree(tmp_path / "tree", number)) == text


def test_rocms_device_libraries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library = tmp_path / "rocm/amdgcn/bitcode/ockl.bc"
    library.parent.mkdir(parents=True)
    library.touch()
    (tmp_path / "rocm/.info").mkdir()
    (tmp_path / "rocm/.info/version").write_text("6.4.0\n")
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    found = find_rocm_device_libraries()
    assert found is not None
    assert (found.version, found.origin) == ("6.4.0", "variable ROCM_PATH")


def test_native_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    library = tmp_path / "prefix/lib/r3cc/cpu/cuda13/libcudart.so.13"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "nowhere"))
    with pytest.raises(R3Error, match="R3_PREFIX"):
        native_library("no-such-library.so")
    monkeypatch.setenv("R3_PREFIX", str(tmp_path / "prefix"))
    assert native_library("cpu/cuda13/libcudart.so.13") == library
    monkeypatch.delenv("R3_PREFIX")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    assert native_library("cpu/cuda13/libcudart.so.13") == library
    with pytest.raises(R3Error, match="bin/no-such-program"):
        native_program("no-such-program")
