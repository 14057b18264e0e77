"""What optimizers vary: edits to the pipeline and values of knobs."""

from __future__ import annotations

from typing import Any

import msgspec

from r3cc.tune.edits import Edits

Knobs = tuple[tuple[str, str], ...]
"""Sorted (key, value) pairs; a knob at its default is absent."""


class Genotype(msgspec.Struct, frozen=True):
    """A point of the search space. Empty means the recorded build; ``pipeline`` of O3 with no edits is ``o3``."""

    edits: Edits = ()
    knobs: Knobs = ()

    def document(self) -> dict[str, Any]:
        """Its JSON form in the event log."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        return document

    @staticmethod
    def of(document: dict[str, Any]) -> Genotype:
        """The genotype of a JSON form; raises msgspec.ValidationError."""
        return msgspec.convert(document, Genotype)
