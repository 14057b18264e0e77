"""AMD's code objects: linking them, and what their notes say of each kernel."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from r3cc.errors import R3Error
from r3cc.store.elf import ElfFile

METADATA_NOTE = 32
"""NT_AMDGPU_METADATA; its descriptor is MessagePack."""
LINK = ("-shared", "--no-undefined", "--build-id=none")
"""As clang's driver links a device image; a build id would only repeat the content."""


class LinkError(R3Error):
    """ld.lld refused the object, or could not be run."""


class CodeObjectResources(msgspec.Struct, frozen=True):
    """What one kernel needs, as the metadata of its code object says."""

    vgprs: int
    """Vector registers a thread; on gfx90a and gfx94x accumulation registers are among them."""
    agprs: int
    """Accumulation registers a thread."""
    sgprs: int
    """Scalar registers a wave."""
    vgpr_spills: int
    sgpr_spills: int
    shared: int
    """Static LDS bytes a block."""
    private: int
    """Scratch bytes a thread."""
    wave: int
    """Threads a wave: 32 or 64."""
    max_threads: int
    """Threads a block that the code was compiled for."""


def link_code_object(code: bytes, linker: Path, timeout_s: float) -> bytes:
    """The code object that the runtime loads, from the compiler's object. Raises LinkError."""
    with tempfile.TemporaryDirectory(prefix="r3-link-") as folder:
        source, target = Path(folder) / "kernel.o", Path(folder) / "kernel.hsaco"
        source.write_bytes(code)
        command = [str(linker), *LINK, "-o", str(target), str(source)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise LinkError(f"ld.lld did not end within {timeout_s:g} s") from None
        except OSError as error:
            raise LinkError(f"cannot run {linker}: {error.strerror}") from error
        if done.returncode != 0:
            raise LinkError(f"ld.lld: {(done.stderr.strip() or 'no message').splitlines()[0]}")
        return target.read_bytes()


def resources_of(code: bytes) -> dict[str, CodeObjectResources]:
    """Resources of the kernels of a code object, by mangled name. Raises R3Error where it has no metadata."""
    with tempfile.NamedTemporaryFile(prefix="r3-code-", suffix=".hsaco") as file:
        file.write(code)
        file.flush()
        return resources_of_file(Path(file.name))


def resources_of_file(path: Path) -> dict[str, CodeObjectResources]:
    """The same of a file."""
    with ElfFile(path) as elf:
        for note in elf.notes():
            if note.type == METADATA_NOTE and note.name == b"AMDGPU":
                return {kernel[".name"]: _resources(kernel) for kernel in _kernels(path, note.descriptor)}
    raise R3Error(f"{path} is no code object of an AMD GPU: it has no AMDGPU metadata")


def _kernels(path: Path, descriptor: bytes) -> list[dict[str, Any]]:
    try:
        return list(msgspec.msgpack.decode(descriptor).get("amdhsa.kernels", []))
    except (msgspec.DecodeError, AttributeError) as error:
        raise R3Error(f"the AMDGPU metadata of {path} is damaged: {error}") from None


def _resources(kernel: dict[str, Any]) -> CodeObjectResources:
    return CodeObjectResources(
        vgprs=kernel.get(".vgpr_count", 0),
        agprs=kernel.get(".agpr_count", 0),
        sgprs=kernel.get(".sgpr_count", 0),
        vgpr_spills=kernel.get(".vgpr_spill_count", 0),
        sgpr_spills=kernel.get(".sgpr_spill_count", 0),
        shared=kernel.get(".group_segment_fixed_size", 0),
        private=kernel.get(".private_segment_fixed_size", 0),
        wave=kernel.get(".wavefront_size", 64),
        max_threads=kernel.get(".max_flat_workgroup_size", 1024),
    )
