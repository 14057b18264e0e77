"""The ``r3`` command: one module a verb; each parses, calls and prints."""
