"""R3: record, remix and replay GPU kernels."""

__version__ = "0.1.0"
"""As in pyproject.toml; asking the installed package's metadata would take a fifth of a verb's start-up time."""
