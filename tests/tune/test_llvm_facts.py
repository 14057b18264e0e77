"""The space that LLVM itself describes, through libR3Passes in a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from r3cc.errors import R3Error
from r3cc.llvm import Passes
from r3cc.llvm.model import TablesFound
from r3cc.tune.edits import BasePipeline
from r3cc.tune.library import FIRST, first_edits
from r3cc.tune.llvm_facts import LLVMFacts
from r3cc.tune.space import Space
from tests.tune.llvm_opt import KERNEL, find_opt, o3_text
from tests.tune.synthetic import describe

INFO: dict[str, Any] = {"triple": "nvptx64-nvidia-cuda", "architecture": "sm_90"}


@pytest.fixture
def facts() -> Iterator[LLVMFacts]:
    try:
        Passes()
    except R3Error as missing:
        pytest.skip(str(missing))
    with LLVMFacts() as facts:
        yield facts


def test_the_base_is_the_text_of_the_target(facts: LLVMFacts) -> None:
    gpu = facts.target(INFO, "cuda:0")
    assert gpu.base.nodes == BasePipeline(o3_text()).nodes
    assert gpu.llvm.startswith("22.")
    host = facts.target(INFO, "cpu")
    assert "nvvm-reflect" not in {anchor.name for anchor in host.base.places}
    assert host.vocabulary.keys() & {"gvn", "licm", "loop-unroll"}


@pytest.mark.parametrize("device", ["cuda:0", "cpu"])
def test_every_known_edit_serves_on_every_target(facts: LLVMFacts, device: str) -> None:
    target = facts.target(INFO, device)
    space = Space(target.base, target.vocabulary, (), describe(), [])
    assert first_edits(space) == FIRST


def test_a_kernel_is_described(facts: LLVMFacts, tmp_path: Path) -> None:
    bitcode = tmp_path / "kernel.bc"
    subprocess.run([find_opt(), "-passes=", str(KERNEL), "-o", str(bitcode)], check=True)
    kernel = facts.kernel(bitcode, "_Z6kernelPfPKfS1_ii")
    assert kernel.reads_block_size
    assert kernel.static_shared == 1024
    with pytest.raises(R3Error, match='no kernel "nonsense"'):
        facts.kernel(bitcode, "nonsense")


def test_a_death_is_one_sentence(facts: LLVMFacts, tmp_path: Path) -> None:
    (tmp_path / "broken.bc").write_bytes(b"BC\xc0\xde garbage")
    with pytest.raises(R3Error):
        facts.kernel(tmp_path / "broken.bc", "k")


def test_a_search_goes_on_without_tables_where_llvm_dies_of_them(facts: LLVMFacts, tmp_path: Path) -> None:
    bitcode = tmp_path / "kernel.bc"
    subprocess.run([find_opt(), "-passes=", str(KERNEL), "-o", str(bitcode)], check=True)
    name = "_Z6kernelPfPKfS1_ii"
    facts.kernel(bitcode, name)
    facts._process.end()
    assert facts.tables(bitcode, name) == TablesFound()
    assert facts.kernel(bitcode, name).static_shared == 1024
