# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print what pyproject.toml asks for, one requirement a line: the build's own, and the extras named as arguments.

The native build reads headers of the CUDA wheels, so they have to be installed before R3 itself.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path


def main() -> None:
    """Print the requirements."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    for requirements in (project["build-system"]["requires"], *(extras[name] for name in sys.argv[1:])):
        print("\n".join(requirements))


if __name__ == "__main__":
    main()
