"""Compiles the modules of a library that a program on the cpu device has loaded by itself (``dlopen``).

libr3cpu.so starts it, as ``python -m r3cc.record.late_modules LIBRARY FOLDER``, when a kernel is used that nobody could
compile before the program started.
"""

from __future__ import annotations

import sys
from pathlib import Path

from r3cc.errors import R3Error
from r3cc.record.cpu_modules import build_modules, newest
from r3cc.store.binary import read_binary


def compile_library(library: Path, folder: Path) -> None:
    """Write ``<module id>.so`` into ``folder`` for the modules of ``library`` that it lacks. Raises R3Error."""
    build_modules(newest(read_binary(library)), folder)


def main() -> None:
    """The command above; status 1 and a sentence where a module can't run on the cpu device."""
    library, folder = map(Path, sys.argv[1:])
    print(f"r3: compiling the kernels of {library} for the cpu device", file=sys.stderr, flush=True)
    try:
        compile_library(library, folder)
    except R3Error as error:
        sys.exit(f"r3: {error}")


if __name__ == "__main__":
    main()
