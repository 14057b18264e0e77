"""R3: record, remix and replay GPU kernels."""

__version__ = "0.1.0"
"""The package's own version, too: pyproject.toml reads it here."""
