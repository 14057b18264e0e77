"""Device modules as the capture gives them, built by clang from small CUDA sources."""

import hashlib
import subprocess
from functools import cache
from pathlib import Path

from r3cc.replay.compile import CompileSetup
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.llvm import require_clang

ARCHITECTURE = "sm_90"


@cache
def bitcode(source):
    """Unoptimised device bitcode of a CUDA source text."""
    command = [
        require_clang().path,
        *("-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch={ARCHITECTURE}", "-Wno-unknown-cuda-version"),
        f"--cuda-path={find_cuda().path}",
        *("-O3", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "-o", "-", "-"),
    ]
    return subprocess.run(command, input=source.encode(), capture_output=True, check=True).stdout


def module_info(module, ptxas=()):
    """The JSON of docs/binary-format.md, as far as replay reads it."""
    return {
        "version": 1,
        "module": hashlib.sha256(module).hexdigest(),
        "architecture": ARCHITECTURE,
        "triple": "nvptx64-nvidia-cuda",
        "codegen": {
            "pipeline": "default<O3>",
            "opt_level": 3,
            "codegen_level": 3,
            "fp_contract": "fast",
            "features": "+ptx87",
            "cpu": ARCHITECTURE,
            "vectorize_loops": True,
            "vectorize_slp": True,
            "unroll_loops": True,
            "mllvm": [],
            "ptxas": list(ptxas),
        },
    }


def compile_setup(folder: Path, source, kernel, device, architecture=ARCHITECTURE):
    """What compile processes get for a kernel of a CUDA source text."""
    module = bitcode(source)
    path = folder / "module.bc"
    path.write_bytes(module)
    return CompileSetup(path, module_info(module), kernel, device, architecture, folder / "cache")
