from __future__ import annotations

import pytest

from r3cc.llvm import Passes
from tests.llvm.conftest import Capture

READER = "_Z6readerPfi"


@pytest.mark.parametrize("flag", ["-g", "-DUNRELATED", "-fno-discard-value-names", "-fPIC", "-DPAIR=Renamed"])
def test_a_digest_ignores_what_does_not_matter(passes: Passes, pipeline_start: Capture, flag: str) -> None:
    plain = passes.kernel_digest(pipeline_start("digest.cu", 3), READER)
    assert passes.kernel_digest(pipeline_start("digest.cu", 3, flag), READER) == plain


@pytest.mark.parametrize("flag", ["-DOTHER_CALLEE", "-DOTHER_TABLE", "-DOTHER_WEIGHTS"])
def test_a_digest_sees_what_the_kernel_reaches(passes: Passes, pipeline_start: Capture, flag: str) -> None:
    plain = passes.kernel_digest(pipeline_start("digest.cu", 3), READER)
    assert passes.kernel_digest(pipeline_start("digest.cu", 3, flag), READER) != plain


@pytest.mark.parametrize("flag", ["-DOTHER_ORDER", "-DANNOTATED"])
def test_a_digest_ignores_order_annotations_and_places(passes: Passes, pipeline_start: Capture, flag: str) -> None:
    plain = passes.kernel_digest(pipeline_start("digest_edits.cu", 3), READER)
    assert passes.kernel_digest(pipeline_start("digest_edits.cu", 3, flag), READER) == plain


@pytest.mark.parametrize("flag", ["-DOTHER_TABLE", "-DOTHER_ASSERTION"])
def test_a_digest_sees_which_private_variable_and_which_assertion(
    passes: Passes, pipeline_start: Capture, flag: str
) -> None:
    plain = passes.kernel_digest(pipeline_start("digest_edits.cu", 3), READER)
    assert passes.kernel_digest(pipeline_start("digest_edits.cu", 3, flag), READER) != plain


@pytest.mark.parametrize("source", ["digest.cu", "digest_edits.cu"])
def test_a_digest_survives_extraction(passes: Passes, pipeline_start: Capture, source: str) -> None:
    bitcode = pipeline_start(source, 3)
    assert passes.kernel_digest(passes.extract(bitcode, READER), READER) == passes.kernel_digest(bitcode, READER)


def test_unit_ids_do_not_matter(passes: Passes, pipeline_start: Capture) -> None:
    first, second = (pipeline_start("digest.cu", 3, "-fgpu-rdc", f"-cuid={unit}") for unit in ("abc", "def"))
    assert first != second
    assert passes.kernel_digest(first, READER) == passes.kernel_digest(second, READER)


def test_functions_that_nothing_of_a_kernel_names_may_go(passes: Passes, pipeline_start: Capture) -> None:
    """A call through a pointer reaches all functions whose address is taken, also those of tables that go away."""
    bitcode = pipeline_start("indirect.cu", 3)
    caller, measure = (passes.kernel_digest(bitcode, name) for name in ("_Z6callerPf", "_Z7measurePf"))
    assert caller != measure
    assert passes.kernel_digest(passes.extract(bitcode, "_Z6callerPf"), "_Z6callerPf") == caller
