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


def test_a_digest_survives_extraction(passes: Passes, pipeline_start: Capture) -> None:
    bitcode = pipeline_start("digest.cu", 3)
    assert passes.kernel_digest(passes.extract(bitcode, READER), READER) == passes.kernel_digest(bitcode, READER)


def test_unit_ids_do_not_matter(passes: Passes, pipeline_start: Capture) -> None:
    first, second = (pipeline_start("digest.cu", 3, "-fgpu-rdc", f"-cuid={unit}") for unit in ("abc", "def"))
    assert first != second
    assert passes.kernel_digest(first, READER) == passes.kernel_digest(second, READER)
