"""Files that appear whole or not at all."""

from __future__ import annotations

import secrets
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, and the folders above it, whoever else writes the same.

    Raises OSError with the file's name, and leaves nothing then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_whole(path, content)


def replace_whole(path: Path, content: bytes) -> None:
    """The same in a folder that is there: a mistyped path of the user's must not make one."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except BaseException as error:
        unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError):  # writing names no file, and nobody knows the unfinished one
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
