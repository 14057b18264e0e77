"""The face of libR3Passes.so: compile, extract and describe device modules; assemble PTX."""

from r3cc.llvm.assembler import (
    Assembled,
    AssembleError,
    AssembleTimeoutError,
    KernelResources,
    assemble,
    recorded_ptxas_flags,
)
from r3cc.llvm.model import (
    CompileRequest,
    CompileResult,
    GlobalDescription,
    KernelAttributes,
    KernelDescription,
    ModuleDescription,
    ParameterDescription,
    PassList,
)
from r3cc.llvm.passes import Passes, PassesError, PassesStatus

__all__ = [
    "AssembleError",
    "AssembleTimeoutError",
    "Assembled",
    "CompileRequest",
    "CompileResult",
    "GlobalDescription",
    "KernelAttributes",
    "KernelDescription",
    "KernelResources",
    "ModuleDescription",
    "ParameterDescription",
    "PassList",
    "Passes",
    "PassesError",
    "PassesStatus",
    "assemble",
    "recorded_ptxas_flags",
]
