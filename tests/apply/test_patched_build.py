"""The whole way of a rewritten source: variant, patch, `git apply`, and a build whose profile finds the kernel."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest

from r3cc.apply.patch import SourceWinner, source_patch, write_patch
from r3cc.apply.profile import write_profile
from r3cc.llvm.inspect import kernel_identity
from r3cc.remix.loop.finals import changes
from r3cc.remix.model import Built
from r3cc.replay.events import KernelPlan, Result
from r3cc.replay.model import Candidate, Interval
from r3cc.store.binary import read_binary
from r3cc.store.model import Module
from r3cc.store.variants import variant_paths
from r3cc.toolchain.cuda import find_cuda
from r3cc.toolchain.native import native_program
from tests.apply.test_profile import entry, profile
from tests.remix.source.project import build_project, built, open_builder

pytestmark = pytest.mark.skipif(not built() or find_cuda() is None, reason="no r3-clang++ or no CUDA tree")
KERNEL = "plain"


def test_after_the_patch_the_profile_finds_the_new_source(tmp_path: Path) -> None:
    module = build_project(tmp_path)
    store = tmp_path / "store"
    builder = open_builder(store, module, KERNEL)
    texts = {region.name: region.text for region in builder.source.regions}
    texts["plain"] = texts["plain"].replace("+ 1.0", "+ R3_PARAM(offset, 2.0, 3.0)")
    texts["square"] = texts["square"].replace("x * x", "x * (x + T(0))")
    made = builder.build(texts, {"offset": "3.0"})
    assert isinstance(made, Built), made
    variant = made.variant
    resolved = texts | {"plain": texts["plain"].replace("R3_PARAM(offset, 2.0, 3.0)", "3.0")}
    regions = changes(builder.source, resolved)
    assert {Path(change.path).name for change in regions} == {"kernels.cu", "square.h"}

    plan = KernelPlan(
        kernel="k", module=module.info["module"], name=KERNEL, demangled=KERNEL, share=1.0, numerics="rounding"
    )
    result = Result(
        at=1.0,
        kernel="k",
        n=0,
        candidate=Candidate(variant=variant.id),
        changes=(),
        baseline_ns=None,
        best_ns=None,
        speedup=Interval(1.5, 1.4, 1.6, 9),
        regions=regions,
        parameters={"offset": "3.0"},
    )
    patch = tmp_path / "tuned.r3.patch"
    write_patch(patch, source_patch([SourceWinner(plan, Module("m", None, module.info, ""), result)], ["test"]))
    recorded = kernel_identity(module.bitcode, KERNEL).digest
    rewritten = kernel_identity(variant_paths(store, variant.id)[0].read_bytes(), KERNEL).digest
    assert recorded != rewritten
    entries = [
        msgspec.structs.replace(entry(KERNEL, digest=digest), pipeline=pipeline)
        for digest, pipeline in ((rewritten, "default<O1>"), (recorded, "default<Os>"))
    ]
    write_profile(tmp_path / "tuned.r3.json", profile(*entries))

    assert pipeline_of_build(tmp_path) == "default<Os>"
    subprocess.run(["git", "apply", str(patch)], cwd=tmp_path / "tree", check=True)
    assert pipeline_of_build(tmp_path) == "default<O1>"


def pipeline_of_build(folder: Path) -> str:
    """Pipeline that a tuned build of the project gives the kernel; its messages are none."""
    cuda = find_cuda()
    assert cuda is not None
    options = ["-O2", "-std=c++17", "--offload-arch=sm_90", f"--cuda-path={cuda.path}", "-Wno-unknown-cuda-version"]
    options += ["-I../tree/include", "-fPIC", "-shared", f"--r3-use={folder}/tuned.r3.json"]
    command = [str(native_program("r3-clang++")), *options, "../tree/kernels.cu", "-o", "tuned.so", "-nostdlib"]
    done = subprocess.run(command, cwd=folder / "build", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    (tuned,) = read_binary(folder / "build/tuned.so")
    return next(str(kernel["pipeline"]) for kernel in tuned.info["kernels"] if kernel["name"] == KERNEL)
