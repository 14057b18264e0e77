"""The CUDA runtime of the cpu device under a whole program, where the real one is missing."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import pytest

from r3cc.errors import R3Error
from r3cc.record.cpu_device import cpu_environment
from r3cc.store import Store
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.llvm import require_clang
from r3cc.toolchain.native import native_library, native_program

PROGRAMS = Path(__file__).parent / "programs"
ABI = Path(__file__).parents[2] / "record_runtime/cpu/cudart"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """app.cu by r3-clang++, linked with the toolkit's shared runtime, which it could not find by itself."""
    tree = find_cuda()
    try:
        compiler = native_program("r3-clang++")
        native_library("cpu/cuda13/libcudart.so.13")
    except R3Error as error:
        pytest.skip(str(error))
    runtime = next(iter(sorted(tree.path.glob("lib*/libcudart.so.13"))), None) if tree else None
    if tree is None or runtime is None:
        pytest.skip("needs a CUDA 13 tree")
    target = tmp_path_factory.mktemp("program") / "app"
    device = [f"--cuda-path={tree.path}", "--offload-arch=sm_90", "-Wno-unknown-cuda-version"]
    environment = os.environ | {"PATH": f"{require_clang().path.resolve().parent}{os.pathsep}{os.environ['PATH']}"}
    command = [str(compiler), *device, "-O2", str(PROGRAMS / "app.cu"), "-o", str(target), str(runtime)]
    subprocess.run(command, check=True, env=environment)
    return target


@pytest.fixture(scope="module")
def environment(program: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    with Store.create(tmp_path_factory.mktemp("cpu") / "store") as store:
        return os.environ | cpu_environment(program, store) | {"R3_CPU_THREADS": "2"}


def test_a_program_runs_unchanged(program: Path, environment: dict[str, str]) -> None:
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


CROWD = r"""
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
__attribute__((constructor(101))) static void crowd(void) {
  const uint64_t ranges[][2] = {{0x555555554000, 0x656000000000}, {0x6fff00000000, 0x7fff00000000}};
  for (int i = 0; i < 2; ++i)
    for (uint64_t at = ranges[i][0]; at < ranges[i][1]; at += (uint64_t)1 << 34)
      mmap((void *)at, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  printf("crowded ");
}
"""
"""Puts something wherever Linux, with 32 bits of randomness, may put a program, its heap, stack and libraries."""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="addresses of x86-64")
def test_recorded_memory_lies_where_no_program_does(program: Path, environment: dict[str, str], tmp_path: Path) -> None:
    source, crowd, recording = tmp_path / "crowd.c", tmp_path / "crowd.so", tmp_path / "recording"
    recording.mkdir()
    source.write_text(CROWD)
    subprocess.run([require_clang().path, "-shared", "-fPIC", source, "-o", crowd], check=True)
    crowded = environment | {
        "LD_PRELOAD": f"{crowd}:{environment['LD_PRELOAD']}",
        "R3_RECORD_DIR": str(recording),
    }
    done = subprocess.run([program], env=crowded, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "crowded ok\n"), done.stderr
    assert list(recording.glob("*.r3pack"))


def test_a_missing_entry_is_one_error_with_its_name(program: Path, environment: dict[str, str]) -> None:
    done = subprocess.run([program, "graph"], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    assert "r3: the cpu device has no cudaGraphCreate\n" in done.stderr


def test_a_module_that_is_not_there_is_named(program: Path, environment: dict[str, str], tmp_path: Path) -> None:
    empty = environment | {"R3_CPU_MODULES": str(tmp_path), "R3_CPU_COMPILE": ""}
    done = subprocess.run([program], env=empty, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"has not been compiled for the cpu device: '{tmp_path}/" in done.stderr


def test_layouts_are_those_of_the_toolkit(tmp_path: Path) -> None:
    tree = find_cuda()
    if tree is None or not tree.version.startswith("13"):
        pytest.skip("needs a CUDA 13 tree")
    pairs = [
        ("DeviceProperties13", "cudaDeviceProp"),
        ("FunctionAttributes", "cudaFuncAttributes"),
        ("PointerAttributes", "cudaPointerAttributes"),
        ("Copy3D", "cudaMemcpy3DParms"),
        ("LaunchConfiguration", "cudaLaunchConfig_t"),
    ]
    members = [
        ("DeviceProperties13", "multiprocessors", "cudaDeviceProp", "multiProcessorCount"),
        ("DeviceProperties13", "textures", "cudaDeviceProp", "maxTexture2D"),
        ("DeviceProperties13", "managed_memory", "cudaDeviceProp", "managedMemory"),
        ("DeviceProperties13", "shared_per_block_optin", "cudaDeviceProp", "sharedMemPerBlockOptin"),
        ("DeviceProperties13", "host_register", "cudaDeviceProp", "hostRegisterSupported"),
        ("FunctionAttributes", "max_dynamic_shared", "cudaFuncAttributes", "maxDynamicSharedSizeBytes"),
        ("Copy3D", "extent", "cudaMemcpy3DParms", "extent"),
    ]
    checks = [f"static_assert(sizeof({ours}) == sizeof({theirs}));" for ours, theirs in pairs]
    checks += [f"static_assert(offsetof({a}, {b}) == offsetof({c}, {d}));" for a, b, c, d in members]
    includes = ["#include <cuda_runtime_api.h>", f'#include "{ABI}/abi.h"', "using namespace r3::cpu::cudart;"]
    source = tmp_path / "layouts.cpp"
    source.write_text("\n".join([*includes, *checks]) + "\n")
    command = [require_clang().path, "-std=c++17", "-fsyntax-only", f"-I{tree.path}/include", source]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
