"""A small program of several files, built by r3-clang++, whose kernels are hard to find in their source."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from r3cc.errors import R3Error
from r3cc.remix.source import ModuleSource, StoreSourceBuilder
from r3cc.store.binary import EmbeddedModule, read_binary
from r3cc.store.demangle import demangle
from r3cc.store.model import Kernel, Shape
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_library, native_program

INPUTS = Path(__file__).parent / "inputs"


def built() -> bool:
    """Whether R3's compiler and passes are there."""
    try:
        return bool(native_program("r3-clang++") and native_library("libR3Passes.so"))
    except R3Error:
        return False


def build_project(folder: Path, source: str = "kernels.cu", *flags: str) -> EmbeddedModule:
    """Copy the inputs, build a shared library of one source; the module in it."""
    shutil.copytree(INPUTS, folder / "tree")
    (folder / "build").mkdir()
    cuda = find_cuda()
    assert cuda is not None
    options = ["-O2", "-std=c++17", "--offload-arch=sm_90", f"--cuda-path={cuda.path}", "-Wno-unknown-cuda-version"]
    command = [str(native_program("r3-clang++")), *options, "-I../tree/include", *flags, "-fPIC", "-shared"]
    done = subprocess.run(
        [*command, f"../tree/{source}", "-o", "kernels.so", "-nostdlib"],
        cwd=folder / "build",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (module,) = read_binary(folder / "build" / "kernels.so")
    return module


def kernel_of(module: EmbeddedModule, name: str) -> Kernel:
    """The module's kernel whose demangled name begins so, as a recording would have it."""
    names = [each["name"] for each in module.info["kernels"]]
    (found,) = [each for each in names if demangle(each).removeprefix("void ").startswith(name)]
    shape = Shape((4, 1, 1), (128, 1, 1), 0, 1, 1000)
    return Kernel(module.info["module"], found, demangle(found), "cpu", 1, 1000, 1, 1, 1.0, (shape,), ())


def open_builder(store: Path, module: EmbeddedModule, name: str) -> StoreSourceBuilder:
    """A builder for a kernel of the module, which is opened for it alone."""
    return StoreSourceBuilder(store, kernel_of(module, name), ModuleSource(module.info, module.bitcode))
