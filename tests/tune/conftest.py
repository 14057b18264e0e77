"""Fixtures of the tests of tune."""

from __future__ import annotations

import pytest

from r3cc.tune.edits import BasePipeline
from r3cc.tune.passes import Vocabulary, vocabulary
from tests.tune.llvm_opt import list_passes, o3_text


@pytest.fixture(scope="session")
def base() -> BasePipeline:
    return BasePipeline(o3_text())


@pytest.fixture(scope="session")
def passes() -> Vocabulary:
    return vocabulary(list_passes())
