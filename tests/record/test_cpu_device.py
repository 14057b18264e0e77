"""Which programs can run on the cpu device, and what they are told if they can't."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.record import cpu_device
from r3cc.record.application import loaded_libraries
from r3cc.record.cpu_device import binaries_with_modules, cpu_environment
from r3cc.store import Store
from tests.store.test_binary import build

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc to assemble and link")


def shared_cudart(folder: Path, major: int) -> str:
    """A library with the CUDA runtime's name, to link with."""
    (folder / "cudart.c").write_text("int cudaFree(void *p) { return p != 0; }\n")
    library = folder / f"libcudart.so.{major}"
    command = ["gcc", "-shared", "-fPIC", "cudart.c", "-o", library.name, f"-Wl,-soname,{library.name}"]
    subprocess.run(command, cwd=folder, check=True)
    return str(library)


def test_a_program_without_notes_is_told_what_to_build_it_with(small_store: Store, tmp_path: Path) -> None:
    with pytest.raises(R3Error, match=r"carries device code built by R3: build it with r3-clang\+\+"):
        cpu_environment(Path("/bin/true"), small_store)


def test_a_program_with_the_static_runtime_is_told_to_link_the_shared_one(small_store: Store, tmp_path: Path) -> None:
    with pytest.raises(R3Error, match=r"link with -lcudart \(CMake: -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared\)"):
        cpu_environment(build(tmp_path), small_store)


def test_modules_are_looked_for_in_the_libraries_as_well(tmp_path: Path) -> None:
    library = build(tmp_path, "-shared", "-fPIC", "-Wl,-soname,libkernels.so").rename(tmp_path / "libkernels.so")
    (tmp_path / "app.c").write_text("int main(void) { return 0; }\n")
    link = ["-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(["gcc", str(tmp_path / "app.c"), "-o", str(tmp_path / "app"), *link], check=True)
    program = tmp_path / "app"
    assert binaries_with_modules(program, loaded_libraries(program)) == [library]


def test_the_runtime_of_the_wanted_major_version_is_preloaded(
    small_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = tmp_path / "prefix/lib/r3cc/cpu/cuda12/libcudart.so.12"
    runtime.parent.mkdir(parents=True)
    runtime.touch()
    engine = tmp_path / "prefix/lib/r3cc/libr3cpu.so"
    engine.touch()
    monkeypatch.setenv("R3_PREFIX", str(tmp_path / "prefix"))
    prepared: list[Path] = []

    def prepare(binaries: list[Path], store: Store) -> dict[str, str]:
        prepared.extend(binaries)
        return {"R3_CPU_MODULES": str(store.cache)}

    monkeypatch.setattr(cpu_device, "prepare_modules", prepare)
    program = build(tmp_path, "-Wl,--no-as-needed", shared_cudart(tmp_path, 12))
    environment = cpu_environment(program, small_store)
    assert prepared == [program]
    assert environment == {"LD_PRELOAD": f"{runtime}:{engine}", "R3_CPU_MODULES": str(small_store.cache)}
