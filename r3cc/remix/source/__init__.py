"""From a recorded kernel to its editable source, and from rewritten source to a variant's IR.

``StoreSourceBuilder`` is the ``SourceBuilder`` of a kernel of a ``ModuleSource``.
"""

from r3cc.remix.source.builder import StoreSourceBuilder
from r3cc.remix.source.module import ModuleSource
from r3cc.remix.source.tokens import source_hash

__all__ = ["ModuleSource", "StoreSourceBuilder", "source_hash"]
