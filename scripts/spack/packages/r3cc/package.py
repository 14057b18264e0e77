# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: F403, F405, D102 (a recipe's names come from Spack)
"""Spack's recipe for R3."""

from spack.package import *


class R3cc(PythonPackage):
    """Record, remix and replay: faster GPU kernels for existing CUDA and HIP applications."""

    license("Apache-2.0 WITH LLVM-exception")

    version("main", branch="main")  # `spack develop --path FOLDER r3cc@main` takes the sources from a folder

    variant("cuda", default=True, description="Replay and tune on NVIDIA GPUs")

    # clang loads R3's plugin, and Python the same library: both need the one shared libLLVM.
    depends_on("llvm@22 +clang +lld +llvm_dylib +link_llvm_dylib targets=all", type=("build", "link", "run"))
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("py-scikit-build-core@1:1", type="build")
    depends_on("boost +context", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("xxhash", type="build")
    depends_on("zstd libs=static,shared", type=("build", "link"))
    depends_on("cuda@12:13.0", type=("build", "run"), when="+cuda")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-click@8.1:8", type=("build", "run"))
    depends_on("py-rich@13:15", type=("build", "run"))
    depends_on("py-msgspec@0.19:0", type=("build", "run"))
    depends_on("py-zstandard@0.22:0", type=("build", "run"))
    depends_on("py-filelock@3.12:4", type=("build", "run"))
    depends_on("py-xxhash@3:4", type=("build", "run"))
    depends_on("py-numpy@1.26:2", type=("build", "run"))
    depends_on("py-nevergrad@1.0.12", type=("build", "run"))
    depends_on("py-tree-sitter", type=("build", "run"))
    depends_on("py-tree-sitter-cuda", type=("build", "run"))
    depends_on("py-cuda-bindings@13", type="run", when="+cuda")
    depends_on("py-nvidia-ml-py@12:", type="run", when="+cuda")

    def setup_build_environment(self, env):
        env.set("R3_LLVM", self.spec["llvm"].prefix)

    def setup_run_environment(self, env):
        env.set("R3_LLVM", self.spec["llvm"].prefix)
        if "+cuda" in self.spec:
            env.set("CUDA_HOME", self.spec["cuda"].prefix)
