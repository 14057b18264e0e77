"""The face of libR3Passes.so: compile, extract and describe device modules; assemble PTX."""

from r3cc.llvm.assembler import (
    Assembled,
    AssembleError,
    AssembleTimeoutError,
    KernelResources,
    assemble,
    recorded_ptxas_flags,
)
from r3cc.llvm.code_object import CodeObjectResources, LinkError, link_code_object, resources_of
from r3cc.llvm.model import (
    AccessPattern,
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
    "AccessPattern",
    "AssembleError",
    "AssembleTimeoutError",
    "Assembled",
    "CodeObjectResources",
    "CompileRequest",
    "CompileResult",
    "GlobalDescription",
    "KernelAttributes",
    "KernelDescription",
    "KernelResources",
    "LinkError",
    "ModuleDescription",
    "ParameterDescription",
    "PassList",
    "Passes",
    "PassesError",
    "PassesStatus",
    "assemble",
    "link_code_object",
    "recorded_ptxas_flags",
    "resources_of",
]
