"""The levels of a candidate: which of them it uses, and what is left of it without one."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from r3cc.replay.model import Candidate

SOURCE = "source"
LEVELS: Mapping[str, str] = {
    SOURCE: "variant",
    "pipeline": "pipeline",
    "codegen": "codegen",
    "launch": "launch",
    "specialisation": "specialisation",
}
"""Level and the candidate's field that holds it."""
OF_PIPELINE = "mllvm:unroll-threshold-default"
"""An option that stands for what the text of an edited ``default<O3>`` cannot say: it belongs to the pipeline."""


def levels_of(candidate: Candidate) -> tuple[str, ...]:
    """The levels at which a candidate differs from the baseline."""
    return tuple(level for level in LEVELS if uses(candidate, level))


def uses(candidate: Candidate, level: str) -> bool:
    """Whether a candidate differs from the baseline at a level."""
    return hasattr(candidate, LEVELS[level]) and without_level(candidate, level) != candidate


def without_level(candidate: Candidate, level: str) -> Candidate:
    """The candidate with one level as the baseline has it."""
    of_pipeline = tuple(option for option in candidate.codegen if option[0] == OF_PIPELINE)
    others = tuple(option for option in candidate.codegen if option[0] != OF_PIPELINE)
    match LEVELS[level]:
        case "codegen":
            return msgspec.structs.replace(candidate, codegen=of_pipeline)
        case "pipeline":
            return msgspec.structs.replace(candidate, pipeline=None, codegen=others)
        case field:
            return msgspec.structs.replace(candidate, **{field: getattr(Candidate(), field)})
