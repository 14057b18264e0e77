"""Which modules of a binary for several GPUs the cpu device compiles."""

from __future__ import annotations

from r3cc.record.cpu_modules import newest
from r3cc.store.binary import EmbeddedModule


def module(source: str, architecture: str) -> EmbeddedModule:
    info = {"source": source, "architecture": architecture, "module": f"{source}-{architecture}"}
    return EmbeddedModule(b"", info, False, False, None, "")


def names(modules: list[EmbeddedModule]) -> list[str]:
    return [each.info["module"] for each in modules]


def test_each_source_is_compiled_for_its_newest_architecture() -> None:
    modules = [module("a.cu", "sm_80"), module("a.cu", "sm_120"), module("b.cu", "sm_90a"), module("a.cu", "sm_90")]
    assert names(newest(modules)) == ["a.cu-sm_120", "b.cu-sm_90a"]


def test_variants_of_the_newest_architecture_are_all_compiled() -> None:
    modules = [module("a.cu", "sm_90"), module("a.cu", "sm_90a"), module("a.cu", "sm_80")]
    assert names(newest(modules)) == ["a.cu-sm_90", "a.cu-sm_90a"]


def test_a_source_that_was_compiled_twice_keeps_all() -> None:
    modules = [module("a.cu", "sm_80"), module("a.cu", "sm_90"), module("a.cu", "sm_80")]
    assert newest(modules) == modules
