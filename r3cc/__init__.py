"""R3: record, remix and replay GPU kernels."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("r3cc")
except PackageNotFoundError:  # run from a source tree
    __version__ = "0.1.0"
