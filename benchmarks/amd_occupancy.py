"""What AMD's knobs do to registers and occupancy, read from code objects: the table of docs/hip.md.

``python benchmarks/amd_occupancy.py [gfx908]``; needs no AMD GPU, and times nothing.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from r3cc.llvm import CompileRequest, KernelAttributes, Passes, link_code_object, resources_of
from r3cc.store.demangle import demangle
from r3cc.toolchain.llvm import find_llvm_program, require_clang

SOURCE = Path(__file__).parents[1] / "tests/llvm/inputs/amd_kernels.hip"
ASKED = {
    "as built": KernelAttributes(),
    "waves-per-eu=4": KernelAttributes(waves_per_eu="4"),
    "waves-per-eu=8": KernelAttributes(waves_per_eu="8"),
    "num-vgpr=32": KernelAttributes(num_vgpr="32"),
}


def device_bitcode(architecture: str) -> bytes:
    """The kernels' module at the start of clang's pipeline."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "kernels.bc"
        device = ["-x", "hip", "--cuda-device-only", f"--offload-arch={architecture}", "-nogpuinc", "-nogpulib"]
        start = ["-O3", "-emit-llvm", "-c", "-Xclang", "-disable-llvm-passes"]
        subprocess.run([str(require_clang().path), *device, *start, "-o", str(target), str(SOURCE)], check=True)
        return target.read_bytes()


def cells(bitcode: bytes, attributes: KernelAttributes, linker: Path) -> dict[str, str]:
    """Vector registers, spilled ones and waves a SIMD of each kernel."""
    request = CompileRequest("default<O3>", fp_contract="on", emit="object", kernel_attributes=attributes)
    made = Passes().compile(bitcode, request)
    resources = resources_of(link_code_object(made.output, linker, 60.0))
    return {
        name: f"{each.vgprs} ({each.vgpr_spills} spilled), {made.occupancy[name]} waves"
        for name, each in resources.items()
    }


def main() -> None:
    """Print the table."""
    architecture = sys.argv[1] if len(sys.argv) > 1 else "gfx908"
    linker = find_llvm_program("ld.lld")
    assert linker is not None
    bitcode = device_bitcode(architecture)
    columns = [cells(bitcode, attributes, linker.path) for attributes in ASKED.values()]
    print("| kernel |", " | ".join(ASKED), "|")
    print("| --- " * (len(ASKED) + 1) + "|")
    for name in columns[0]:
        print("|", demangle(name).split("(")[0], "|", " | ".join(column[name] for column in columns), "|")


if __name__ == "__main__":
    main()
