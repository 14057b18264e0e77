"""What a search never inserts into a pipeline, by exact name, and why.

Everything else that LLVM lists is tried, so that a new LLVM's passes are found without an edit here.
"""

from __future__ import annotations

from collections.abc import Mapping

_REASONS: Mapping[str, str] = {
    "prints or draws, and leaves the code as it is": """
        aa-eval dot-callgraph dot-cfg dot-cfg-only dot-ddg dot-dom dot-dom-only dot-post-dom dot-post-dom-only
        count-visits func-properties-stats helloworld instcount kernel-info lint pa-eval print print-alias-sets
        print-callgraph print-callgraph-sccs print-cfg-sccs print-ir-similarity print-lcg print-lcg-dot
        print-memderefs print-must-be-executed-contexts print-mustexecute print-predicateinfo
        print-profile-summary print-stack-safety view-callgraph view-cfg view-cfg-only view-dom view-dom-only
        view-post-dom view-post-dom-only transform-warning annotation-remarks annotation2metadata""",
    "checks only": "check-debugify prof-verify verify",
    "does nothing": "no-op-module no-op-cgscc no-op-function no-op-loop no-op-loopnest invalidate",
    "made to crash or fail, for LLVM's own tests": """
        trigger-crash-module trigger-crash-function trigger-verifier-error""",
    "changes names, debug information or metadata, not code": """
        add-discriminators assign-guid canonicalize-aliases debugify declare-to-assign embed-bitcode instnamer
        metarenamer name-anon-globals redundant-dbg-inst-elim strip strip-dead-prototypes
        strip-dead-cg-profile strip-dead-debug-info strip-debug-declare strip-nondebug
        strip-nonlinetable-debuginfo cg-profile normalize
        drop-unnecessary-assumes""",
    "instruments the code": """
        asan bounds-checking cfguard ctx-instr-gen ctx-instr-lower dfsan ee-instrument hwasan insert-gcov-profiling
        instrprof jmc-instrumenter kcfi memprof memprof-module msan nsan pgo-instr-gen pseudo-probe
        pseudo-probe-update rtsan safe-stack sancov-module sanmd-module stack-protector tsan tsan-module tysan
        alloc-token lower-allow-check""",
    "needs a profile of the program": """
        chr ctx-prof-flatten ctx-prof-flatten-prethinlink memprof-context-disambiguation memprof-remove-attributes
        memprof-use pgo-force-function-attrs pgo-icall-prom pgo-instr-use pgo-memop-opt prof-inject sample-profile
        inliner-ml-advisor-release""",
    "belongs to link-time optimisation, which sees the whole program": """
        cross-dso-cfi elim-avail-extern fatlto-cleanup fatlto-pre-link function-import globalsplit lowertypetests
        lto lto-pre-link noinline-nonprevailing norecurse-lto-inference simplify-type-tests thinlto
        thinlto-pre-link wholeprogramdevirt global-merge-func""",
    "would remove the kernel, or what the host and other kernels reach by name": """
        extract-blocks internalize loop-extract blockextract rewrite-symbols global-merge""",
    "is a whole pipeline": "default function-simplification inliner-wrapper inliner-wrapper-no-mandatory-first "
    "scc-oz-module-inliner",
    "is for another language or target": """
        callbr-prepare coro-annotation-elide coro-cleanup coro-early coro-elide coro-split declare-runtime-libcalls
        dwarf-eh-prepare dxil-upgrade gc-lowering hipstdpar-interpose-alloc hipstdpar-math-fixup
        hipstdpar-select-accelerator-code lower-guard-intrinsic lower-ifunc lower-invoke lower-widenable-condition
        make-guards-explicit objc-arc objc-arc-contract objc-arc-expand place-safepoints
        rewrite-statepoints-for-gc shadow-stack-gc-lowering sjlj-eh-prepare strip-gc-relocates wasm-eh-prepare
        win-eh-prepare guard-widening loop-predication lower-emutls lower-global-dtors""",
    "is the target's own lowering, which runs once in its place": """
        atomic-expand codegenprepare complex-deinterleaving expand-ir-insts expand-large-div-rem
        expand-fp expand-memcmp expand-reductions expand-variadics free-machine-function hardware-loops
        indirectbr-expand interleaved-access interleaved-load-combine pre-isel-intrinsic-lowering
        replace-with-veclib scalarize-masked-mem-intrin select-optimize typepromotion unreachableblockelim
        partially-inline-libcalls nvvm-reflect nvvm-intr-range generic-to-nvvm
        nvptx-ir-peephole nvptx-lower-args nvptx-lower-ctor-dtor nvptx-tag-invariant-loads inject-tli-mappings
        rel-lookup-table-converter x86-lower-amx-intrinsics x86-lower-amx-type x86-partial-reduction
        jump-table-to-switch""",
    "drops the atomicity of operations that threads share": "lower-atomic",
    "outlines code into calls, which a GPU pays dearly": "hotcoldsplit iroutliner partial-inliner",
    "stands for an analysis": "recompute-globalsaa",
    "does not serve on its own": """
        extra-simple-loop-unswitch-passes extra-vector-passes sandbox-vectorizer openmp-opt openmp-opt-postlink
        openmp-opt-cgscc canon-freeze reg2mem fix-irreducible unify-loop-exits assume-builder""",
}

DENIED_PASSES: Mapping[str, str] = {name: why for why, names in _REASONS.items() for name in names.split()}
"""Pass name and the reason why a search never inserts it."""

DENIED_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "instcombine": ("verify-fixpoint", "no-verify-fixpoint"),
}
"""Parameters that are never varied: LLVM aborts when instcombine's fixpoint check fails."""

FORCED_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "instcombine": ("no-verify-fixpoint",),
}
"""Parameters that a pass is always given: instcombine in a text checks its fixpoint unless told not to."""
