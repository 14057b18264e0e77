"""Where a Python that a test starts finds R3 and what this one has."""

import os
from pathlib import Path


def python_path() -> str:
    """This tree before the caller's own ``PYTHONPATH``, which may be where R3's libraries are."""
    return os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
