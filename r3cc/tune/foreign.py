"""The space of a kernel without IR: its launch shape, and where there is PTX what ptxas makes of it."""

from __future__ import annotations

from collections.abc import Sequence

from r3cc.replay.compile import CompileSetup
from r3cc.replay.foreign import ptx_of
from r3cc.replay.model import Numerics
from r3cc.toolchain.cuda import find_ptxas
from r3cc.tune.blocks import Shape, block_knob
from r3cc.tune.foreign_facts import block_is_bound, cubin_facts, ptx_facts
from r3cc.tune.knob_space import KnobSpace
from r3cc.tune.knobs import Knob, Scope, allowed

PTXAS_KNOBS = (
    Knob("ptxas-opt", Scope.MODULE, ("1", "2", "3"), "ptxas optimisation level"),
    Knob(
        "maxrregcount",
        Scope.MODULE,
        ("32", "40", "48", "64", "80", "96", "128", "168"),
        "most registers a thread",
        with_block=True,
    ),
    Knob("ptxas:register-usage-level", Scope.MODULE, ("0", "3", "8", "10"), "registers that optimisation may cost"),
    Knob("ptxas:def-load-cache", Scope.MODULE, ("cg", "cs"), "where loads are cached"),
    Knob("ptxas:def-store-cache", Scope.MODULE, ("cg", "cs"), "where stores are cached"),
    Knob("ptxas:fmad", Scope.MODULE, ("false",), "no fusion of multiply and add", Numerics.ROUNDING),
)
"""A knob stands here because a test shows that it changes the machine code (tests/tune/test_foreign.py)."""


def foreign_space(setup: CompileSetup, shapes: Sequence[Shape], numerics: Numerics) -> KnobSpace:
    """The space of a kernel, by its PTX, else its machine code."""
    text = ptx_of(setup)
    facts = ptx_facts(text, setup.kernel) if text is not None else cubin_facts(setup.bitcode.read_bytes(), setup.kernel)
    why_fixed = block_is_bound(facts, shapes)
    assembler = PTXAS_KNOBS if text is not None and find_ptxas() is not None else ()
    launch = block_knob(facts.description, shapes) if why_fixed is None else ()
    return KnobSpace((*allowed(assembler, numerics, on_gpu=True), *launch), why_fixed)
