# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: F821 (lit defines config and lit_config)
"""Shared configuration of the lit tests: what R3's compilers and tools are called in a RUN line."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import lit.formats

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def first(candidates, holds):
    """The first candidate that holds, or None."""
    return next((candidate for candidate in candidates if holds(candidate)), None)


def r3_prefix():
    """Where bin/r3-clang++ and lib/r3cc are: R3_PREFIX, this Python's prefix, or a build in the source tree."""
    chosen = os.environ.get("R3_PREFIX")
    candidates = [Path(chosen)] if chosen else [Path(sys.prefix), ROOT / "build"]
    return first(candidates, lambda prefix: (prefix / "bin/r3-clang++").is_file())


def llvm_tools():
    """The directory of LLVM 22's own tools."""
    config_tool = shutil.which("llvm-config-22") or shutil.which("llvm-config")
    candidates = [Path(subprocess.check_output([config_tool, "--bindir"], text=True).strip())] if config_tool else []
    return first([*candidates, Path("/usr/lib/llvm-22/bin")], lambda tools: (tools / "FileCheck").is_file())


def cuda_trees():
    """CUDA trees to try: what the environment names, NVIDIA's wheels, the system's."""
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or []) if spec else []:
        yield from sorted(Path(place).glob("cu1*"), reverse=True)
    yield Path("/usr/local/cuda")


def cudart_flags(cuda):
    """How to link the shared CUDA runtime of a tree."""
    library = first(sorted(cuda.glob("lib*/libcudart.so*")), Path.is_file)
    return f"-L{library.parent} -Wl,-rpath,{library.parent} -l:{library.name}" if library else ""


def targets(tools):
    """The names of LLVM's targets."""
    return subprocess.check_output([tools / "llc", "--version"], text=True)


config.name = "R3"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".test", ".c", ".cpp", ".cu", ".hip", ".ll"]
config.excludes = ["Inputs", "support"]
config.test_source_root = str(HERE)
config.test_exec_root = os.environ.get("R3_LIT_OUTPUT", str(ROOT / "build/lit"))

prefix, tools, cuda = r3_prefix(), llvm_tools(), first(cuda_trees(), lambda tree: (tree / "bin/ptxas").is_file())
if tools is None:
    lit_config.fatal("LLVM 22's tools (FileCheck, llvm-readelf) were not found; install llvm-22-tools")
if prefix is None:
    lit_config.fatal("R3's native parts were not found; run `pip install .`, or set R3_PREFIX to a build")

config.environment["PATH"] = os.pathsep.join([str(tools), os.environ["PATH"]])
config.environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
config.environment.pop("CPLUS_INCLUDE_PATH", None)
for variable in (
    "R3_CLANG",
    "R3_LLVM",
    "R3_DISABLE",
    "R3_STRICT",
    "R3_PREFIX",
    "R3_LOG",
    "NVCC_PREPEND_FLAGS",
    "NVCC_APPEND_FLAGS",
    "HIP_PLATFORM",
    "HIP_PATH",
    "ROCM_PATH",
    "HIPCC_COMPILE_FLAGS_APPEND",
    "HIPCC_LINK_FLAGS_APPEND",
):
    config.environment.pop(variable, None)

config.available_features.add("r3")
if cuda:
    config.available_features.add("cuda")
if "nvptx64" in targets(tools):
    config.available_features.add("nvptx")
if "amdgcn" in targets(tools):
    config.available_features.add("amdgpu")
if Path("/usr/include/hip/hip_runtime.h").is_file() or Path("/opt/rocm/include/hip/hip_runtime.h").is_file():
    config.available_features.add("rocm")
for program in (
    "cmake",
    "ninja",
    "make",
    "g++",
    "ld.lld",
    "llc",
    "ccache",
    "sccache",
    "distcc",
    "mpicxx",
    "autoconf",
    "meson",
):
    if shutil.which(program, path=config.environment["PATH"]):
        config.available_features.add(program)

support = HERE / "support"
cuda_flags = f"--cuda-path={cuda} -Wno-unknown-cuda-version"
config.substitutions += [
    (r"%r3_clangxx\b", f"{prefix}/bin/r3-clang++"),
    (r"%r3_clang\b", f"{prefix}/bin/r3-clang"),
    (r"%r3_nvcc\b", f"{prefix}/bin/r3-nvcc"),
    (r"%r3_hipcc\b", f"{prefix}/bin/r3-hipcc"),
    (r"%r3_launch\b", f"{prefix}/bin/r3-launch"),
    (r"%r3_prefix\b", str(prefix)),
    (r"%r3_plugin\b", f"{prefix}/lib/r3cc/libR3Passes.so"),
    (r"%r3\b", f"env R3_PREFIX={prefix} {sys.executable} -c 'from r3cc.cli import main; main()'"),
    (r"%clangxx\b", str(tools / "clang++")),
    (r"%clang\b", str(tools / "clang")),
    # CUDA with NVIDIA's headers (seconds a compile), and with a header of 20 lines (a tenth of one).
    (r"%cuda\b", cuda_flags),
    (r"%minicuda\b", f"{cuda_flags} -nocudainc -I{HERE}/Inputs"),
    (r"%cudart\b", cudart_flags(cuda) if cuda else ""),
    (r"%cuda_path\b", str(cuda)),
    (r"%inputs\b", str(HERE / "Inputs")),
    (r"%r3_notes\b", f"{sys.executable} {support}/r3_notes.py"),
    (r"%elf_diff\b", f"{sys.executable} {support}/elf_diff.py"),
    (r"%same_behaviour\b", f"{sys.executable} {support}/same_behaviour.py"),
    (r"%python\b", sys.executable),
]
