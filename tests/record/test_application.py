"""What can be preloaded into, and what a program loads."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.record.application import LoadedLibrary, check_preloadable, find_program, loaded_libraries
from r3cc.record.cpu_device import runtime_of

needs_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


def compile_main(folder: Path, *options: str) -> Path:
    (folder / "main.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", str(folder / "main.c"), "-o", str(folder / "app"), *options], check=True)
    return folder / "app"


def test_programs_are_found_as_a_shell_does(tmp_path: Path) -> None:
    assert find_program("sh").name == "sh"
    with pytest.raises(R3Error, match="no program 'no-such-program' on the PATH"):
        find_program("no-such-program")
    (tmp_path / "data").touch()
    with pytest.raises(R3Error, match="not executable"):
        find_program(str(tmp_path / "data"))


@needs_compiler
def test_a_static_executable_is_refused_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(R3Error, match=r"fully static.*without -static"):
        check_preloadable(compile_main(tmp_path, "-static"))
    check_preloadable(compile_main(tmp_path))


def test_a_set_user_id_program_is_refused(tmp_path: Path) -> None:
    shutil.copy("/bin/true", tmp_path / "app")
    (tmp_path / "app").chmod(0o4755)
    with pytest.raises(R3Error, match="set-user-id"):
        check_preloadable(tmp_path / "app")


def test_a_script_passes(tmp_path: Path) -> None:
    (tmp_path / "app").write_text("#!/bin/sh\n")
    check_preloadable(tmp_path / "app")
    assert loaded_libraries(tmp_path / "app") == []


@needs_compiler
def test_libraries_are_listed_found_or_not(tmp_path: Path) -> None:
    (tmp_path / "x.c").write_text("int x(void) { return 1; }\n")
    (tmp_path / "main.c").write_text("int x(void); int main(void) { return x(); }\n")
    library = tmp_path / "libcudart.so.99"
    soname = f"-Wl,-soname,{library.name}"
    subprocess.run(["gcc", "-shared", "-fPIC", str(tmp_path / "x.c"), "-o", str(library), soname], check=True)
    subprocess.run(["gcc", str(tmp_path / "main.c"), str(library), "-o", str(tmp_path / "app")], check=True)
    library.unlink()
    libraries = loaded_libraries(tmp_path / "app")
    assert LoadedLibrary("libcudart.so.99", None) in libraries
    assert any(found.name == "libc.so.6" and found.path is not None for found in libraries)
    assert runtime_of(libraries) == "cpu/cuda99/libcudart.so.99"
    assert runtime_of([]) is None
    hip = [LoadedLibrary("libamdhip64.so.5", None)]
    assert runtime_of(hip) == "cpu/hip5/libamdhip64.so.5"
