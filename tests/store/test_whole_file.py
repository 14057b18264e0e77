"""A file is there whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from r3cc.store.whole_file import write_whole


def test_folders_are_made_and_contents_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    write_whole(path, b"old")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert [each.name for each in path.parent.iterdir()] == ["file"]


def test_others_may_read_it_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "file", b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_what_does_not_fit_names_the_file(tmp_path: Path) -> None:
    script = (
        "import resource, sys\nfrom pathlib import Path\nfrom r3cc.store.whole_file import write_whole\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "try: write_whole(Path(sys.argv[1]), b'x' * 100)\nexcept OSError as error: print(error.filename)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "file")], capture_output=True, text=True)
    assert done.stdout == f"{tmp_path / 'file'}\n"
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_of_what_failed(tmp_path: Path) -> None:
    (tmp_path / "taken" / "inside").mkdir(parents=True)
    with pytest.raises(OSError) as error:
        write_whole(tmp_path / "taken", b"x")
    assert error.value.filename == str(tmp_path / "taken")
    assert [each.name for each in tmp_path.iterdir()] == ["taken"]
