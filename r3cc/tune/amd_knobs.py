"""Code-generation knobs of AMD's GPUs.

A knob stands here only because a test shows that it changes the object (tests/tune/test_amd_knobs.py).
"""

from __future__ import annotations

from r3cc.tune.knobs import MODULE_KNOBS, Knob, Scope

AMD_KERNEL_KNOBS = (
    Knob(
        "waves-per-eu",
        Scope.KERNEL,
        ("1", "2", "4", "6", "8"),
        "waves a SIMD shall hold",
        gpu_only=True,
        with_block=True,
    ),
    Knob(
        "flat-work-group-size",
        Scope.KERNEL,
        ("1,64", "1,128", "1,256", "1,512", "1,1024"),
        "threads a block that the code is for",
        gpu_only=True,
        with_block=True,
    ),
    Knob(
        "num-vgpr",
        Scope.KERNEL,
        ("32", "64", "96", "128", "256"),
        "most vector registers a thread",
        gpu_only=True,
        with_block=True,
    ),
)
AMD_MODULE_KNOBS = (
    *(knob for knob in MODULE_KNOBS if not knob.gpu_only),
    Knob(
        "mllvm:amdgpu-sched-strategy",
        Scope.MODULE,
        ("max-ilp", "max-memory-clause", "iterative-ilp"),
        "what the scheduler is after",
        gpu_only=True,
    ),
    Knob("mllvm:amdgpu-use-amdgpu-trackers", Scope.MODULE, ("1",), "AMD's own measure of pressure", gpu_only=True),
    Knob("mllvm:amdgpu-scalar-ir-passes", Scope.MODULE, ("0",), "no late scalar passes", gpu_only=True),
    Knob("mllvm:amdgpu-load-store-vectorizer", Scope.MODULE, ("0",), "no wide accesses", gpu_only=True),
    Knob("mllvm:amdgpu-scalarize-global-loads", Scope.MODULE, ("0",), "uniform loads by vector", gpu_only=True),
    Knob("mllvm:amdgpu-max-memory-clause", Scope.MODULE, ("4", "8"), "loads that stand together", gpu_only=True),
    Knob("mllvm:amdgpu-set-wave-priority", Scope.MODULE, ("1",), "waves that load go first", gpu_only=True),
    Knob("mllvm:amdgpu-sdwa-peephole", Scope.MODULE, ("0",), "no operations on parts of words", gpu_only=True),
)
