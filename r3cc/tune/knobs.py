"""Code-generation knobs: keys of ``Candidate.codegen`` with the values worth trying.

A knob stands here only because a test shows that it changes the object (tests/tune/test_knobs.py).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

import msgspec

from r3cc.replay.model import Numerics


class Scope(enum.StrEnum):
    """What one value of a knob holds for in the user's build (architecture section 7)."""

    KERNEL = "kernel"
    MODULE = "module"


class Knob(msgspec.Struct, frozen=True):
    """One thing to choose; without a choice the recorded build's own value holds."""

    key: str
    scope: Scope
    values: tuple[str, ...]
    what: str
    """What it does, in a few words."""
    numerics: Numerics = Numerics.BITWISE
    """Strictest numerics at which it may be used."""
    gpu_only: bool = False
    recorded: str = ""
    """The recorded build's own value, where it is known."""
    with_block: bool = False
    """It decides, with the block shape, what a multiprocessor holds: both are chosen together."""


BLOCK = "block"
"""Key of the block-shape knob, the one that is not a key of ``Candidate.codegen``."""
BLOCK_FOR = "block-for"
"""Key beside ``BLOCK``: the recorded launch shapes that get the block, where it does not pay for all of them."""
BLOCK_BY_SHAPE = "block-by-shape"
"""Key beside ``BLOCK``: recorded launch shapes that get a block of their own."""
LAUNCHED = "launched"
"""Value of ``maxntid``: the block that the candidate launches."""

KERNEL_KNOBS = (
    Knob("maxntid", Scope.KERNEL, (LAUNCHED,), "promise the launched block size", gpu_only=True, with_block=True),
    Knob(
        "minctasm",
        Scope.KERNEL,
        ("1", "2", "3", "4", "6", "8"),
        "blocks a multiprocessor shall hold",
        gpu_only=True,
        with_block=True,
    ),
    Knob(
        "maxnreg",
        Scope.KERNEL,
        ("32", "40", "48", "64", "80", "96", "128", "168", "255"),
        "most registers a thread",
        gpu_only=True,
        with_block=True,
    ),
)
MODULE_KNOBS = (
    Knob("opt-level", Scope.MODULE, ("1", "2", "3"), "code-generation level"),
    Knob("fp-contract", Scope.MODULE, ("never",), "no fusion of multiply and add", Numerics.ROUNDING),
    Knob("ptxas-opt", Scope.MODULE, ("1", "2", "3"), "ptxas optimisation level", gpu_only=True),
    Knob("mllvm:unroll-threshold", Scope.MODULE, ("50", "150", "600", "1200"), "size that unrolling may reach"),
    Knob("mllvm:unroll-count", Scope.MODULE, ("1", "2", "4", "8"), "unroll every loop this often"),
    Knob("mllvm:unroll-runtime", Scope.MODULE, ("0", "1"), "unroll loops of unknown length"),
    Knob("mllvm:inline-threshold", Scope.MODULE, ("25", "100", "1000", "5000"), "size up to which calls are inlined"),
    Knob("mllvm:disable-lsr", Scope.MODULE, ("1",), "no loop strength reduction"),
    Knob("mllvm:disable-cgp", Scope.MODULE, ("1",), "no preparation of addresses for code generation"),
    Knob("mllvm:disable-machine-licm", Scope.MODULE, ("1",), "no late hoisting out of loops"),
    Knob("mllvm:disable-nvptx-load-store-vectorizer", Scope.MODULE, ("1",), "no wide accesses", gpu_only=True),
    Knob("mllvm:nvptx-sched4reg", Scope.MODULE, ("1",), "schedule for few registers", gpu_only=True),
    Knob("mllvm:nvptx-prec-divf32", Scope.MODULE, ("0", "1"), "approximate float division", Numerics.APPROX, True),
    Knob("mllvm:nvptx-prec-sqrtf32", Scope.MODULE, ("0",), "approximate float square root", Numerics.APPROX, True),
)
STRICTNESS = (Numerics.BITWISE, Numerics.ROUNDING, Numerics.APPROX)


def allowed(knobs: Iterable[Knob], numerics: Numerics, on_gpu: bool) -> tuple[Knob, ...]:
    """The knobs that a search at these numerics may vary on this kind of device."""
    reach = STRICTNESS[: STRICTNESS.index(numerics) + 1]
    return tuple(knob for knob in knobs if knob.numerics in reach and (on_gpu or not knob.gpu_only))
