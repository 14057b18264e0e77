"""What a search may insert into a pipeline: LLVM's own list of passes, less the denied ones, with their parameters."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from r3cc.tune.denied import DENIED_PARAMETERS, DENIED_PASSES, FORCED_PARAMETERS

NUMBERS = ("0", "1", "2", "4", "8", "16", "32", "64", "128")
"""Values tried for a parameter that takes a count."""
EXCLUSIVE = frozenset({"preserve-cfg", "modify-cfg"})
"""Flags of which LLVM takes one, though neither is spelt as the other's negation."""
LEVELS = re.compile(r"O[0-3sz]")


class Level(enum.StrEnum):
    """What a pass runs on, and so the adaptor it needs."""

    MODULE = "module"
    CGSCC = "cgscc"
    FUNCTION = "function"
    LOOP = "loop"
    LOOP_MSSA = "loop-mssa"


class Option(msgspec.Struct, frozen=True):
    """One choice among a pass's parameters: at most one of ``values`` stands in the text."""

    values: tuple[str, ...]

    def holds(self, parameter: str) -> bool:
        """Whether ``parameter`` is one of the values."""
        return parameter in self.values


class Pass(msgspec.Struct, frozen=True):
    """A pass that may be inserted, on the level that it needs."""

    name: str
    level: Level
    options: tuple[Option, ...] = ()

    def parameters(self, chosen: Sequence[str]) -> str | None:
        """The parameter text for chosen option values, with what R3 always gives this pass; None for none."""
        every = [*chosen, *(p for p in FORCED_PARAMETERS.get(self.name, ()) if p not in chosen)]
        return ";".join(every) or None


Vocabulary = Mapping[str, Pass]
"""Passes by name."""


def vocabulary(listing: Mapping[str, Any]) -> Vocabulary:
    """Insertable passes from LLVM's list (r3_list_passes: names by level, and ``parameters`` by name)."""
    parameters = listing.get("parameters", {})
    found: dict[str, Pass] = {}
    for level in Level:
        for name in listing.get(level.value, ()):
            if name not in found and is_allowed(name):
                found[name] = Pass(name, level, options_of(name, parameters.get(name, "")))
    return found


def is_allowed(name: str) -> bool:
    """Whether a pass by this name may be inserted; names with a parameter list of their own (``print<da>``) may not."""
    return name not in DENIED_PASSES and "<" not in name


def options_of(name: str, text: str) -> tuple[Option, ...]:
    """Choices in LLVM's description of a pass's parameters, such as ``no-pre;pre;max-iterations=N``."""
    denied = DENIED_PARAMETERS.get(name, ())
    words = [word for word in text.split(";") if word and word.split("=")[0] not in denied]
    levels = tuple(word for word in words if LEVELS.fullmatch(word))
    exclusive = tuple(word for word in words if word in EXCLUSIVE)
    flags = [word for word in words if "=" not in word and word not in (*levels, *exclusive)]
    numbers = [word.removesuffix("=N") for word in words if word.endswith("=N")]
    options = [Option(values) for values in (levels, exclusive) if values]
    options += [Option((flag, f"no-{flag}") if f"no-{flag}" in flags else (flag,)) for flag in _stems(flags)]
    options += [Option(tuple(f"{number}={value}" for value in NUMBERS)) for number in numbers]
    return tuple(options)


def _stems(flags: list[str]) -> list[str]:
    """Flags without the negations of others."""
    return [flag for flag in flags if not (flag.startswith("no-") and flag.removeprefix("no-") in flags)]
