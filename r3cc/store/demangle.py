"""C++ names as people read them, by the C++ runtime's own demangler."""

from __future__ import annotations

import ctypes
import functools
import re
from typing import Any

SPECIALISED = " [specialised]"
VERSION_MARK = re.compile(r"__r3_[0-9a-f]{12}$")
"""What a tuned build adds to the name of a kernel's second version."""


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
    pointer = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if not pointer:
        return name
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


def _opening(name: str) -> int:
    """Where the parenthesis that closes ``name`` opens."""
    depth = 0
    for position in range(len(name) - 1, -1, -1):
        depth += (name[position] == ")") - (name[position] == "(")
        if depth == 0:
            return position
    return len(name)


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
