"""ctypes over passes/include/r3passes.h.

LLVM's fatal errors end the process, ``mllvm`` options stay for its life, and a compile may never end: only a compile
process with a deadline may call this.
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from r3cc.errors import R3Error
from r3cc.llvm.model import CompileRequest, CompileResult, ModuleDescription, PassList, SpecialiseRequest, TablesFound
from r3cc.toolchain.native import native_library

LIBRARY = "libR3Passes.so"

T = TypeVar("T")
_Call = Callable[[bytes, int, bytes], int]


class PassesStatus(enum.IntEnum):
    """r3_status: how a call ended."""

    OK = 0
    BAD_REQUEST = 1
    BAD_BITCODE = 2
    BAD_PIPELINE = 3
    BAD_KERNEL = 4
    UNSUPPORTED = 5
    CODEGEN_ERROR = 6


class PassesError(R3Error):
    """A call that did not succeed, with its status."""

    def __init__(self, status: PassesStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class Passes:
    """One loaded libR3Passes.so.

    ``library`` defaults to R3's own. Raises R3Error when it cannot be loaded.
    """

    def __init__(self, library: Path | None = None) -> None:
        path = library or native_library(LIBRARY)
        try:
            self._library = ctypes.CDLL(str(path))
        except OSError as error:
            raise R3Error(f"cannot load {path}: {error}") from error
        _declare(self._library)

    @property
    def llvm_version(self) -> str:
        """The LLVM that the library was built with, such as ``22.1.8``."""
        version: bytes = self._library.r3_llvm_version()
        return version.decode()

    def describe(self, bitcode: bytes) -> ModuleDescription:
        """Kernels with their parameters and launch facts, and globals."""
        _, report = self._take(self._library.r3_describe(bitcode, len(bitcode)))
        return _decode(report, ModuleDescription)

    def describe_kernel(self, bitcode: bytes, kernel: str) -> ModuleDescription:
        """The same with that kernel alone, in a small part of the time."""
        return _decode(self._with_kernel(self._library.r3_describe_kernel, bitcode, kernel)[1], ModuleDescription)

    def extract(self, bitcode: bytes, kernel: str) -> bytes:
        """Bitcode with that kernel alone, computing what it computed in the whole module."""
        return self._with_kernel(self._library.r3_extract, bitcode, kernel)[0]

    def link(self, units: Sequence[bytes]) -> tuple[bytes, tuple[str, ...]]:
        """Bitcode of the units of relocatable device code in one, and the names that they use and none defines."""
        request = msgspec.json.encode({"sizes": [len(unit) for unit in units]})
        output, report = self._with_request(self._library.r3_link, b"".join(units), request)
        return output, _decode(report, dict[str, tuple[str, ...]])["undefined"]

    def specialise(self, bitcode: bytes, request: SpecialiseRequest) -> bytes:
        """Extracted bitcode with constants in place of what the request names."""
        return self._with_request(self._library.r3_specialise, bitcode, msgspec.json.encode(request))[0]

    def tables(self, bitcode: bytes, kernel: str) -> TablesFound:
        """What ``specialise`` takes for a kernel's tables and for its structs passed by value."""
        return _decode(self._with_kernel(self._library.r3_tables, bitcode, kernel)[1], TablesFound)

    def compile(self, bitcode: bytes, request: CompileRequest) -> CompileResult:
        """PTX for a device module, an object for a host module; equal inputs give equal bytes."""
        output, report = self._with_request(self._library.r3_compile, bitcode, msgspec.json.encode(request))
        return msgspec.convert({"output": output, **msgspec.json.decode(report)}, CompileResult)

    def text(self, bitcode: bytes, pipeline: str = "no-op-module") -> str:
        """LLVM's text of a module after a pipeline."""
        return self.compile(bitcode, CompileRequest(pipeline, emit="text")).output.decode(errors="replace")

    def lower_to_host(self, bitcode: bytes, cpu: str = "native") -> bytes:
        """Host bitcode of a device module, for the cpu device; ``compile`` makes the object of it."""
        return self._with_request(self._library.r3_lower_to_host, bitcode, msgspec.json.encode({"cpu": cpu}))[0]

    def host_without(self, lowered: bytes, kernel: str) -> bytes:
        """A lowered module without one kernel's code, which ``host_alone`` of the kernel brings at link."""
        return self._with_kernel(self._library.r3_host_without, lowered, kernel)[0]

    def host_alone(self, lowered: bytes, kernel: str) -> bytes:
        """The code of a kernel that was extracted and lowered, for the link with ``host_without``."""
        return self._with_kernel(self._library.r3_host_alone, lowered, kernel)[0]

    def kernel_digest(self, bitcode: bytes, kernel: str) -> str:
        """Canonical hash of the kernel's closure: stays when unrelated code is edited."""
        _, report = self._with_kernel(self._library.r3_kernel_digest, bitcode, kernel)
        return _decode(report, dict[str, str])["digest"]

    def parse_pipeline(self, pipeline: str, triple: str, cpu: str = "") -> str:
        """The pipeline as LLVM prints it. Raises PassesError (BAD_PIPELINE) that says at which column it fails."""
        request = {"pipeline": pipeline, "triple": triple, "cpu": cpu}
        _, report = self._take(self._library.r3_parse_pipeline(msgspec.json.encode(request)))
        return _decode(report, dict[str, str])["pipeline"]

    def list_passes(self, triple: str, cpu: str = "") -> PassList:
        """The passes that LLVM has for the target."""
        request = msgspec.json.encode({"triple": triple, "cpu": cpu})
        _, report = self._take(self._library.r3_list_passes(request))
        return _decode(report, PassList)

    def _with_kernel(self, call: _Call, bitcode: bytes, kernel: str) -> tuple[bytes, bytes]:
        return self._with_request(call, bitcode, msgspec.json.encode({"kernel": kernel}))

    def _with_request(self, call: _Call, bitcode: bytes, request: bytes) -> tuple[bytes, bytes]:
        return self._take(call(bitcode, len(bitcode), request))

    def _take(self, handle: int) -> tuple[bytes, bytes]:
        """Output and report of a result, which is freed. Raises PassesError unless it is OK."""
        result = ctypes.c_void_p(handle)
        try:
            status = PassesStatus(self._library.r3_result_status(result))
            if status is not PassesStatus.OK:
                raise PassesError(status, self._library.r3_result_message(result).decode(errors="replace"))
            size = ctypes.c_size_t()
            address = self._library.r3_result_output(result, ctypes.byref(size))
            output = ctypes.string_at(address, size.value) if address else b""
            return output, self._library.r3_result_report(result)
        finally:
            self._library.r3_result_free(result)


def _decode(report: bytes, kind: type[T]) -> T:
    return msgspec.json.decode(report, type=kind)


def _declare(library: ctypes.CDLL) -> None:
    bitcode_call = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
    signatures: dict[str, tuple[list[Any], Any]] = {
        "r3_result_status": ([ctypes.c_void_p], ctypes.c_int),
        "r3_result_message": ([ctypes.c_void_p], ctypes.c_char_p),
        "r3_result_report": ([ctypes.c_void_p], ctypes.c_char_p),
        "r3_llvm_version": ([], ctypes.c_char_p),
        "r3_describe": ([ctypes.c_char_p, ctypes.c_size_t], ctypes.c_void_p),
        "r3_describe_kernel": (bitcode_call, ctypes.c_void_p),
        "r3_extract": (bitcode_call, ctypes.c_void_p),
        "r3_compile": (bitcode_call, ctypes.c_void_p),
        "r3_link": (bitcode_call, ctypes.c_void_p),
        "r3_specialise": (bitcode_call, ctypes.c_void_p),
        "r3_tables": (bitcode_call, ctypes.c_void_p),
        "r3_lower_to_host": (bitcode_call, ctypes.c_void_p),
        "r3_host_without": (bitcode_call, ctypes.c_void_p),
        "r3_host_alone": (bitcode_call, ctypes.c_void_p),
        "r3_kernel_digest": (bitcode_call, ctypes.c_void_p),
        "r3_parse_pipeline": ([ctypes.c_char_p], ctypes.c_void_p),
        "r3_list_passes": ([ctypes.c_char_p], ctypes.c_void_p),
    }
    for name, (arguments, result) in signatures.items():
        function = getattr(library, name, None)
        if function is None:
            raise R3Error(f"{LIBRARY} has no {name}: it belongs to another version of R3; install R3 again")
        function.argtypes = arguments
        function.restype = result
    output = library.r3_result_output
    output.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)]
    output.restype = ctypes.c_void_p
    library.r3_result_free.argtypes = [ctypes.c_void_p]
    library.r3_result_free.restype = None
