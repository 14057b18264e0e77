"""R3 from a folder of wheels, with no index to ask: in a new environment everything finds its parts by itself.

The wheel is put together from the native parts that the tests run with, in the layout of a built one (compiling takes
minutes); ``scripts/check_offline_install.sh`` does the same with a wheel that pip builds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.llvm import find_clang
from r3cc.toolchain.native import native_library

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAME = f"r3cc-{PROJECT['version']}"
KERNEL = '#include "minicuda.h"\n__global__ void scale(float *x) { x[thread()] *= 2; }\n'


def wheel_files(prefix: Path) -> Iterator[tuple[str, bytes | Path]]:
    """(name in the wheel, content) of the package, the native parts of ``prefix``, and the metadata."""
    for path in sorted((ROOT / "r3cc").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield str(path.relative_to(ROOT)), path
    for program in sorted((prefix / "bin").glob("r3-*")):
        yield f"{NAME}.data/scripts/{program.name}", program
    for path in sorted((prefix / "lib/r3cc").rglob("*")):
        if path.is_file():
            yield f"{NAME}.data/data/{path.relative_to(prefix)}", path
    version = f"Name: {PROJECT['name']}\nVersion: {PROJECT['version']}\n"
    yield f"{NAME}.dist-info/METADATA", f"Metadata-Version: 2.1\n{version}".encode()
    yield f"{NAME}.dist-info/WHEEL", b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n"
    scripts = "".join(f"{name} = {target}\n" for name, target in PROJECT["scripts"].items())
    yield f"{NAME}.dist-info/entry_points.txt", f"[console_scripts]\n{scripts}".encode()


def make_wheel(folder: Path, prefix: Path) -> None:
    """Write the wheel; programs keep their modes."""
    files = list(wheel_files(prefix))
    record = "".join(f"{name},,\n" for name, _ in files) + f"{NAME}.dist-info/RECORD,,\n"
    with zipfile.ZipFile(folder / f"{NAME}-py3-none-linux_x86_64.whl", "w") as wheel:
        for name, content in [*files, (f"{NAME}.dist-info/RECORD", record.encode())]:
            entry = zipfile.ZipInfo(name)
            mode = content.stat().st_mode if isinstance(content, Path) else 0o100644
            entry.external_attr = mode << 16
            wheel.writestr(entry, content.read_bytes() if isinstance(content, Path) else content)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment with R3 from a folder of wheels; what R3 depends on is this environment's."""
    try:
        prefix = native_library("libR3Passes.so").parents[2]
    except R3Error as error:
        pytest.skip(str(error))
    wheels, target = tmp_path_factory.mktemp("wheelhouse"), tmp_path_factory.mktemp("site") / "r3"
    make_wheel(wheels, prefix)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", target], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(target / "bin/python"), "install", "--quiet"]
    offline = ["--no-index", "--no-deps", "--find-links", str(wheels), "r3cc"]
    subprocess.run([*pip, *offline], check=True, env=os.environ | {"PIP_CONFIG_FILE": os.devnull})
    site = next(target.glob("lib/python3*/site-packages"))
    own = [path for path in sys.path if path.endswith("-packages")]
    (site / "dependencies.pth").write_text("\n".join(own) + "\n")
    return target


def run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Nothing of this process's environment but what finds LLVM; the new environment isn't activated."""
    kept = {name: os.environ[name] for name in ("R3_CLANG", "R3_LLVM", "CUDA_PATH", "CUDA_HOME") if name in os.environ}
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=cwd, env=kept | {"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)


def test_the_command_finds_the_native_parts_of_its_own_environment(environment: Path, tmp_path: Path) -> None:
    done = run(environment / "bin/r3", "doctor", cwd=tmp_path)
    for part in ("bin/r3-clang++", "lib/r3cc/libR3Passes.so", "lib/r3cc/libr3record.so", "lib/r3cc/libr3cpu.so"):
        assert str(environment / part) in done.stdout.replace("\n", ""), done.stdout + done.stderr


def test_the_compiler_uses_the_plugin_beside_it(environment: Path, tmp_path: Path) -> None:
    tree = find_cuda()
    if tree is None or find_clang() is None:
        pytest.skip("needs clang 22 and a CUDA tree")
    (tmp_path / "k.cu").write_text(KERNEL)
    flags = [f"--cuda-path={tree.path}", "-Wno-unknown-cuda-version", "-nocudainc", f"-I{ROOT / 'tests/lit/Inputs'}"]
    build = ["-v", "--offload-arch=sm_90", "-fPIC", "-shared", "-nostdlib", "k.cu", "-o", "k.so"]
    done = run(environment / "bin/r3-clang++", *flags, *build, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"-fpass-plugin={environment}/lib/r3cc/libR3Passes.so" in done.stderr
    listed = run(environment / "bin/r3", "ls", "--binary", "k.so", cwd=tmp_path)
    assert "scale(float*)" in listed.stdout, listed.stderr


def test_another_place_serves_as_well(environment: Path, tmp_path: Path) -> None:
    """The folder is moved: programs of Python know it by its old name, R3's compilers don't."""
    moved = tmp_path / "moved"
    environment.rename(moved)
    try:
        done = run(moved / "bin/r3-nvcc", "--version", cwd=tmp_path)
        probe = run(moved / "bin/r3-clang++", "--version", cwd=tmp_path)
        assert probe.returncode == 0
        assert "clang version 22" in probe.stdout
        assert done.returncode in (0, 125)  # 125: no toolkit on this machine
    finally:
        moved.rename(environment)
