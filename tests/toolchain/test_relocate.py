"""Recorded commands where the tree lies somewhere else."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.relocate import relocated

TEXT = b"__global__ void f() {}\n"


def tree(root: Path, text: bytes = TEXT) -> Path:
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "deep" / "app.cu").write_bytes(text)
    return root


def recorded(root: Path, source: str, directory: str = "") -> dict[str, Any]:
    return {
        "directory": str(root / directory),
        "source": source,
        "source_sha256": hashlib.sha256(TEXT).hexdigest(),
        "command": ["clang++", f"-I{root}/include", "-I", f"{root}-other/include", source],
    }


def test_a_tree_at_its_place_stays(tmp_path: Path) -> None:
    info = recorded(tree(tmp_path / "old"), "src/deep/app.cu")
    assert relocated(info, tree(tmp_path / "new")) == info


def test_a_moved_tree_is_found_from_a_folder_inside_of_it(tmp_path: Path) -> None:
    new = tree(tmp_path / "new")
    found = relocated(recorded(Path("/gone/old"), "src/deep/app.cu"), new / "src")
    assert found["directory"] == str(new)
    assert found["command"] == ["clang++", f"-I{new}/include", "-I", "/gone/old-other/include", "src/deep/app.cu"]


def test_a_build_folder_that_stayed_behind(tmp_path: Path) -> None:
    new = tree(tmp_path / "new")
    found = relocated(recorded(Path("/gone/old"), "/gone/old/src/deep/app.cu", "build"), new)
    assert (found["directory"], found["source"]) == (str(new), str(new / "src/deep/app.cu"))
    assert found["command"][-1] == str(new / "src/deep/app.cu")


def test_another_text_is_not_taken_for_it(tmp_path: Path) -> None:
    info = recorded(Path("/gone/old"), "src/deep/app.cu")
    assert relocated(info, tree(tmp_path / "new", TEXT + b"//\n")) == info


def test_a_cuda_tree_that_is_not_here(tmp_path: Path) -> None:
    info = recorded(tree(tmp_path / "old"), "src/deep/app.cu") | {"command": ["clang++", "--cuda-path=/gone/cuda"]}
    cuda = find_cuda()
    assert cuda is not None
    assert relocated(info, tmp_path)["command"] == ["clang++", f"--cuda-path={cuda.path}"]
