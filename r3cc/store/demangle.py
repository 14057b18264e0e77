"""C++ names as people read them, by the C++ runtime's own demangler."""

from __future__ import annotations

import ctypes
import functools
import re
import subprocess
from pathlib import Path
from typing import Any

from r3cc.toolchain.llvm import find_llvm_program

SPECIALISED = " [specialised]"
LONGEST_PARAMETERS = 40
"""Characters of a list of parameters that a label shows."""
LONGEST_LABEL = 160
"""Characters of a label: names of kernels made of lambdas and templates may have thousands."""
QUALIFIER = re.compile(r"\b[A-Za-z_]\w*::(?=\w)")
VERSION_MARK = re.compile(r"__r3_[0-9a-f]{12}$")
"""What a tuned build adds to the name of a kernel's second version."""
UNIT_MARK = re.compile(r"(__static__|__intern__|\.static\.|\.intern\.)[0-9a-f]{1,16}$")
"""What clang adds to a private name of relocatable device code, so that it differs from other units'."""


@functools.cache
def demangle(name: str) -> str:
    """``_Z5saxpyifPf`` as ``saxpy(int, float, float*)``; a name that is not mangled comes back as it is."""
    plain = VERSION_MARK.sub("", name)
    if plain != name:
        return demangle(plain) + SPECIALISED
    library = _library()
    if library is None or not name.startswith("_Z"):
        return name
    status = ctypes.c_int()
    mangled = UNIT_MARK.sub("", name)
    pointer = library.__cxa_demangle(mangled.encode(), None, None, ctypes.byref(status))
    if not pointer:
        return _by_llvm(mangled)
    try:
        return ctypes.string_at(pointer).decode()
    finally:
        _free(pointer)


def base_name(demangled: str) -> str:
    """A name without parameters and return type: ``ns::step<int>`` of ``void ns::step<int>(double*, int)``."""
    if demangled.endswith(SPECIALISED):
        return base_name(demangled.removesuffix(SPECIALISED)) + SPECIALISED
    name = demangled
    if name.endswith(")"):
        name = name[: _opening(name)] or name
    depth = 0
    for position in range(len(name) - 1, -1, -1):
        depth += (name[position] in ")>}]") - (name[position] in "(<{[")
        if depth == 0 and name[position] == " ":
            return name[position + 1 :]
    return name


def label(demangled: str) -> str:
    """A base name short enough for a table. ``--json`` has the whole; a kernel's id tells labels of one text apart."""
    return shorten(base_name(demangled))


def shorten(name: str) -> str:
    """A name without long lists of parameters, those of a lambda's function too.

    If it is still long, without namespaces; then without what stands behind its first two thirds, but for the end.
    """
    short, start = "", 0
    while (opening := name.find("(", start)) >= 0:
        end = _closing(name, opening)
        short += name[start:opening]
        short += "(…)" if end - opening > LONGEST_PARAMETERS else name[opening:end]
        start = end
    short += name[start:]
    if len(short) > LONGEST_LABEL:
        short = QUALIFIER.sub("", short)
    if len(short) <= LONGEST_LABEL:
        return short
    front = LONGEST_LABEL * 2 // 3
    return f"{short[:front]}…{short[len(short) - LONGEST_LABEL + front + 1 :]}"


def _closing(name: str, opening: int) -> int:
    """Behind the parenthesis that closes the one at ``opening``."""
    depth = 0
    for position in range(opening, len(name)):
        depth += (name[position] == "(") - (name[position] == ")")
        if depth == 0:
            return position + 1
    return len(name)


def _opening(name: str) -> int:
    """Where the parenthesis that closes ``name`` opens."""
    depth = 0
    for position in range(len(name) - 1, -1, -1):
        depth += (name[position] == ")") - (name[position] == "(")
        if depth == 0:
            return position
    return len(name)


def _by_llvm(name: str) -> str:
    """By clang's own demangler, where the C++ runtime is older than what clang 22 writes (constrained templates)."""
    program = _cxxfilt()
    if program is None:
        return name
    done = subprocess.run([program, name], capture_output=True, text=True, check=False)
    return done.stdout.strip() or name


@functools.cache
def _cxxfilt() -> Path | None:
    tool = find_llvm_program("llvm-cxxfilt")
    return tool.path if tool else None


@functools.cache
def _library() -> Any:
    for name in ("libstdc++.so.6", "libc++abi.so.1"):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        library.__cxa_demangle.restype = ctypes.c_void_p
        library.__cxa_demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        return library
    return None


def _free(pointer: int) -> None:
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]
    free.restype = None
    free(pointer)
