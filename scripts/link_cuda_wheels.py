# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Give the libraries of NVIDIA's CUDA wheels the names that linkers look for.

The wheels carry ``libcudart.so.13`` and no ``libcudart.so``, so ``-lcudart`` and CMake's ``CUDAToolkit`` package do
not find it. This adds the missing links beside the libraries, in this Python's environment; running it again changes
nothing.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path


def main() -> None:
    """Link ``lib<name>.so`` to ``lib<name>.so.<major>`` in every ``nvidia/cu<major>/lib`` of this environment."""
    for library in sorted(Path(sysconfig.get_path("purelib")).glob("nvidia/cu1*/lib/lib*.so.*")):
        link = library.with_name(library.name.split(".so.")[0] + ".so")
        if not link.exists():
            link.symlink_to(library.name)


if __name__ == "__main__":
    main()
