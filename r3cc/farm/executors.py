"""``--executor``: from what a user writes to an executor and the evaluations worth having in flight on it."""

from __future__ import annotations

import importlib
import runpy
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from r3cc.errors import R3Error, UsageError

DEFAULT_WIDTH = 4
"""Evaluations in flight on an executor that does not say how many workers it has."""


class Workers(msgspec.Struct, frozen=True):
    """An executor and how many of its workers there may be."""

    executor: Executor
    width: int


@contextmanager
def open_executor(text: str) -> Iterator[Workers]:
    """The executor of ``parsl:CONFIG.py`` or ``MODULE:FACTORY``, shut down at the end. Raises R3Error.

    ``CONFIG.py`` sets ``config``, a ``parsl.Config``. ``FACTORY`` takes nothing and returns an executor.
    """
    kind, _, rest = text.partition(":")
    if not rest:
        raise UsageError(f"'{text}' is not an executor; write parsl:CONFIG.py or MODULE:FACTORY")
    workers = _parsl(Path(rest)) if kind == "parsl" else _factory(kind, rest)
    try:
        yield workers
    finally:
        workers.executor.shutdown(wait=True)


def _parsl(path: Path) -> Workers:
    try:
        from parsl.concurrent import ParslPoolExecutor
    except ImportError:
        raise R3Error("--executor parsl: needs Parsl: pip install 'r3cc[farm]'") from None
    try:
        config = runpy.run_path(str(path)).get("config")
    except OSError as error:
        raise UsageError(f"cannot read the Parsl configuration {path}: {error.strerror}") from None
    if config is None:
        raise UsageError(f"{path} sets no `config`; it has to be a parsl.Config")
    if config.retries:
        raise UsageError(f"{path} has retries={config.retries}; set 0: R3 repeats what was lost itself, and logs it")
    return Workers(ParslPoolExecutor(config=config), sum(map(_parsl_width, config.executors)) or DEFAULT_WIDTH)


def _parsl_width(executor: Any) -> int:
    """Workers that an executor of Parsl may have, as far as its configuration tells."""
    a_node = getattr(executor, "max_workers_per_node", None) or getattr(executor, "max_threads", None) or 1
    provider = getattr(executor, "provider", None)
    nodes = getattr(provider, "nodes_per_block", 1) * getattr(provider, "max_blocks", 1)
    return int(nodes) * (int(a_node) if isinstance(a_node, (int, float)) and a_node != float("inf") else 1)


def _factory(module: str, name: str) -> Workers:
    try:
        factory = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"--executor {module}:{name}: {error}") from None
    executor = factory()
    if not callable(getattr(executor, "submit", None)):
        raise UsageError(f"--executor {module}:{name} gave no executor: it has no submit()")
    return Workers(executor, int(getattr(executor, "_max_workers", None) or DEFAULT_WIDTH))
