"""R3's own libraries, loaded into a program before all others."""

from __future__ import annotations

from r3cc.errors import R3Error
from r3cc.toolchain.native import native_library

SEPARATORS = " :"
"""Of the dynamic loader, which knows no way to quote them."""


def preload(*names: str) -> dict[str, str]:
    """LD_PRELOAD with these libraries of R3's. Raises R3Error where one is missing, or lies where it can't be named."""
    paths = [str(native_library(name)) for name in names]
    for path in paths:
        if any(each in path for each in SEPARATORS):
            raise R3Error(f"{path} cannot be preloaded: its path has a blank or a colon; install R3 in another folder")
    return {"LD_PRELOAD": ":".join(paths)}
