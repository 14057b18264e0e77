"""The few calls of libclang that R3 needs, typed: functions and where their definitions begin and end."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from r3cc.errors import R3Error
from r3cc.toolchain.llvm import LLVM_MAJOR, require_clang

_CONTAINERS = frozenset({1, 2, 3, 4, 22, 23, 31, 32})
"""CXCursorKind: unexposed declaration, struct, union, class, namespace, linkage, class templates."""
_FUNCTIONS = frozenset({8, 21, 24, 25, 26, 30})
"""Function, method, constructor, destructor, conversion, function template."""
_CONTINUE, _RECURSE = 1, 2


class _String(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("flags", ctypes.c_uint)]


class _Cursor(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("xdata", ctypes.c_int), ("data", ctypes.c_void_p * 3)]


class _Location(ctypes.Structure):
    _fields_ = [("pointers", ctypes.c_void_p * 2), ("offset", ctypes.c_uint)]


class _Range(ctypes.Structure):
    _fields_ = [("pointers", ctypes.c_void_p * 2), ("begin", ctypes.c_uint), ("end", ctypes.c_uint)]


_Visitor = ctypes.CFUNCTYPE(ctypes.c_int, _Cursor, _Cursor, ctypes.c_void_p)


class Definition(msgspec.Struct, frozen=True):
    """A function's definition in a file: from its template header or first attribute to its closing brace."""

    path: str
    line: int
    """Of its name."""
    name: str
    begin: int
    """Byte offsets in the file."""
    end: int


class LibClang:
    """The loaded library. Raises R3Error where there is none of clang's own version."""

    def __init__(self) -> None:
        self._library = _load()
        for name, arguments, result in _SIGNATURES:
            function = getattr(self._library, name)
            function.argtypes, function.restype = arguments, result

    def definitions(self, ast: Path, wanted: Callable[[str], bool]) -> list[Definition]:
        """Functions that are defined in the wanted files, in source order, of a saved syntax tree (a PCH file)."""
        library = self._library
        index = library.clang_createIndex(0, 0)
        unit = library.clang_createTranslationUnit(index, str(ast).encode())
        if not unit:
            raise R3Error("libclang cannot read the syntax tree: its version is not that of clang")
        found: list[Definition] = []
        known: dict[str, bool] = {}

        def visit(cursor: _Cursor, _parent: _Cursor, _data: object) -> int:
            if cursor.kind not in _CONTAINERS and cursor.kind not in _FUNCTIONS:
                return _CONTINUE
            path, line, _ = self._place(library.clang_getCursorLocation(cursor))
            if path not in known:
                known[path] = wanted(path)
            if not known[path]:
                return _CONTINUE
            if cursor.kind in _FUNCTIONS:
                if library.clang_isCursorDefinition(cursor):
                    found.append(self._definition(cursor, path, line))
                return _CONTINUE
            return _RECURSE

        try:
            library.clang_visitChildren(library.clang_getTranslationUnitCursor(unit), _Visitor(visit), None)
        finally:
            library.clang_disposeTranslationUnit(unit)
            library.clang_disposeIndex(index)
        return found

    def _definition(self, cursor: _Cursor, path: str, line: int) -> Definition:
        extent = self._library.clang_getCursorExtent(cursor)
        begin = self._place(self._library.clang_getRangeStart(extent))[2]
        end = self._place(self._library.clang_getRangeEnd(extent))[2]
        return Definition(path, line, self._text(self._library.clang_getCursorSpelling(cursor)), begin, end)

    def _place(self, location: _Location) -> tuple[str, int, int]:
        """File, line and byte offset, of the macro's use where a macro made it."""
        file, line, offset = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_uint()
        references = (ctypes.byref(file), ctypes.byref(line), None, ctypes.byref(offset))
        self._library.clang_getExpansionLocation(location, *references)
        path = self._text(self._library.clang_getFileName(file)) if file.value else ""
        return path, line.value, offset.value

    def _text(self, string: _String) -> str:
        text: bytes = self._library.clang_getCString(string) or b""
        decoded = text.decode(errors="surrogateescape")
        self._library.clang_disposeString(string)
        return decoded


_POINTER = ctypes.c_void_p
_SIGNATURES: list[tuple[str, list[Any], Any]] = [
    ("clang_createIndex", [ctypes.c_int, ctypes.c_int], _POINTER),
    ("clang_disposeIndex", [_POINTER], None),
    ("clang_createTranslationUnit", [_POINTER, ctypes.c_char_p], _POINTER),
    ("clang_disposeTranslationUnit", [_POINTER], None),
    ("clang_getTranslationUnitCursor", [_POINTER], _Cursor),
    ("clang_visitChildren", [_Cursor, _Visitor, _POINTER], ctypes.c_uint),
    ("clang_isCursorDefinition", [_Cursor], ctypes.c_uint),
    ("clang_getCursorLocation", [_Cursor], _Location),
    ("clang_getCursorExtent", [_Cursor], _Range),
    ("clang_getCursorSpelling", [_Cursor], _String),
    ("clang_getRangeStart", [_Range], _Location),
    ("clang_getRangeEnd", [_Range], _Location),
    ("clang_getExpansionLocation", [_Location, *[_POINTER] * 4], None),
    ("clang_getFileName", [_POINTER], _String),
    ("clang_getCString", [_String], ctypes.c_char_p),
    ("clang_disposeString", [_String], None),
]


def _load() -> ctypes.CDLL:
    beside = require_clang().path.resolve().parent.parent / "lib"
    names = [str(path) for path in sorted(beside.glob(f"libclang-{LLVM_MAJOR}.so*"))]
    names += [str(path) for path in sorted(beside.glob(f"libclang.so.{LLVM_MAJOR}*"))]
    for name in [*names, f"libclang-{LLVM_MAJOR}.so.1", f"libclang.so.{LLVM_MAJOR}"]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise R3Error(f"libclang {LLVM_MAJOR} was not found; install it beside clang (Debian: libclang1-{LLVM_MAJOR})")
