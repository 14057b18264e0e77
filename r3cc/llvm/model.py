"""Requests and answers of the replay compiler (passes/include/r3passes.h) as values."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from r3cc.errors import R3Error

FPContract = Literal["off", "on", "fast", "never"]
Emit = Literal["assembly", "object", "bitcode", "text"]


class KernelAttributes(msgspec.Struct, frozen=True, omit_defaults=True):
    """Launch bounds put on every kernel of the module; None keeps the source's, an empty text removes it."""

    maxntid: str | None = None
    """Most threads a block, ``"256"`` or ``"16,16,1"``."""
    minctasm: str | None = None
    """Fewest blocks that must fit on a multiprocessor."""
    maxnreg: str | None = None
    """Most registers a thread."""
    flat_work_group_size: str | None = None
    """AMD: fewest and most threads a block, ``"1,256"``."""
    waves_per_eu: str | None = None
    """AMD: waves that a SIMD shall hold, ``"4"`` or ``"4,8"``."""
    num_vgpr: str | None = None
    """AMD: most vector registers a thread."""


class CompileRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """One module, one pipeline, one set of code-generation options.

    ``mllvm`` options are global to a process: the first request of a process decides them.
    """

    pipeline: str
    codegen_level: int = 3
    """0 to 3."""
    fp_contract: FPContract = "fast"
    """As clang's ``-ffp-contract``; ``never`` also drops the permission to fuse that the IR carries."""
    cpu: str | None = None
    """None: the module's; for a host module without one, this machine's."""
    features: str | None = None
    vectorize_loops: bool = True
    vectorize_slp: bool = True
    unroll_loops: bool = True
    mllvm: tuple[str, ...] = ()
    kernel_attributes: KernelAttributes = KernelAttributes()
    remarks: bool = False
    emit: Emit = "assembly"

    @classmethod
    def from_recorded(cls, codegen: Mapping[str, Any]) -> CompileRequest:
        """The baseline: what the application's build did, from a recorded module's ``codegen`` facts.

        Raises R3Error when a fact is missing or of the wrong type.
        """
        missing = sorted(_RECORDED - codegen.keys())
        if missing:
            raise R3Error(f"the recorded module's codegen facts lack {', '.join(missing)}; record it again")
        try:
            return msgspec.convert({key: codegen[key] for key in sorted(_RECORDED)}, cls)
        except msgspec.ValidationError as error:
            raise R3Error(f"the recorded module's codegen facts are damaged: {error}") from error


_RECORDED = frozenset(
    {
        "pipeline",
        "codegen_level",
        "fp_contract",
        "cpu",
        "features",
        "vectorize_loops",
        "vectorize_slp",
        "unroll_loops",
        "mllvm",
    }
)


class SpecialiseRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a kernel's code shall take for granted."""

    kernel: str
    arguments: tuple[str, ...] = ()
    """Parameter index and bytes in hex, lowest first: ``"2=10270000"``."""
    block: str | None = None
    """``"128,1,1"``; so is ``grid``."""
    grid: str | None = None
    tables: tuple[str, ...] = ()
    """``"@name=<hex>"`` for a variable, ``"2+16=<hex>"`` for bytes behind argument 2."""


class VariableTable(msgspec.Struct, frozen=True):
    """A variable that no launch of the kernel changes before it reads it."""

    name: str
    size: int
    """Bytes."""


class MemoryTable(msgspec.Struct, frozen=True):
    """Bytes behind a pointer argument of which the same is true."""

    argument: int
    offset: int
    size: int


class TablesFound(msgspec.Struct, frozen=True):
    """What a kernel's code could take for constant, beside scalars."""

    variables: tuple[VariableTable, ...] = ()
    memory: tuple[MemoryTable, ...] = ()
    values: tuple[int, ...] = ()
    """Arguments that are structs without pointers, passed by value."""


class CompileResult(msgspec.Struct, frozen=True):
    """What one compile made."""

    output: bytes
    """PTX text, an object file, or bitcode, as the request's ``emit`` says."""
    ir_hash: str
    """SHA-256 of the optimised IR, without debug information and names."""
    optimise_ns: int
    codegen_ns: int
    remarks: tuple[str, ...] = ()
    occupancy: dict[str, int] = {}
    """AMD: waves a SIMD holds, by mangled name, as LLVM derives it from registers and LDS."""

    @property
    def output_hash(self) -> str:
        """SHA-256 of the output."""
        return hashlib.sha256(self.output).hexdigest()


class ParameterDescription(msgspec.Struct, frozen=True):
    """One kernel parameter: its bytes in the argument buffer and its LLVM type."""

    offset: int
    size: int
    type: str
    name: str = ""


class AccessPattern(msgspec.Struct, frozen=True):
    """Loads, stores and atomics of a kernel on global memory whose addresses follow the thread in one way."""

    bytes: int
    """Of one thread."""
    strides: tuple[int | None, int | None, int | None]
    """Bytes to the next thread's address along x, y and z; None where that is no constant."""
    count: int

    @property
    def is_uniform(self) -> bool:
        """Whether all threads of a block have one address."""
        return self.strides == (0, 0, 0)


class KernelDescription(msgspec.Struct, frozen=True):
    """A kernel and the facts that decide which launches of it are legal."""

    name: str
    line: int
    parameters: tuple[ParameterDescription, ...]
    globals: tuple[str, ...]
    reads_block_size: bool
    reads_grid_size: bool
    static_shared: int
    """Bytes."""
    dynamic_shared: bool
    barriers: int
    """Calls in the kernel's closure; so are the next two."""
    warp_operations: int
    atomics: int
    max_threads: int | None
    """Threads a block that the source's launch bounds allow, None without bounds."""
    element_types: dict[str, str]
    """Parameter index to the one element type ("float", "double", "i32", …) accessed through it."""
    global_element_types: dict[str, str]
    written_only: tuple[int, ...] = ()
    """Parameters through which the kernel only stores."""
    accesses: tuple[AccessPattern, ...] = ()


class GlobalDescription(msgspec.Struct, frozen=True):
    """A ``__device__`` or ``__constant__`` variable of a module."""

    name: str
    size: int
    space: Literal["global", "constant"]
    internal: bool
    mutable: bool


class ModuleDescription(msgspec.Struct, frozen=True):
    """What a module holds."""

    kernels: tuple[KernelDescription, ...]
    globals: tuple[GlobalDescription, ...]

    def kernel(self, name: str) -> KernelDescription:
        """The kernel of that mangled name. Raises R3Error if there is none."""
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        raise R3Error(f"the module has no kernel {name}")


class PassList(msgspec.Struct, frozen=True, rename={"loop_mssa": "loop-mssa"}):
    """The passes of this LLVM for one target, by the adaptor that takes them."""

    module: tuple[str, ...]
    cgscc: tuple[str, ...]
    function: tuple[str, ...]
    loop: tuple[str, ...]
    loop_mssa: tuple[str, ...]
    parameters: dict[str, str]
    """Pass to the options it takes, as LLVM lists them."""
