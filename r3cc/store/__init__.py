"""The capture store: recordings, kernels, launches, memory and searches (docs/store-format.md)."""

from r3cc.store.store import Store

__all__ = ["Store"]
